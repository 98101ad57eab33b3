/* How fast a master can deal chunks: every worker sends each chunk back, and gets the next one for it.
 *
 * Usage: dealing CHUNKS IN_FLIGHT
 * Rank 0 prints `dealing`, the chunks in flight per worker, and round trips per second.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK_BYTES = 16, WORK = 1, STOP = 2 };

static char chunk[CHUNK_BYTES];

static void send_to(int rank, int tag) {
    MPI_Send(chunk, CHUNK_BYTES, MPI_BYTE, rank, tag, MPI_COMM_WORLD);
}

static void deal(int n_workers, long n_chunks, int n_in_flight) {
    long n_sent = 0;
    for (int turn = 0; turn < n_in_flight; turn++)
        for (int worker = 1; worker <= n_workers; worker++, n_sent++)
            send_to(worker, WORK);
    for (long n_back = 0; n_back < n_chunks; n_back++) {
        MPI_Status status;
        MPI_Recv(chunk, CHUNK_BYTES, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (n_sent < n_chunks) {
            send_to(status.MPI_SOURCE, WORK);
            n_sent++;
        }
    }
    for (int worker = 1; worker <= n_workers; worker++)
        send_to(worker, STOP);
}

static void work(void) {
    for (;;) {
        MPI_Status status;
        MPI_Recv(chunk, CHUNK_BYTES, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP)
            return;
        send_to(0, WORK);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: dealing CHUNKS IN_FLIGHT\n");
        return 2;
    }
    long n_chunks = atol(argv[1]);
    int n_in_flight = atoi(argv[2]), rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    if (rank == 0)
        deal(n_ranks - 1, n_chunks, n_in_flight);
    else
        work();
    if (rank == 0)
        printf("dealing %d %.0f\n", n_in_flight, (double)n_chunks / (MPI_Wtime() - begin));
    MPI_Finalize();
    return 0;
}
