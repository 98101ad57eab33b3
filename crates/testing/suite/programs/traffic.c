/* Every rank sends to every other one: rank i sends j + 1 messages of 100 (i + 1) bytes to rank j. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;
    static char out[6400], in[64][6400];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Request requests[64 * 65];
    int n = 0;
    for (int other = 0; other < size; other++) {
        if (other == rank)
            continue;
        for (int i = 0; i <= rank; i++)
            MPI_Irecv(in[other], 100 * (other + 1), MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[n++]);
        for (int i = 0; i <= other; i++)
            MPI_Isend(out, 100 * (rank + 1), MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[n++]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
