/* Communicators and topologies made, used once by a barrier, and freed; sessions. */
#include "expect.h"

static void use_and_free(MPI_Comm *comm)
{
    CALL(MPI_Barrier, 0, *comm);
    CALL(MPI_Comm_free, 0, comm);
}

static void copies(void)
{
    MPI_Comm made;
    MPI_Request request;
    CALL(MPI_Comm_dup, 0, MPI_COMM_WORLD, &made);
    MPI_Info info;
    MPI_Info_create(&info);
    CALL(MPI_Comm_set_info, 0, made, info);
    MPI_Info_free(&info);
    use_and_free(&made);
    CALL(MPI_Comm_dup_with_info, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &made);
    use_and_free(&made);
    CALL(MPI_Comm_idup, 0, MPI_COMM_WORLD, &made, &request);
    WAIT(&request);
    use_and_free(&made);
#if HAVE_MPI_4
    CALL(MPI_Comm_idup_with_info, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &made, &request);
    WAIT(&request);
    use_and_free(&made);
#endif
}

static void parts(void)
{
    MPI_Comm made;
    MPI_Group world;
    CALL(MPI_Comm_split, 0, MPI_COMM_WORLD, rank % 2, 0, &made);
    use_and_free(&made);
    CALL(MPI_Comm_split, 0, MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &made);
    if (made != MPI_COMM_NULL)
        use_and_free(&made);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CALL(MPI_Comm_create, 0, MPI_COMM_WORLD, world, &made);
    use_and_free(&made);
    CALL(MPI_Comm_create_group, 0, MPI_COMM_WORLD, world, 5, &made);
    use_and_free(&made);
    MPI_Group_free(&world);
}

static void between(void)
{
    MPI_Comm side, inter, merged;
    CALL(MPI_Comm_split, 0, MPI_COMM_WORLD, rank == 0, rank, &side);
    CALL(MPI_Intercomm_create, 0, side, 0, MPI_COMM_WORLD, rank == 0, 6, &inter);
    CALL(MPI_Intercomm_merge, 0, inter, rank == 0, &merged);
    use_and_free(&merged);
    CALL(MPI_Comm_free, 0, &inter);
    CALL(MPI_Comm_disconnect, 0, &side);
}

static void topologies(void)
{
    int dims[2] = {size, 1}, periods[2] = {1, 0}, keep[2] = {1, 0};
    MPI_Comm grid, row, graph;
    CALL(MPI_Cart_create, 0, MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    CALL(MPI_Cart_sub, 0, grid, keep, &row);
    use_and_free(&row);
    use_and_free(&grid);

    int index[64], edges[64];
    for (int i = 0; i < size; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % size;
    }
    CALL(MPI_Graph_create, 0, MPI_COMM_WORLD, size, index, edges, 0, &graph);
    use_and_free(&graph);
    int one = 1;
    CALL(MPI_Dist_graph_create, 0, MPI_COMM_WORLD, 1, &rank, &one, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
         &graph);
    use_and_free(&graph);
}

void communicators(void)
{
    copies();
    parts();
    between();
    topologies();
}

#if HAVE_MPI_4
#if HAVE_MPI_4_1
static void session_buffer(MPI_Session session, MPI_Comm comm)
{
    static char attached[4096];
    int out = rank, in = -1;
    char *detached;
    count_t n_bytes;
    MPI_Request request;
    MPI_Session_attach_buffer(session, attached, sizeof attached);
    CALL_C(MPI_Bsend, 4, &out, 1, MPI_INT, right, 1, comm);
    CALL_C(MPI_Recv, 4, &in, 1, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);
    check(in == left, "the buffered message came");
    CALL(MPI_Session_flush_buffer, 0, session);
    CALL(MPI_Session_iflush_buffer, 0, session, &request);
    WAIT(&request);
    CALL_C(MPI_Session_detach_buffer, 0, session, &detached, &n_bytes);
}
#endif

static void groups_of_a_session(MPI_Session session)
{
    MPI_Group all, low, high;
    MPI_Comm comm, inter;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    CALL(MPI_Comm_create_from_group, 0, all, "suite.all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    take_place(comm);
    int sum, n = 1;
    CALL_C(MPI_Allreduce, 4, &n, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == size, "the session's communicator has all ranks");
#if HAVE_MPI_4_1
    session_buffer(session, comm);
#endif
    CALL(MPI_Comm_free, 0, &comm);

    int zero = 0;
    MPI_Group_incl(all, 1, &zero, &low);
    MPI_Group_excl(all, 1, &zero, &high);
    CALL(MPI_Intercomm_create_from_groups, 0, rank == 0 ? low : high, 0, rank == 0 ? high : low, 0,
         "suite.between", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter);
    CALL(MPI_Comm_free, 0, &inter);
    MPI_Group_free(&low);
    MPI_Group_free(&high);
    MPI_Group_free(&all);
}
#endif

/* A program without MPI_Init. */
void sessions(void)
{
#if HAVE_MPI_4
    MPI_Session session;
    CALL(MPI_Session_init, 0, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    groups_of_a_session(session);
    CALL(MPI_Session_finalize, 0, &session);
#endif
}
