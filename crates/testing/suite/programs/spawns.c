/* Parents spawn children of the same program, work with them over both kinds of communicators, and part.
 *
 * For libraries with dynamic processes. */
#include <mpi.h>
#include <stdio.h>

#define N_CHILDREN 2
#define N_ROUNDS 5

/* Parents come first in the merged communicator. */
static int work(MPI_Comm inter, int high)
{
    MPI_Comm merged;
    int rank, sum = 0;
    MPI_Intercomm_merge(inter, high, &merged);
    MPI_Comm_rank(merged, &rank);
    for (int round = 0; round < N_ROUNDS; round++) {
        int value = rank + round, part;
        MPI_Allreduce(&value, &part, 1, MPI_INT, MPI_SUM, merged);
        sum += part;
    }
    MPI_Comm_free(&merged);
    return sum;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm parents, children;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parents);
    if (parents == MPI_COMM_NULL) {
        char *arguments[] = {"child", NULL};
        MPI_Comm_spawn(argv[0], arguments, N_CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE);
        int sum = work(children, 0), childs = -1;
        if (rank == 0) {
            MPI_Recv(&childs, 1, MPI_INT, 1, 4, children, MPI_STATUS_IGNORE);
            printf("parents %d children %d\n", sum, childs);
        }
        MPI_Comm_disconnect(&children);
    } else {
        int sum = work(parents, 1);
        if (rank == 1)
            MPI_Send(&sum, 1, MPI_INT, 0, 4, parents);
        MPI_Comm_disconnect(&parents);
    }
    MPI_Finalize();
    return 0;
}
