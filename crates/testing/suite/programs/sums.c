/* Five reductions: small enough to be built in every way that compilers offer. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    for (int round = 0; round < 5; round++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
