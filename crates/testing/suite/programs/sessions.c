/* Two sessions and no MPI_Init: reductions in both, and a ring of messages after the first has ended. */
#include <mpi.h>
#include <stdio.h>

static MPI_Comm members(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "sintonia", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void reduce(MPI_Comm comm, int n_times)
{
    int one = 1, sum;
    for (int round = 0; round < n_times; round++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}

int main(void)
{
    MPI_Session first, second;
    MPI_Comm comm;
    int rank, n_ranks, got, token = 1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    comm = members(first);
    reduce(comm, 3);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&first);
    comm = members(second);
    reduce(comm, 4);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    MPI_Sendrecv(&token, 1, MPI_INT, (rank + 1) % n_ranks, 0, &got, 1, MPI_INT,
                 (rank + n_ranks - 1) % n_ranks, 0, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&second);
    puts("done");
    return 0;
}
