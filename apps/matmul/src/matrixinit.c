/*
 * Initializes the two matrices that the other programs multiply: their sequential part, two nested
 * loops.
 *
 * usage: mpirun -n 1 matrixinit DIMENSION
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "matrix.h"
#include "start.h"

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int dim = number(argv[1], "DIMENSION", DIMENSION_MAX);
    double *a = require_memory(matrix_new(dim, dim));
    double *b = require_memory(matrix_new(dim, dim));
    MPI_Barrier(MPI_COMM_WORLD);
    init_a(a, dim);
    init_b(b, dim);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == MASTER)
        printf("matrixinit: dimension %d, checksums %016" PRIx64 " %016" PRIx64 "\n", dim,
               digest(a, dim), digest(b, dim));
    free(a);
    free(b);
    return 0;
}
