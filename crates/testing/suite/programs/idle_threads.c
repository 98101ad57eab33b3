/* Lets its OpenMP threads wait while the first one computes alone, and says whether another one keeps its core busy
 * meanwhile. Rank 0 prints `busy`, then `asleep` after many waits at little cost, then `busy` again, and at last `as before`
 * once the process has as many threads as at first. */
#include <dirent.h>
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { QUIET = 60, STATES = 3 };
static const double ALONE_S = 4e-3, BUSY_S = 5e-4, ASLEEP_S = 1e-4;
static clockid_t other;

static double seconds(clockid_t clock)
{
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static int n_threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks && readdir(tasks))
        n++;
    if (tasks)
        closedir(tasks);
    return n;
}

int main(int argc, char **argv)
{
    static const char *const states[STATES] = {"busy", "asleep", "busy"};
    int provided, rank, state = 0, n_quiet = 0, n_first = 0, is_over = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (double sum = 1, all; !is_over;) {
#pragma omp parallel
        if (omp_get_thread_num() == 1)
            pthread_getcpuclockid(pthread_self(), &other);
        if (n_first == 0)
            n_first = n_threads();
        double begin = seconds(CLOCK_THREAD_CPUTIME_ID), waited = seconds(other);
        while (seconds(CLOCK_THREAD_CPUTIME_ID) - begin < ALONE_S)
            ;
        waited = seconds(other) - waited;
        n_quiet = waited < ASLEEP_S ? n_quiet + 1 : 0;
        int is_next = state == 1 ? QUIET <= n_quiet : BUSY_S < waited;
        if (state < STATES && is_next) {
            if (rank == 0)
                puts(states[state]), fflush(stdout);
            state++;
        }
        is_over = state == STATES && n_threads() <= n_first;
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("as before");
    MPI_Finalize();
}
