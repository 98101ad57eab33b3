/* A token of growing size around the ring: known counts of sends, receives and barriers.
 *
 *     ring N_ROUNDS    N_ROUNDS sends, receives and barriers on every rank */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static long token[4096];
    int rank, size, n_rounds = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < n_rounds; round++) {
        int n = 1 + round % 4096, to = (rank + 1) % size, from = (rank + size - 1) % size;
        if (rank == 0)
            MPI_Send(token, n, MPI_LONG, to, 0, MPI_COMM_WORLD);
        MPI_Recv(token, n, MPI_LONG, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token[round % n] += rank + 1;
        if (rank != 0)
            MPI_Send(token, n, MPI_LONG, to, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("token %ld\n", token[0]);
    MPI_Finalize();
    return 0;
}
