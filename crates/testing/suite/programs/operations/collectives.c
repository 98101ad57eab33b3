/* Collective operations over all ranks, in every form, with and without MPI_IN_PLACE. */
#include "forms.h"

#define MAX 16
#define WORLD MPI_COMM_WORLD

/* `parts[i]` and `places[i]`: rank i + 1 elements per peer, one after the other. */
static count_t parts[MAX], ones[MAX];
static displacement_t places[MAX], byte_places[MAX];
static MPI_Datatype types[MAX];
static int all_parts;
static int out[MAX * MAX], in[MAX * MAX];

static void prepare(void)
{
    check(size <= MAX, "at most 16 ranks");
    all_parts = 0;
    for (int i = 0; i < size; i++) {
        parts[i] = i + 1;
        ones[i] = 1;
        places[i] = all_parts;
        byte_places[i] = 4 * i;
        types[i] = MPI_INT;
        all_parts += i + 1;
    }
}

static void fill(void)
{
    for (int i = 0; i < MAX * MAX; i++) {
        out[i] = 1000 * rank + i;
        in[i] = -1;
    }
}

/* Every form may find its buffers as the last left them, in-place ones included: refilled each time. */
#define AND_CHECK(condition, what) \
    { \
        check(condition, what); \
        fill(); \
    }

/* MPICH 4.0 fails in the persistent form of Scatter with more than two ranks. */
#if MPICH_4_0
#define SCATTER_FORMS(bytes, then, ...) \
    do { \
        TWO_FORMS(CALL_C, MPI_Scatter, MPI_Iscatter, bytes, then, __VA_ARGS__); \
        if (size == 2) \
            PERSISTENT_FORM(CALL_C, MPI_Scatter_init, bytes, then, __VA_ARGS__); \
    } while (0)
#else
#define SCATTER_FORMS(...) ALL_FORMS(Scatter, scatter, __VA_ARGS__)
#endif

static void synchronize_and_broadcast(void)
{
    TWO_FORMS(CALL, MPI_Barrier, MPI_Ibarrier, 0, (void)0, WORLD);
    PERSISTENT_FORM(CALL, MPI_Barrier_init, 0, (void)0, WORLD);
    int root = size - 1;
    int *buffer = rank == root ? out : in;
    ALL_FORMS(Bcast, bcast, 4 * 9, AND_CHECK(rank == root || in[8] == 1000 * root + 8, "Bcast"),
              buffer, 9, MPI_INT, root, WORLD);
}

static void gather_and_scatter(void)
{
    int root = 1;
    ALL_FORMS(Gather, gather, 4 * 2,
              AND_CHECK(rank != root || in[2 * size - 1] == 1000 * (size - 1) + 1, "Gather"),
              out, 2, MPI_INT, in, 2, MPI_INT, root, WORLD);
    ALL_FORMS(Gatherv, gatherv, 4 * (rank + 1),
              AND_CHECK(rank != root || in[places[size - 1]] == 1000 * (size - 1), "Gatherv"),
              out, rank + 1, MPI_INT, in, parts, places, MPI_INT, root, WORLD);
    /* The root contributes to all, the others only receive. */
    SCATTER_FORMS(rank == root ? 4 * 3 * size : 4 * 3,
                  AND_CHECK(in[0] == 1000 * root + 3 * rank, "Scatter"),
                  out, 3, MPI_INT, in, 3, MPI_INT, root, WORLD);
    ALL_FORMS(Scatterv, scatterv, rank == root ? 4 * all_parts : 4 * (rank + 1),
              AND_CHECK(in[rank] == 1000 * root + (int)places[rank] + rank, "Scatterv"),
              out, parts, places, MPI_INT, in, rank + 1, MPI_INT, root, WORLD);
}

static void gather_in_place(void)
{
    const void *from = rank == 0 ? MPI_IN_PLACE : (void *)out;
    ALL_FORMS(Gather, gather, 4 * 2, AND_CHECK(rank != 0 || in[2] == 1000, "Gather in place"),
              from, 2, MPI_INT, in, 2, MPI_INT, 0, WORLD);
    ALL_FORMS(Gatherv, gatherv, 4 * (rank + 1), AND_CHECK(rank != 0 || in[1] == 1000, "Gatherv in place"),
              from, rank + 1, MPI_INT, in, parts, places, MPI_INT, 0, WORLD);
    void *to = rank == 0 ? MPI_IN_PLACE : (void *)in;
    SCATTER_FORMS(rank == 0 ? 4 * size : 4, AND_CHECK(rank == 0 || in[0] == rank, "Scatter in place"),
                  out, 1, MPI_INT, to, 1, MPI_INT, 0, WORLD);
    int *own = in + places[rank];
    ALL_FORMS(Allgather, allgather, 4 * 3, AND_CHECK(in[0] == -1, "Allgather in place"),
              MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 3, MPI_INT, WORLD);
    ALL_FORMS(Allgatherv, allgatherv, 4 * (rank + 1), AND_CHECK(own[0] == -1, "Allgatherv in place"),
              MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, parts, places, MPI_INT, WORLD);
}

