/* Binds itself to the first core that it may use: before `MPI_Init` with the argument `before`, as launchers do, else after.
 *
 * When the last rank has other cores than that, it starts a thread, binds another one to all cores itself, and prints `moved`;
 * when its first thread is back, it prints whether the started thread is, and whether the other one is as it was bound. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static cpu_set_t all, first;

static void *stay(void *none)
{
    for (;;)
        pause();
    return none;
}

static pthread_t started(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, stay, NULL);
    return thread;
}

static int has(pthread_t thread, const cpu_set_t *cores)
{
    cpu_set_t now;
    pthread_getaffinity_np(thread, sizeof now, &now);
    return CPU_EQUAL(&now, cores);
}

static void bind_to_first(void)
{
    int core = 0;
    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(core, &all))
        core++;
    CPU_SET(core, &first);
    sched_setaffinity(0, sizeof first, &first);
}

int main(int argc, char **argv)
{
    int rank, size, is_moved = 0, is_over = 0;
    int is_before = strcmp(argv[1], "before") == 0;
    pthread_t self = pthread_self(), young = self, own;
    if (is_before)
        bind_to_first();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!is_before)
        bind_to_first();
    own = started();
    for (double sum = 1, total; !is_over;) {
        for (volatile int i = 0; i < 200000; i++)
            ;
        if (rank == size - 1 && !is_moved && !has(self, &first)) {
            is_moved = 1;
            young = started();
            pthread_setaffinity_np(own, sizeof all, &all);
            puts("moved"), fflush(stdout);
        }
        is_over = is_moved && has(self, &first) && has(young, &first);
        MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(&is_over, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    }
    if (rank == size - 1)
        printf("back%s\n", has(own, &all) ? "" : ", with a thread that was not ours to bind");
    MPI_Finalize();
}
