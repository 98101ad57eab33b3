/* Windows made in every way, and transfers under every kind of synchronization. */
#include "expect.h"

#include <stdlib.h>

#define N 16

static int memory[N], out[N], in[N];

static void fill(void)
{
    for (int i = 0; i < N; i++) {
        memory[i] = 10 * rank + i;
        out[i] = 1000 * rank + i;
        in[i] = -1;
    }
}

static void under_fences(void)
{
    MPI_Win window;
    fill();
    CALL_C(MPI_Win_create, 0, memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Info info;
    MPI_Info_create(&info);
    CALL(MPI_Win_set_info, 0, window, info);
    MPI_Info_free(&info);
    CALL(MPI_Win_fence, 0, 0, window);
    CALL_C(MPI_Put, 4 * 3, out, 3, MPI_INT, right, 0, 3, MPI_INT, window);
    CALL_C(MPI_Get, 4 * 2, in, 2, MPI_INT, right, 8, 2, MPI_INT, window);
    CALL_C(MPI_Accumulate, 4 * 4, out, 4, MPI_INT, right, 4, 4, MPI_INT, MPI_SUM, window);
    CALL(MPI_Win_fence, 0, 0, window);
    check(memory[0] == 1000 * left && in[0] == 10 * right + 8, "Put and Get");
    check(memory[4] == 10 * rank + 4 + 1000 * left, "Accumulate");
    CALL(MPI_Win_free, 0, &window);
}

/* To the right only: the exposure is to the left. */
static void under_start_and_post(void)
{
    MPI_Win window;
    MPI_Group world, origins, targets;
    int *base;
    CALL_C(MPI_Win_allocate, 0, N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &left, &origins);
    MPI_Group_incl(world, 1, &right, &targets);
    for (int round = 0; round < 2; round++) {
        CALL(MPI_Win_post, 0, origins, 0, window);
        CALL(MPI_Win_start, 0, targets, 0, window);
        CALL_C(MPI_Put, 4 * 5, out, 5, MPI_INT, right, round, 5, MPI_INT, window);
        CALL(MPI_Win_complete, 0, window);
        int done = 0;
        if (round == 0) {
            CALL(MPI_Win_wait, 0, window);
        } else {
            while (!done)
                CALL(MPI_Win_test, 0, window, &done);
        }
        check(base[round] == 1000 * left, "Put");
    }
    MPI_Group_free(&world);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    CALL(MPI_Win_free, 0, &window);
}

static void atomics(MPI_Win window)
{
    int zero = 0, one = 1, before = -1;
    CALL_C(MPI_Get_accumulate, 4 * 2 + 4 * 2, out, 2, MPI_INT, in, 2, MPI_INT, right, 0, 2, MPI_INT, MPI_SUM,
           window);
    CALL(MPI_Win_flush, 0, right, window);
    CALL(MPI_Fetch_and_op, 4 + 4, &one, &before, MPI_INT, right, 6, MPI_SUM, window);
    CALL(MPI_Win_flush, 0, right, window);
    CALL(MPI_Compare_and_swap, 4 + 4, &one, &zero, &before, MPI_INT, right, 7, window);
    CALL(MPI_Win_flush_local, 0, right, window);
}

static void under_locks(void)
{
    MPI_Win window;
    fill();
    CALL_C(MPI_Win_create, 0, memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    BARRIER();
    CALL(MPI_Win_lock, 0, MPI_LOCK_EXCLUSIVE, right, 0, window);
    atomics(window);
    CALL(MPI_Win_unlock, 0, right, window);
    BARRIER();
    CALL(MPI_Win_lock_all, 0, 0, window);
    CALL_C(MPI_Put, 4 * 2, out, 2, MPI_INT, right, 10, 2, MPI_INT, window);
    CALL(MPI_Win_flush_local_all, 0, window);
    CALL(MPI_Win_flush_all, 0, window);
    CALL(MPI_Win_sync, 0, window);
    CALL(MPI_Win_unlock_all, 0, window);
    BARRIER();
    CALL(MPI_Win_free, 0, &window);
}

static void shared_and_dynamic(void)
{
    MPI_Win window;
    MPI_Comm node;
    int *base;
    CALL(MPI_Comm_split_type, 0, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    CALL_C(MPI_Win_allocate_shared, 0, 64, 4, MPI_INFO_NULL, node, &base, &window);
    CALL(MPI_Win_free, 0, &window);
    CALL(MPI_Comm_free, 0, &node);

    CALL(MPI_Win_create_dynamic, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_attach(window, memory, sizeof memory);
    BARRIER();
    MPI_Win_detach(window, memory);
    CALL(MPI_Win_free, 0, &window);
}

/* Nothing moves to MPI_PROC_NULL. */
static void nobody(void)
{
    MPI_Win window;
    CALL_C(MPI_Win_create, 0, memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    CALL(MPI_Win_fence, 0, 0, window);
    CALL_C(MPI_Put, 0, out, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, window);
    CALL_C(MPI_Get, 0, in, 2, MPI_INT, MPI_PROC_NULL, 0, 2, MPI_INT, window);
    CALL(MPI_Win_fence, 0, 0, window);
    CALL(MPI_Win_free, 0, &window);
}

void one_sided(void)
{
    under_fences();
    under_start_and_post();
    under_locks();
    shared_and_dynamic();
    nobody();
}

void one_sided_requests(void)
{
    MPI_Win window;
    MPI_Request request;
    fill();
    CALL_C(MPI_Win_create, 0, memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    CALL(MPI_Win_lock_all, 0, 0, window);
    CALL_C(MPI_Rput, 4 * 3, out, 3, MPI_INT, right, 0, 3, MPI_INT, window, &request);
    WAIT(&request);
    CALL_C(MPI_Rget, 4 * 2, in, 2, MPI_INT, right, 8, 2, MPI_INT, window, &request);
    WAIT(&request);
    check(in[0] == 10 * right + 8, "Rget");
    CALL_C(MPI_Raccumulate, 4 * 4, out, 4, MPI_INT, right, 4, 4, MPI_INT, MPI_SUM, window, &request);
    WAIT(&request);
    CALL_C(MPI_Rget_accumulate, 4 * 2 + 4 * 2, out, 2, MPI_INT, in, 2, MPI_INT, right, 12, 2, MPI_INT, MPI_SUM,
           window, &request);
    WAIT(&request);
    CALL(MPI_Win_unlock_all, 0, window);
    BARRIER();
    CALL(MPI_Win_free, 0, &window);
}
