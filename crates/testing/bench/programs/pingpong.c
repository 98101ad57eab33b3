/* Latency of an 8-byte message between two ranks.
 *
 * Usage: pingpong BATCHES ROUND_TRIPS_PER_BATCH
 * Rank 0 prints `pingpong` and nanoseconds per message, half a round trip: of the fastest batch and
 * of the median one.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static char message[8];

static void round_trip(int rank) {
    if (rank == 0) {
        MPI_Send(message, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(message, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(message, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(message, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
}

static double batch_ns(int rank, int n_round_trips) {
    double begin = MPI_Wtime();
    for (int i = 0; i < n_round_trips; i++)
        round_trip(rank);
    return 1e9 * (MPI_Wtime() - begin) / n_round_trips / 2;
}

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (right < left) - (left < right);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: pingpong BATCHES ROUND_TRIPS_PER_BATCH\n");
        return 2;
    }
    int rank, n_batches = atoi(argv[1]), n_round_trips = atoi(argv[2]);
    double *ns = malloc((size_t)n_batches * sizeof *ns);
    if (ns == NULL)
        return 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    batch_ns(rank, n_round_trips);
    for (int batch = 0; batch < n_batches; batch++)
        ns[batch] = batch_ns(rank, n_round_trips);
    qsort(ns, (size_t)n_batches, sizeof *ns, by_value);
    if (rank == 0)
        printf("pingpong %.3f %.3f\n", ns[0], ns[n_batches / 2]);
    MPI_Finalize();
    free(ns);
    return 0;
}
