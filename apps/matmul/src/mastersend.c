/*
 * A master that initializes two matrices and sends one of them to each worker, in the three cases
 * of synchronization:
 *   S1  the master is first: workers sleep before they receive
 *   S2  the workers are first: they wait while the master initializes
 *   S3  all begin together, after a barrier
 *
 * usage: mpirun -n P+1 mastersend S1|S2|S3 DIMENSION [SLEEP_MS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"
#include "start.h"

enum { TAG_A = 1, SLEEP_MS = 200, SLEEP_MS_MAX = 100000 };

static void master(int n_workers, int dim, bool is_together)
{
    double *a = require_memory(matrix_new(dim, dim));
    double *b = require_memory(matrix_new(dim, dim));
    init_a(a, dim);
    init_b(b, dim);
    if (is_together)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int dest = 1; dest <= n_workers; dest++)
        MPI_Send(a, dim * dim, MPI_DOUBLE, dest, TAG_A, MPI_COMM_WORLD);
    free(a);
    free(b);
}

static void worker(int dim, bool is_together, int late_ms)
{
    double *a = require_memory(matrix_new(dim, dim));
    idle(late_ms * 1e-3);
    if (is_together)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(a, dim * dim, MPI_DOUBLE, MASTER, TAG_A, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(a);
}

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    const char *which = argc < 3 ? "" : argv[1];
    if (strcmp(which, "S1") != 0 && strcmp(which, "S2") != 0 && strcmp(which, "S3") != 0)
        refuse("usage: mastersend S1|S2|S3 DIMENSION [SLEEP_MS]");
    int dim = number(argv[2], "DIMENSION", DIMENSION_MAX);
    int late_ms = argc < 4 ? SLEEP_MS : number(argv[3], "SLEEP_MS", SLEEP_MS_MAX);
    bool is_together = strcmp(which, "S3") == 0;
    if (n_ranks < 2)
        refuse("mastersend needs a worker besides the master; start it with `mpirun -n 2` or more");
    if (rank == MASTER)
        master(n_ranks - 1, dim, is_together);
    else
        worker(dim, is_together, strcmp(which, "S1") == 0 ? late_ms : 0);
    MPI_Finalize();
    if (rank == MASTER)
        printf("mastersend: %s, dimension %d to %d workers\n", which, dim, n_ranks - 1);
    return 0;
}
