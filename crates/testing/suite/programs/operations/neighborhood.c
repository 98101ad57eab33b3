/* Neighborhood operations on a ring, directed: each rank sends to the right and receives from the left. */
#include "forms.h"

#define MAX 8

static int out[MAX], in[MAX];

static void fill(void)
{
    for (int i = 0; i < MAX; i++) {
        out[i] = 100 * rank + i;
        in[i] = -1;
    }
}

#define FROM_LEFT(what) \
    { \
        check(in[0] == 100 * left, what); \
        fill(); \
    }

/* Two neighbors each: twice what is sent to one. */
static void on_a_grid(void)
{
    int dims[1] = {size}, periods[1] = {1};
    MPI_Comm grid;
    CALL(MPI_Cart_create, 0, MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
    ALL_FORMS(Neighbor_allgather, neighbor_allgather, 4, FROM_LEFT("Neighbor_allgather on a grid"),
              out, 1, MPI_INT, in, 1, MPI_INT, grid);
    ALL_FORMS(Neighbor_alltoall, neighbor_alltoall, 2 * 4 * 2, fill(),
              out, 2, MPI_INT, in, 2, MPI_INT, grid);
    CALL(MPI_Comm_free, 0, &grid);
}

void neighborhood(void)
{
    MPI_Comm ring;
    CALL(MPI_Dist_graph_create_adjacent, 0, MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    fill();
    count_t two = 2, three = 3;
    displacement_t start = 0;
    MPI_Aint byte_start = 0;
    MPI_Datatype type = MPI_INT;
    ALL_FORMS(Neighbor_allgather, neighbor_allgather, 4 * 2, FROM_LEFT("Neighbor_allgather"),
              out, 2, MPI_INT, in, 2, MPI_INT, ring);
    ALL_FORMS(Neighbor_allgatherv, neighbor_allgatherv, 4 * 3, FROM_LEFT("Neighbor_allgatherv"),
              out, 3, MPI_INT, in, &three, &start, MPI_INT, ring);
    ALL_FORMS(Neighbor_alltoall, neighbor_alltoall, 4 * 4, FROM_LEFT("Neighbor_alltoall"),
              out, 4, MPI_INT, in, 4, MPI_INT, ring);
    ALL_FORMS(Neighbor_alltoallv, neighbor_alltoallv, 4 * 2, FROM_LEFT("Neighbor_alltoallv"),
              out, &two, &start, MPI_INT, in, &two, &start, MPI_INT, ring);
    ALL_FORMS(Neighbor_alltoallw, neighbor_alltoallw, 4 * 3, FROM_LEFT("Neighbor_alltoallw"),
              out, &three, &byte_start, &type, in, &three, &byte_start, &type, ring);
    CALL(MPI_Comm_free, 0, &ring);
    on_a_grid();
}
