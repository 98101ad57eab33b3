/* Messages around the ring of ranks, by every operation that sends, receives or probes. */
#include "expect.h"

#define TAG 7

static int out[64], in[64];
static char attached[4096];

static void fill(void)
{
    for (int i = 0; i < 64; i++) {
        out[i] = 1000 * rank + i;
        in[i] = -1;
    }
}

static void check_received(int n)
{
    check(in[0] == 1000 * left && in[n - 1] == 1000 * left + n - 1, "the message came from the left");
    fill();
}

/* The receive has room for three more than arrive: a blocking receive counts what arrived. */
static void receive(int n)
{
    MPI_Status status;
    CALL_C(MPI_Recv, 4 * n, in, n + 3, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    int n_received;
    MPI_Get_count(&status, MPI_INT, &n_received);
    check(status.MPI_SOURCE == left && status.MPI_TAG == TAG && n_received == n, "the status is right");
    check_received(n);
}

/* Rank 0 sends first, the others receive first: no cycle of blocking calls. */
#define PASS(name, n) \
    do { \
        if (rank == 0) \
            CALL_C(name, 4 * (n), out, n, MPI_INT, right, TAG, MPI_COMM_WORLD); \
        receive(n); \
        if (rank != 0) \
            CALL_C(name, 4 * (n), out, n, MPI_INT, right, TAG, MPI_COMM_WORLD); \
    } while (0)

static void blocking_sends(void)
{
    PASS(MPI_Send, 5);
    PASS(MPI_Send, 11);
    PASS(MPI_Ssend, 6);
    MPI_Buffer_attach(attached, sizeof attached);
    PASS(MPI_Bsend, 7);
    char *detached;
    count_t detached_bytes;
    CALL_C(MPI_Buffer_detach, 0, &detached, &detached_bytes);
    check(detached == attached, "the buffer comes back");
}

static void ready_sends(void)
{
    MPI_Request requests[2];
    CALL_C(MPI_Irecv, 4 * 8, in, 8, MPI_INT, left, TAG, MPI_COMM_WORLD, &requests[0]);
    CALL_C(MPI_Irecv, 4 * 9, in + 16, 9, MPI_INT, left, TAG + 1, MPI_COMM_WORLD, &requests[1]);
    BARRIER();
    CALL_C(MPI_Rsend, 4 * 8, out, 8, MPI_INT, right, TAG, MPI_COMM_WORLD);
    MPI_Request sent;
    CALL_C(MPI_Irsend, 4 * 9, out, 9, MPI_INT, right, TAG + 1, MPI_COMM_WORLD, &sent);
    WAIT(&sent);
    CALL(MPI_Waitall, 4 * 8 + 4 * 9, 2, requests, MPI_STATUSES_IGNORE);
    check_received(8);
}

static void send_receive(void)
{
    MPI_Status status;
    CALL_C(MPI_Sendrecv, 4 * 4 + 4 * 4, out, 4, MPI_INT, right, TAG, in, 10, MPI_INT, left, TAG,
           MPI_COMM_WORLD, &status);
    check_received(4);
    CALL_C(MPI_Sendrecv, 4 * 3 + 4 * 3, out, 3, MPI_INT, right, TAG, in, 3, MPI_INT, MPI_ANY_SOURCE,
           TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_received(3);
    CALL_C(MPI_Sendrecv_replace, 2 * 4 * 5, out, 5, MPI_INT, right, TAG, left, TAG, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
    check(out[0] == 1000 * left, "the message is replaced");
    fill();
#if HAVE_MPI_4
    MPI_Request request;
    CALL_C(MPI_Isendrecv, 4 * 4 + 4 * 6, out, 4, MPI_INT, right, TAG, in, 6, MPI_INT, left, TAG,
           MPI_COMM_WORLD, &request);
    WAIT(&request);
    check_received(4);
    CALL_C(MPI_Isendrecv_replace, 2 * 4 * 2, out, 2, MPI_INT, right, TAG, left, TAG, MPI_COMM_WORLD,
           &request);
    WAIT(&request);
    fill();
#endif
}

static void probes(void)
{
    MPI_Request sent;
    MPI_Status status;
    CALL_C(MPI_Isend, 4 * 12, out, 12, MPI_INT, right, TAG, MPI_COMM_WORLD, &sent);
    CALL(MPI_Probe, 0, left, TAG, MPI_COMM_WORLD, &status);
    receive(12);
    WAIT(&sent);

    CALL_C(MPI_Issend, 4 * 13, out, 13, MPI_INT, right, TAG, MPI_COMM_WORLD, &sent);
    int found = 0;
    while (!found)
        CALL(MPI_Iprobe, 0, left, TAG, MPI_COMM_WORLD, &found, &status);
    receive(13);
    WAIT(&sent);
}

static void matched_probes(void)
{
    MPI_Request sent, received;
    MPI_Message message;
    MPI_Status status;
    CALL_C(MPI_Isend, 4 * 14, out, 14, MPI_INT, right, TAG, MPI_COMM_WORLD, &sent);
    CALL(MPI_Mprobe, 0, left, TAG, MPI_COMM_WORLD, &message, &status);
    CALL_C(MPI_Mrecv, 4 * 14, in, 20, MPI_INT, &message, &status);
    check_received(14);
    WAIT(&sent);

    MPI_Buffer_attach(attached, sizeof attached);
    CALL_C(MPI_Ibsend, 4 * 15, out, 15, MPI_INT, right, TAG, MPI_COMM_WORLD, &sent);
    int found = 0;
    while (!found)
        CALL(MPI_Improbe, 0, left, TAG, MPI_COMM_WORLD, &found, &message, &status);
    CALL_C(MPI_Imrecv, 4 * 20, in, 20, MPI_INT, &message, &received);
    WAIT_RECEIVED(&received, 4 * 15);
    check_received(15);
    WAIT(&sent);
    char *detached;
    count_t detached_bytes;
    CALL_C(MPI_Buffer_detach, 0, &detached, &detached_bytes);
}

/* Nothing moves to or from MPI_PROC_NULL. */
static void nobody(void)
{
    CALL_C(MPI_Send, 0, out, 5, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD);
    CALL_C(MPI_Recv, 0, in, 5, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CALL_C(MPI_Sendrecv, 0, out, 5, MPI_INT, MPI_PROC_NULL, TAG, in, 5, MPI_INT, MPI_PROC_NULL, TAG,
           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request request;
    CALL_C(MPI_Isend, 0, out, 5, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &request);
    WAIT(&request);
    CALL_C(MPI_Irecv, 0, in, 5, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &request);
    WAIT(&request);
}

/* Bytes are those of the data, not of its extent. */
static void derived_types(void)
{
    MPI_Datatype every_second;
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Request request;
    CALL_C(MPI_Isend, 2 * 12, out, 2, every_second, right, TAG, MPI_COMM_WORLD, &request);
    CALL_C(MPI_Recv, 2 * 12, in, 2, every_second, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    WAIT(&request);
    check(in[2] == 1000 * left + 2 && in[1] == -1, "only the data moved");
    CALL(MPI_Type_free, 0, &every_second);
    fill();
}

/* Of two messages one is received by a request made on a communicator in which ranks are reversed. */
static void other_communicator(void)
{
    MPI_Comm reversed;
    CALL(MPI_Comm_split, 0, MPI_COMM_WORLD, 0, size - rank, &reversed);
    int to = size - 1 - right, from = size - 1 - left;
    MPI_Request request;
    CALL_C(MPI_Irecv, 4 * 20, in, 20, MPI_INT, from, TAG, reversed, &request);
    CALL_C(MPI_Send, 4 * 20, out, 20, MPI_INT, to, TAG, reversed);
    WAIT_RECEIVED(&request, 4 * 20);
    check_received(20);
    CALL(MPI_Comm_free, 0, &reversed);
}

void point_to_point(void)
{
    fill();
    blocking_sends();
    ready_sends();
    send_receive();
    probes();
    matched_probes();
    nobody();
    derived_types();
    other_communicator();
}
