// Passes nothing where MPI looks at nothing: ranks beside the root of an intercommunicator, datatypes
// beside MPI_IN_PLACE, buffers away from the root, neighbors that are MPI_PROC_NULL. For 3 ranks.
#include <mpi.h>
#include <stdio.h>

static MPI_Comm world = MPI_COMM_WORLD;

static void in_place(int rank) {
    int data[8] = {0}, counts[3] = {1, 1, 1}, displs[3] = {0, 1, 2}, own = 0;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 1, MPI_INT, world);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts, displs, MPI_INT, world);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 1, MPI_INT, world);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, counts, displs, MPI_INT, world);
    if (rank == 0) {
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 1, MPI_INT, 0, world);
        MPI_Scatter(data, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, world);
    } else {
        MPI_Gather(&own, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, world);
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, &own, 1, MPI_INT, 0, world);
    }
}

/* Open MPI wants a valid datatype of ranks beside the root, MPICH takes any. */
#ifdef OPEN_MPI
#define ANY_TYPE MPI_INT
#else
#define ANY_TYPE MPI_DATATYPE_NULL
#endif

static void between_groups(int rank) {
    MPI_Comm half, both;
    int data = 0, is_low = rank < 2;
    MPI_Comm_split(world, is_low, rank, &half);
    MPI_Intercomm_create(half, 0, world, is_low ? 2 : 0, 0, &both);
    if (rank == 1) {
        MPI_Bcast(NULL, 0, ANY_TYPE, MPI_PROC_NULL, both);
        MPI_Gather(NULL, 0, ANY_TYPE, NULL, 0, ANY_TYPE, MPI_PROC_NULL, both);
        MPI_Scatter(NULL, 0, ANY_TYPE, NULL, 0, ANY_TYPE, MPI_PROC_NULL, both);
    } else {
        int root = is_low ? MPI_ROOT : 0;
        MPI_Bcast(&data, 1, MPI_INT, root, both);
        MPI_Gather(&data, 1, MPI_INT, &data, 1, MPI_INT, root, both);
        MPI_Scatter(&data, 1, MPI_INT, &data, 1, MPI_INT, root, both);
    }
    MPI_Comm_disconnect(&both);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, data = 0;
    MPI_Comm_rank(world, &rank);
    in_place(rank);
    between_groups(rank);
    MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world);
    MPI_Recv(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);
    if (rank == 0) puts("done");
    MPI_Finalize();
    return 0;
}
