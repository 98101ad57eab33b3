/* Ranks that are useful for known times: they sleep, so that cores do not matter.
 *
 *     imbalance ITERATIONS MS_OF_RANK_0 MS_OF_RANK_1 ...
 *
 * Rank 0 prints what a clock of the program's own says: per rank, seconds outside MPI and seconds between
 * MPI_Init and MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + 1e-9 * at.tv_nsec;
}

static void sleep_ms(double ms)
{
    struct timespec span = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (long)(ms / 1e3)) * 1e6)};
    nanosleep(&span, NULL);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    double start = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2 + size)
        MPI_Abort(MPI_COMM_WORLD, 6);
    double mine[2] = {0, 0}, mpi_s = 0;
    for (int iteration = 0; iteration < atoi(argv[1]); iteration++) {
        sleep_ms(atof(argv[2 + rank]));
        double enter = now();
        MPI_Barrier(MPI_COMM_WORLD);
        mpi_s += now() - enter;
    }
    mine[1] = now() - start;
    mine[0] = mine[1] - mpi_s;
    double all[2 * 64];
    MPI_Gather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < size; r++)
        printf("%.6f %.6f\n", all[2 * r], all[2 * r + 1]);
    MPI_Finalize();
    return 0;
}
