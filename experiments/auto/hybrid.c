/* Two kinds of ranks that compute with OpenMP and meet in a barrier: every other rank has TIMES as much to do. The total is the same for
   all TIMES, so TIMES = 1 is the time that perfect balance would take. Prints a checksum. usage: hybrid TIMES [STEPS] */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNKS = 240, LOOPS = 20000 };

static double chunk(int seed) {
    double x = 1.0 + seed * 1e-6;
    for (int i = 0; i < LOOPS; i++) {
        x = x * 0.999999 + 1.0 / (1.0 + x);
    }
    return x;
}

int main(int argc, char **argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double const times = argc > 1 ? atof(argv[1]) : 2;
    int const steps = argc > 2 ? atoi(argv[2]) : 100;
    double const share = (rank % 2 == 0 ? times : 1.0) / (times + 1.0);
    int const n = (int)(2 * CHUNKS * share + 0.5);
    double values[2 * CHUNKS], sum = 0, total = 0;
    for (int step = 0; step < steps; step++) {
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < n; i++) {
            values[i] = chunk(step + i);
        }
        for (int i = 0; i < n; i++) {
            sum += values[i];
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("sum after %d steps: %a\n", steps, total);
    }
    MPI_Finalize();
    return 0;
}
