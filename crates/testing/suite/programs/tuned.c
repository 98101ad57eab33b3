/* Iterations of a function that reads variables, to be measured and changed while they run.
 *
 *     tuned count N           N iterations
 *     tuned until FILE        iterations until FILE is there; prints "ready" first
 *     tuned masked FILE       as `until`, with all signals blocked, and an own action for SIGTRAP
 *     tuned forks N           as `count`; after half of them a child iterates, too
 *     tuned threads N         as `count`; a thread that never calls MPI iterates before
 *     tuned attach FILE LIB OPTIONS
 *                             as `until`; once there is a file OPTIONS, loads LIB and calls its
 *                             `sintonia_attach` with the text of that file
 *
 * Rank 0 prints what each iteration came to where the number of iterations is given. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

double factor = 1.0;
int chunk = 8;
const int fixed = 7;
static int rank;
static volatile double result_of_step; /* calls without a use would be left out */

__attribute__((noinline)) double step(int iteration, double weight)
{
    return factor * iteration + weight * chunk;
}

__attribute__((noinline)) double other_step(int iteration, double weight)
{
    return -factor * iteration - weight * chunk;
}

__attribute__((noinline)) double retune(int new_chunk, double new_factor)
{
    double before = factor;
    chunk = new_chunk;
    factor = new_factor;
    return before;
}

static void iterate(int iteration)
{
    double result = step(iteration, 0.5), sum;
    MPI_Allreduce(&result, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d %g %g\n", iteration, result, sum);
}

static void until(const char *file)
{
    int is_there = 0;
    for (int iteration = 1; !is_there; iteration++) {
        result_of_step = step(iteration, 0.5);
        is_there = rank == 0 && access(file, F_OK) == 0;
        MPI_Bcast(&is_there, 1, MPI_INT, 0, MPI_COMM_WORLD);
        usleep(200);
    }
}

static void fork_one(void)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(step(1, 0.5) == 0 ? 1 : 7);
    waitpid(child, &status, 0);
    if (rank == 0)
        printf("child %d\n", WEXITSTATUS(status));
}

static void *work(void *n)
{
    for (int iteration = 1; iteration <= *(int *)n; iteration++)
        result_of_step = step(iteration, 0.5);
    return NULL;
}

static void attach(const char *library, const char *options)
{
    char text[4096] = "";
    FILE *file;
    while ((file = fopen(options, "r")) == NULL)
        usleep(1000);
    void *handle = dlopen(library, RTLD_NOW);
    if (handle == NULL || fread(text, 1, sizeof text - 1, file) == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    int (*call)(const char *) = (int (*)(const char *))dlsym(handle, "sintonia_attach");
    if (call(text) != 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
}

static void block_signals(void)
{
    sigset_t all;
    struct sigaction action = { .sa_handler = SIG_IGN }, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    sigaction(SIGTRAP, &action, NULL);
    if (signal(SIGTRAP, SIG_DFL) != SIG_IGN || sigaction(SIGTRAP, NULL, &before) != 0
        || before.sa_handler != SIG_DFL)
        MPI_Abort(MPI_COMM_WORLD, 5);
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (strcmp(argv[1], "masked") == 0)
        block_signals();
    if (strcmp(argv[1], "threads") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, &n);
        pthread_join(thread, NULL);
    }
    if (n == 0) {
        if (rank == 0) {
            puts("ready");
            fflush(stdout);
        }
        if (strcmp(argv[1], "attach") == 0)
            attach(argv[3], argv[4]);
        until(argv[2]);
    }
    for (int iteration = 1; iteration <= n; iteration++) {
        iterate(iteration);
        if (strcmp(argv[1], "forks") == 0 && iteration == n / 2)
            fork_one();
    }
    MPI_Finalize();
    return 0;
}