static void all_to_all(void)
{
    ALL_FORMS(Allgather, allgather, 4 * 3, AND_CHECK(in[3 * right] == 1000 * right, "Allgather"),
              out, 3, MPI_INT, in, 3, MPI_INT, WORLD);
    ALL_FORMS(Allgatherv, allgatherv, 4 * (rank + 1),
              AND_CHECK(in[places[right]] == 1000 * right, "Allgatherv"),
              out, rank + 1, MPI_INT, in, parts, places, MPI_INT, WORLD);
    ALL_FORMS(Alltoall, alltoall, 4 * 2 * size,
              AND_CHECK(in[2 * left] == 1000 * left + 2 * rank, "Alltoall"),
              out, 2, MPI_INT, in, 2, MPI_INT, WORLD);
}

/* Rank i sends j + 1 elements to rank j: it receives rank + 1 from everyone. */
static void uneven_all_to_all(void)
{
    count_t received[MAX];
    displacement_t received_places[MAX];
    for (int i = 0; i < size; i++) {
        received[i] = rank + 1;
        received_places[i] = i * (rank + 1);
    }
    ALL_FORMS(Alltoallv, alltoallv, 4 * all_parts,
              AND_CHECK(in[left * (rank + 1)] == 1000 * left + (int)places[rank], "Alltoallv"),
              out, parts, places, MPI_INT, in, received, received_places, MPI_INT, WORLD);
    ALL_FORMS(Alltoallw, alltoallw, 4 * size, AND_CHECK(in[left] == 1000 * left + rank, "Alltoallw"),
              out, ones, byte_places, types, in, ones, byte_places, types, WORLD);
    ALL_FORMS(Alltoall, alltoall, 4 * size, AND_CHECK(in[0] == -1, "Alltoall in place"),
              MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, WORLD);
}

static void reduce(void)
{
    int sum = 1000 * size * (size - 1) / 2;
    ALL_FORMS(Reduce, reduce, 4 * 5, AND_CHECK(rank != 0 || in[1] == sum + size, "Reduce"),
              out, in, 5, MPI_INT, MPI_SUM, 0, WORLD);
    ALL_FORMS(Allreduce, allreduce, 4 * 6, AND_CHECK(in[0] == sum, "Allreduce"),
              out, in, 6, MPI_INT, MPI_SUM, WORLD);
    ALL_FORMS(Allreduce, allreduce, 8 * 1, AND_CHECK(in[0] == -1, "Allreduce in place"),
              MPI_IN_PLACE, in, 1, MPI_2INT, MPI_MAXLOC, WORLD);
    ALL_FORMS(Reduce_scatter, reduce_scatter, 4 * all_parts,
              AND_CHECK(in[0] == sum + size * (int)places[rank], "Reduce_scatter"),
              out, in, parts, MPI_INT, MPI_SUM, WORLD);
    ALL_FORMS(Reduce_scatter_block, reduce_scatter_block, 4 * 2 * size,
              AND_CHECK(in[0] == sum + size * 2 * rank, "Reduce_scatter_block"),
              out, in, 2, MPI_INT, MPI_SUM, WORLD);
    ALL_FORMS(Scan, scan, 4 * 4, AND_CHECK(in[0] == 1000 * rank * (rank + 1) / 2, "Scan"),
              out, in, 4, MPI_INT, MPI_SUM, WORLD);
    ALL_FORMS(Exscan, exscan, 4 * 3,
              AND_CHECK(rank == 0 || in[0] == 1000 * rank * (rank - 1) / 2, "Exscan"),
              out, in, 3, MPI_INT, MPI_SUM, WORLD);
}

void collectives(void)
{
    prepare();
    fill();
    synchronize_and_broadcast();
    gather_and_scatter();
    gather_in_place();
    all_to_all();
    uneven_all_to_all();
    reduce();
}

/* Over an intercommunicator: rank 0 alone on one side, the others on the other. */
void collectives_between_groups(void)
{
    prepare();
    fill();
    MPI_Comm side, between;
    CALL(MPI_Comm_split, 0, WORLD, rank == 0, rank, &side);
    CALL(MPI_Intercomm_create, 0, side, 0, WORLD, rank == 0 ? 1 : 0, 37, &between);
    int n_remote = rank == 0 ? size - 1 : 1;
    int root = rank == 0 ? MPI_ROOT : 0;

    CALL_C(MPI_Bcast, 4 * 7, out, 7, MPI_INT, root, between);
    /* The root has no send buffer: it counts what it receives from all. */
    CALL_C(MPI_Gather, rank == 0 ? 4 * 2 * n_remote : 4 * 2, out, 2, MPI_INT, in, 2, MPI_INT, root, between);
    CALL_C(MPI_Scatter, rank == 0 ? 4 * 3 * n_remote : 4 * 3, out, 3, MPI_INT, in, 3, MPI_INT, root, between);
    CALL_C(MPI_Alltoall, 4 * 5 * n_remote, out, 5, MPI_INT, in, 5, MPI_INT, between);
    CALL_C(MPI_Allgather, 4 * 4, out, 4, MPI_INT, in, 4, MPI_INT, between);
    CALL_C(MPI_Allreduce, 4 * 8, out, in, 8, MPI_INT, MPI_SUM, between);
    CALL(MPI_Barrier, 0, between);

    CALL(MPI_Comm_free, 0, &between);
    CALL(MPI_Comm_free, 0, &side);
}
