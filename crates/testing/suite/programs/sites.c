/* Calls from functions with known names and lines: a line that ends in `site: NAME` is looked up by tests. */
#include <mpi.h>

__attribute__((noinline)) static void spread(int *value)
{
    MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* site: spread */
    __asm__ volatile("");
}

__attribute__((noinline)) static int add(int value)
{
    int sum = 0;
    for (int i = 0; i < 10; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* site: add */
    return sum;
}

/* Two calls of the same operation in one function are two sites. */
__attribute__((noinline)) static void meet_twice(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* site: first */
    MPI_Barrier(MPI_COMM_WORLD); /* site: second */
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    int value = 3;
    MPI_Init(&argc, &argv); /* site: init */
    spread(&value);
    value = add(value);
    meet_twice();
    MPI_Finalize(); /* site: finalize */
    return value == 0;
}
