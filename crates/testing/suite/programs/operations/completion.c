/* Requests completed, with the bytes that came in by them, asked about, freed and canceled in every way; buffered sends drained. */
#include "expect.h"

#include <stddef.h>

#define N 3
#define TAG 17

static int out[N], in[N];
static MPI_Request sends[N], receives[N];
static MPI_Status statuses[N];

/* Several calls complete all; the sum of their bytes is expected of the first. */
#define AT_FIRST(n_before, bytes) ((n_before) == 0 ? (bytes) : 0)

static void start(void)
{
    for (int i = 0; i < N; i++) {
        out[i] = 100 * rank + i;
        in[i] = -1;
        CALL_C(MPI_Irecv, 4, &in[i], 1, MPI_INT, left, TAG + i, MPI_COMM_WORLD, &receives[i]);
        CALL_C(MPI_Isend, 4, &out[i], 1, MPI_INT, right, TAG + i, MPI_COMM_WORLD, &sends[i]);
    }
}

static void finish(void)
{
    for (int i = 0; i < N; i++)
        check(in[i] == 100 * left + i && receives[i] == MPI_REQUEST_NULL, "all requests are complete");
    CALL(MPI_Waitall, 0, N, sends, MPI_STATUSES_IGNORE);
}

static void waits(void)
{
    int idx, n, indices[N];
    start();
    for (int i = 0; i < N; i++)
        CALL(MPI_Wait, 4, &receives[i], &statuses[i]);
    finish();

    start();
    for (int i = 0; i < N; i++)
        CALL(MPI_Waitany, 4, N, receives, &idx, &statuses[0]);
    finish();

    start();
    CALL(MPI_Waitall, 4 * N, N, receives, statuses);
    check(statuses[2].MPI_TAG == TAG + 2, "statuses are filled");
    finish();

    start();
    for (int done = 0; done < N; done += n)
        CALL(MPI_Waitsome, AT_FIRST(done, 4 * N), N, receives, &n, indices, statuses);
    finish();
}

static void tests(void)
{
    int idx, n, flag, indices[N];
    start();
    for (int i = 0; i < N; i++) {
        int n_before = 0;
        do
            CALL(MPI_Test, AT_FIRST(n_before++, 4), &receives[i], &flag, &statuses[i]);
        while (!flag);
    }
    finish();

    start();
    int n_before = 0;
    for (int done = 0; done < N; done += flag && idx != MPI_UNDEFINED)
        CALL(MPI_Testany, AT_FIRST(n_before++, 4 * N), N, receives, &idx, &flag, &statuses[0]);
    finish();

    start();
    n_before = 0;
    do
        CALL(MPI_Testall, AT_FIRST(n_before++, 4 * N), N, receives, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    finish();

    start();
    n_before = 0;
    for (int done = 0; done < N; done += n == MPI_UNDEFINED ? 0 : n)
        CALL(MPI_Testsome, AT_FIRST(n_before++, 4 * N), N, receives, &n, indices, statuses);
    finish();
}

static void questions(void)
{
    int flag;
    start();
    do
        CALL(MPI_Request_get_status, 0, receives[0], &flag, &statuses[0]);
    while (!flag);
#if HAVE_MPI_4_1
    int idx, n, indices[N];
    do
        CALL(MPI_Request_get_status_any, 0, N, receives, &idx, &flag, &statuses[0]);
    while (!flag);
    do
        CALL(MPI_Request_get_status_all, 0, N, receives, &flag, statuses);
    while (!flag);
    CALL(MPI_Request_get_status_some, 0, N, receives, &n, indices, statuses);
    check(n == N, "all are complete");
#endif
    CALL(MPI_Waitall, 4 * N, N, receives, statuses);
    finish();
}

/* Requests that are already done, and none at all. */
static void nothing_to_wait_for(void)
{
    MPI_Request none = MPI_REQUEST_NULL;
    int flag;
    CALL(MPI_Wait, 0, &none, MPI_STATUS_IGNORE);
    CALL(MPI_Test, 0, &none, &flag, MPI_STATUS_IGNORE);
    CALL(MPI_Waitall, 0, 0, NULL, MPI_STATUSES_IGNORE);
}

static void free_and_cancel(void)
{
    MPI_Request request;
    CALL_C(MPI_Irecv, 4, &in[0], 1, MPI_INT, left, TAG + 9, MPI_COMM_WORLD, &request);
    CALL(MPI_Cancel, 0, &request);
    MPI_Status status;
    CALL(MPI_Wait, 0, &request, &status);
    int canceled;
    MPI_Test_cancelled(&status, &canceled);
    check(canceled, "the receive is canceled");

    CALL_C(MPI_Isend, 4, &out[0], 1, MPI_INT, right, TAG, MPI_COMM_WORLD, &request);
    CALL(MPI_Request_free, 0, &request);
    CALL_C(MPI_Recv, 4, &in[0], 1, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    BARRIER();
}

#if HAVE_MPI_4_1
static void buffered(MPI_Comm comm)
{
    CALL_C(MPI_Bsend, 4, &out[0], 1, MPI_INT, right, TAG, comm);
    CALL_C(MPI_Recv, 4, &in[0], 1, MPI_INT, left, TAG, comm, MPI_STATUS_IGNORE);
}

static void flushes(void)
{
    static char attached[4096];
    char *detached;
    count_t n_bytes;
    MPI_Request request;
    MPI_Buffer_attach(attached, sizeof attached);
    buffered(MPI_COMM_WORLD);
    CALL(MPI_Buffer_flush, 0);
    CALL(MPI_Buffer_iflush, 0, &request);
    WAIT(&request);
    CALL_C(MPI_Buffer_detach, 0, &detached, &n_bytes);

    MPI_Comm_attach_buffer(MPI_COMM_WORLD, attached, sizeof attached);
    buffered(MPI_COMM_WORLD);
    CALL(MPI_Comm_flush_buffer, 0, MPI_COMM_WORLD);
    CALL(MPI_Comm_iflush_buffer, 0, MPI_COMM_WORLD, &request);
    WAIT(&request);
    CALL_C(MPI_Comm_detach_buffer, 0, MPI_COMM_WORLD, &detached, &n_bytes);
}
#endif

void completion(void)
{
    waits();
    tests();
    questions();
    nothing_to_wait_for();
    free_and_cancel();
#if HAVE_MPI_4_1
    flushes();
#endif
}
