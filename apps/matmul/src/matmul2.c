/*
 * Version 2: a master and p workers. The master sends each worker its rows of A, broadcasts B, each
 * worker multiplies its rows, and the master receives the results in the order of the workers.
 *
 * With WAIT_NS a worker sleeps for so many nanoseconds per product of two numbers: the run time on a
 * machine with fewer cores than workers is then that of a machine with enough slow cores.
 *
 * usage: mpirun -n P+1 matmul2 DIMENSION [WAIT_NS]
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "matrix.h"
#include "start.h"

enum { TAG_OFFSET = 1, TAG_ROWS, TAG_A, TAG_C, WAIT_NS_MAX = 1000000 };

/* Number of rows of a worker; the numbers differ by one at most. */
static int rows_of(int worker, int n_workers, int dim)
{
    return dim / n_workers + (worker <= dim % n_workers ? 1 : 0);
}

static double *master(int n_workers, int dim)
{
    double *a = require_memory(matrix_new(dim, dim));
    double *b = require_memory(matrix_new(dim, dim));
    double *c = require_memory(matrix_new(dim, dim));
    init_a(a, dim);
    init_b(b, dim);
    int offset = 0;
    for (int dest = 1; dest <= n_workers; dest++) {
        int rows = rows_of(dest, n_workers, dim);
        MPI_Send(&offset, 1, MPI_INT, dest, TAG_OFFSET, MPI_COMM_WORLD);
        MPI_Send(&rows, 1, MPI_INT, dest, TAG_ROWS, MPI_COMM_WORLD);
        MPI_Send(a + (size_t)offset * dim, rows * dim, MPI_DOUBLE, dest, TAG_A, MPI_COMM_WORLD);
        offset += rows;
    }
    MPI_Bcast(b, dim * dim, MPI_DOUBLE, MASTER, MPI_COMM_WORLD);
    for (int source = 1; source <= n_workers; source++) {
        int rows;
        MPI_Recv(&offset, 1, MPI_INT, source, TAG_OFFSET, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&rows, 1, MPI_INT, source, TAG_ROWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(c + (size_t)offset * dim, rows * dim, MPI_DOUBLE, source, TAG_C, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    free(a);
    free(b);
    return c;
}

static void worker(int dim, int wait_ns)
{
    int offset, rows;
    double *b = require_memory(matrix_new(dim, dim));
    MPI_Recv(&offset, 1, MPI_INT, MASTER, TAG_OFFSET, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&rows, 1, MPI_INT, MASTER, TAG_ROWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* One more row, so that a worker without rows has memory, too. */
    double *a = require_memory(matrix_new(rows + 1, dim));
    double *c = require_memory(matrix_new(rows + 1, dim));
    MPI_Recv(a, rows * dim, MPI_DOUBLE, MASTER, TAG_A, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(b, dim * dim, MPI_DOUBLE, MASTER, MPI_COMM_WORLD);
    multiply(a, b, c, rows, dim);
    idle(1e-9 * wait_ns * rows * dim * dim);
    MPI_Send(&offset, 1, MPI_INT, MASTER, TAG_OFFSET, MPI_COMM_WORLD);
    MPI_Send(&rows, 1, MPI_INT, MASTER, TAG_ROWS, MPI_COMM_WORLD);
    MPI_Send(c, rows * dim, MPI_DOUBLE, MASTER, TAG_C, MPI_COMM_WORLD);
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
    int wait_ns = argc < 3 ? 0 : number(argv[2], "WAIT_NS", WAIT_NS_MAX);
    if (n_ranks < 2)
        refuse("matmul2 needs a worker besides the master; start it with `mpirun -n 2` or more");
    if (rank == MASTER)
        product = master(n_ranks - 1, dim);
    else
        worker(dim, wait_ns);
    MPI_Finalize();
    /* After MPI_Finalize, so that the check is not part of the measured time. */
    if (rank != MASTER)
        return 0;
    bool is_right = is_product(product, dim);
    printf("matmul2: dimension %d, checksum %016" PRIx64 ", %s\n", dim, digest(product, dim),
           is_right ? "right" : "WRONG");
    free(product);
    return is_right ? 0 : 1;
}
