/* Halo exchange: 2 KB with both neighbors on a ring, 40 us of computing, one sum over all ranks, and again. The smallest program in
   which ranks that wait take the cores of ranks that compute. Prints a checksum. usage: halo [STEPS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { DOUBLES = 256, MESSAGES = 4 };
static const double COMPUTE_S = 40e-6;

static void compute(double cells[DOUBLES]) {
    double const began = MPI_Wtime();
    for (int i = 1; i < DOUBLES - 1; i++) {
        cells[i] = 0.25 * (cells[i - 1] + 2.0 * cells[i] + cells[i + 1]);
    }
    while (MPI_Wtime() - began < COMPUTE_S) {
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int const steps = argc > 1 ? atoi(argv[1]) : 600;
    int rank, n_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int const left = (rank + n_ranks - 1) % n_ranks, right = (rank + 1) % n_ranks;
    double cells[DOUBLES], from_left[DOUBLES], from_right[DOUBLES], sum = 0;
    for (int i = 0; i < DOUBLES; i++) {
        cells[i] = rank + i / 3.0;
    }
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[MESSAGES];
        MPI_Irecv(from_left, DOUBLES, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(from_right, DOUBLES, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(cells, DOUBLES, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(cells, DOUBLES, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        cells[0] = from_left[DOUBLES - 2];
        cells[DOUBLES - 1] = from_right[1];
        compute(cells);
        MPI_Allreduce(&cells[DOUBLES / 2], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        printf("sum after %d steps: %a\n", steps, sum);
    }
    MPI_Finalize();
    return 0;
}
