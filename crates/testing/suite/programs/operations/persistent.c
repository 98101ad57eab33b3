/* Persistent and partitioned messages around the ring: the declared size counts once, when they are made; what came in by a
 * persistent receive, each time that it completes. */
#include "expect.h"

#define TAG 27
#define N 6

static int out[N], in[N];
static char attached[4096];

static void check_received(void)
{
    for (int i = 0; i < N; i++) {
        check(in[i] == 10 * left + i, "the message came from the left");
        in[i] = -1;
    }
}

/* Three rounds over one pair of requests. */
static void rounds(MPI_Request pair[2])
{
    for (int round = 0; round < 3; round++) {
        if (round == 0) {
            CALL(MPI_Startall, 0, 2, pair);
        } else {
            CALL(MPI_Start, 0, &pair[0]);
            BARRIER();
            CALL(MPI_Start, 0, &pair[1]);
        }
        CALL(MPI_Waitall, 4 * N, 2, pair, MPI_STATUSES_IGNORE);
        check_received();
    }
    CALL(MPI_Request_free, 0, &pair[0]);
    CALL(MPI_Request_free, 0, &pair[1]);
}

/* A ready send must find its receive: it starts one by one only, after the receive of the right. */
static void ready_rounds(MPI_Request pair[2])
{
    for (int round = 0; round < 2; round++) {
        CALL(MPI_Start, 0, &pair[0]);
        BARRIER();
        CALL(MPI_Start, 0, &pair[1]);
        CALL(MPI_Waitall, 4 * N, 2, pair, MPI_STATUSES_IGNORE);
        check_received();
    }
    CALL(MPI_Request_free, 0, &pair[0]);
    CALL(MPI_Request_free, 0, &pair[1]);
}

#define RING(init, run) \
    do { \
        MPI_Request pair[2]; \
        CALL_C(MPI_Recv_init, 4 * N, in, N, MPI_INT, left, TAG, MPI_COMM_WORLD, &pair[0]); \
        CALL_C(init, 4 * N, out, N, MPI_INT, right, TAG, MPI_COMM_WORLD, &pair[1]); \
        run(pair); \
    } while (0)

static void partitioned(void)
{
#if HAVE_MPI_4
    enum { PARTS = 6 };
    int list[] = {4, 5}, arrived;
    MPI_Request pair[2];
    CALL(MPI_Psend_init, 4 * N, out, PARTS, 1, MPI_INT, right, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
         &pair[0]);
    CALL(MPI_Precv_init, 4 * N, in, PARTS, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
         &pair[1]);
    CALL(MPI_Startall, 0, 2, pair);
    CALL(MPI_Pready, 0, 0, pair[0]);
    CALL(MPI_Pready_range, 0, 1, 3, pair[0]);
    CALL(MPI_Pready_list, 0, 2, list, pair[0]);
    for (int part = 0; part < PARTS; part++) {
        do
            CALL(MPI_Parrived, 0, pair[1], part, &arrived);
        while (!arrived);
    }
    CALL(MPI_Waitall, 0, 2, pair, MPI_STATUSES_IGNORE);
    check_received();
    CALL(MPI_Request_free, 0, &pair[0]);
    CALL(MPI_Request_free, 0, &pair[1]);
#endif
}

void persistent(void)
{
    for (int i = 0; i < N; i++)
        out[i] = 10 * rank + i;
    MPI_Buffer_attach(attached, sizeof attached);
    RING(MPI_Send_init, rounds);
    RING(MPI_Ssend_init, rounds);
    RING(MPI_Bsend_init, rounds);
    RING(MPI_Rsend_init, ready_rounds);
    char *detached;
    count_t n_bytes;
    CALL_C(MPI_Buffer_detach, 0, &detached, &n_bytes);
    partitioned();
}
