#include <mpi.h>
#define TAG 7
static void work(int *n) { for (int i = 0; i < *n; i++) { *n += i; } }
int main(int argc, char **argv)
{
    int rank, size, n = 0;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        for (int to = 1; to < size; to++) MPI_Send(&n, 1, MPI_INT, to, TAG, MPI_COMM_WORLD);
    } else if (rank % 2 && argc > 1) {
        switch (argc) { case 2: break; default: MPI_Abort(MPI_COMM_WORLD, 1); }
    } else {
        MPI_Recv(&n, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &status);
    }
    do { work(&n); MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD); } while (n < 10);
    n = rank ? size : 1 << 3;
    MPI_Finalize();
    return 0;
}
