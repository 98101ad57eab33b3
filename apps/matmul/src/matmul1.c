/*
 * Version 1: a master and one worker, sends and receives only. The master sends both matrices, the
 * worker multiplies them and sends the product back.
 *
 * usage: mpirun -n 2 matmul1 DIMENSION
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "matrix.h"
#include "start.h"

enum { WORKER = 1, TAG_A, TAG_B, TAG_C };

static double *master(int dim)
{
    int count = dim * dim;
    double *a = require_memory(matrix_new(dim, dim));
    double *b = require_memory(matrix_new(dim, dim));
    double *c = require_memory(matrix_new(dim, dim));
    init_a(a, dim);
    init_b(b, dim);
    MPI_Send(a, count, MPI_DOUBLE, WORKER, TAG_A, MPI_COMM_WORLD);
    MPI_Send(b, count, MPI_DOUBLE, WORKER, TAG_B, MPI_COMM_WORLD);
    MPI_Recv(c, count, MPI_DOUBLE, WORKER, TAG_C, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(a);
    free(b);
    return c;
}

static void worker(int dim)
{
    int count = dim * dim;
    double *a = require_memory(matrix_new(dim, dim));
    double *b = require_memory(matrix_new(dim, dim));
    double *c = require_memory(matrix_new(dim, dim));
    MPI_Recv(a, count, MPI_DOUBLE, MASTER, TAG_A, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, count, MPI_DOUBLE, MASTER, TAG_B, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    multiply(a, b, c, dim, dim);
    MPI_Send(c, count, MPI_DOUBLE, MASTER, TAG_C, MPI_COMM_WORLD);
    free(a);
    free(b);
    free(c);
}

int main(int argc, char **argv)
{
    int rank, n_ranks;
    double *product = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int dim = number(argv[1], "DIMENSION", DIMENSION_MAX);
    if (n_ranks != 2)
        refuse("matmul1 has one master and one worker; start it with `mpirun -n 2`");
    if (rank == MASTER)
        product = master(dim);
    else
        worker(dim);
    MPI_Finalize();
    /* After MPI_Finalize, so that the check is not part of the measured time. */
    if (rank != MASTER)
        return 0;
    bool is_right = is_product(product, dim);
    printf("matmul1: dimension %d, checksum %016" PRIx64 ", %s\n", dim, digest(product, dim),
           is_right ? "right" : "WRONG");
    free(product);
    return is_right ? 0 : 1;
}
