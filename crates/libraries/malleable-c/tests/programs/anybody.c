/* Grows, and then receives from any rank, over all ranks and over each half of them, and, if requested, puts numbers into
 * a window of the new communicator. It ends some iterations after it has reached the requested size, however long that
 * takes.
 *
 *   anybody N [put] [--schedule ...]     exits with 1 on an error; ended by a signal if a call waits forever
 */
#define _POSIX_C_SOURCE 200809L
#include <malleable.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_AT_LAST = 10, N_ROUNDS = 4, PATIENCE_S = 50 };

static int n_wrong;

/* Each rank in turn receives from all others. */
static void hear_all(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < N_ROUNDS * size; round++) {
        int word = 1000 * round + rank, to = round % size;
        if (rank != to) {
            MPI_Send(&word, 1, MPI_INT, to, 7, comm);
            continue;
        }
        for (int i = 1; i < size; i++) {
            MPI_Status status;
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, &status);
            n_wrong += word != 1000 * round + status.MPI_SOURCE;
        }
    }
}

static void hear_halves(MPI_Comm comm)
{
    int rank;
    MPI_Comm half;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_split(comm, rank % 2, 0, &half);
    hear_all(half);
    MPI_Comm_free(&half);
}

/* Each rank puts its number into the window of the next one. */
static void put(MPI_Comm comm)
{
    int rank, size, heard = -1;
    MPI_Win window;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Win_create(&heard, sizeof heard, sizeof heard, MPI_INFO_NULL, comm, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    n_wrong += heard != (rank + size - 1) % size;
}

int main(int argc, char **argv)
{
    int code = MALLEABLE_CONTINUE, rank, size;
    uint64_t n_left = N_AT_LAST;
    alarm(PATIENCE_S);
    malleable *m = malleable_begin_with("--foreground --check-every 1", &argc, &argv);
    if (m == NULL)
        return fprintf(stderr, "anybody: %s\n", malleable_message()), 1;
    malleable_variable(m, "left", &n_left, sizeof n_left);
    const int wanted = argc > 1 ? atoi(argv[1]) : 1;
    for (uint64_t i = 0; n_left > 0; i++) {
        code = malleable_resize_point(m, &i);
        if (code != MALLEABLE_CONTINUE && code != MALLEABLE_RESIZED)
            break;
        hear_all(malleable_comm(m));
        hear_halves(malleable_comm(m));
        if (argc > 2)
            put(malleable_comm(m));
        MPI_Comm_size(malleable_comm(m), &size);
        n_left -= size == wanted;
    }
    MPI_Comm_rank(malleable_comm(m), &rank);
    MPI_Comm_size(malleable_comm(m), &size);
    if (code <= MALLEABLE_RESIZED) {
        MPI_Allreduce(MPI_IN_PLACE, &n_wrong, 1, MPI_INT, MPI_SUM, malleable_comm(m));
        if (rank == 0)
            printf("%d ranks, %d wrong\n", size, n_wrong);
    }
    if (code > MALLEABLE_LEFT)
        fprintf(stderr, "anybody: %s\n", malleable_message());
    return malleable_end(m) != 0 || code > MALLEABLE_LEFT || n_wrong != 0;
}
