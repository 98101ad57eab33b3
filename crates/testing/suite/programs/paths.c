/* Functions that compute for known shares of the time, sleep, and call MPI through one wrapper.
 *
 *     paths STEPS */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;

__attribute__((noinline)) static void add_up(int n)
{
    double x = 1;
    for (int i = 0; i < n; i++)
        x += 1 / (x + i);
    sink += x;
}

__attribute__((noinline)) static void wrapper(void)
{
    double value = 1;
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* site: wrapper */
    sink += value;
}

__attribute__((noinline)) static void heavy(void)
{
    for (int i = 0; i < 3; i++)
        add_up(300000);
    wrapper();
    sink += 1;
}

__attribute__((noinline)) static void light(void)
{
    add_up(300000);
    wrapper();
    sink += 1;
}

int main(int argc, char **argv)
{
    int n_steps = argc < 2 ? 1 : atoi(argv[1]);
    MPI_Init(&argc, &argv);
    for (int step = 0; step < n_steps; step++) {
        struct timespec span = {0, 1000000};
        heavy();
        light();
        nanosleep(&span, NULL);
    }
    MPI_Finalize();
    return 0;
}
