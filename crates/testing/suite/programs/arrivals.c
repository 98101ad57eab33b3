/* Rank 1 receives messages of 10 bytes for which it has more room, in every way that does not block, and looks at some of the
 * statuses only. */
#include <mpi.h>

#define ROOM (1 << 20)
#define MANY 100

static char in[MANY][ROOM / MANY], large[ROOM], out[ROOM];
static MPI_Request requests[MANY + 1];
static MPI_Status statuses[MANY];

static void send(int n_messages)
{
    for (int i = 0; i < n_messages; i++)
        MPI_Send(out, 10, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
}

static void post(int n_messages)
{
    for (int i = 0; i < n_messages; i++)
        MPI_Irecv(in[i], ROOM / MANY, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[i]);
}

static void receive(void)
{
    int flag = 0, idx, n_done, indices[MANY];
    MPI_Irecv(large, ROOM, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

    post(MANY);
    /* What it sends itself is not received. */
    MPI_Isend(out, 4096, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[MANY]);
    MPI_Waitall(MANY + 1, requests, MPI_STATUSES_IGNORE);

    post(2);
    MPI_Waitany(2, requests, &idx, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Test(&requests[1 - idx], &flag, &statuses[0]);

    post(3);
    for (int left = 3; left != 0; left -= n_done)
        MPI_Waitsome(3, requests, &n_done, indices, statuses);

    MPI_Recv_init(large, ROOM, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[0]);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&requests[0]);
        for (flag = 0; !flag;)
            MPI_Testall(1, requests, &flag, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        receive();
    } else if (rank == 0) {
        send(1 + MANY);
        MPI_Recv(large, 4096, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send(2 + 3 + 3);
    }
    MPI_Finalize();
    return 0;
}
