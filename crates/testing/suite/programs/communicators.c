/* The same operations on many communicators: rows and columns of a grid, duplicates, an intercommunicator. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, dims[2] = {0, 0}, periods[2] = {1, 1};
    MPI_Comm grid, row, column, copy, side, inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_sub(grid, (int[]){0, 1}, &row);
    MPI_Cart_sub(grid, (int[]){1, 0}, &column);
    MPI_Comm_dup(grid, &copy);
    double value = rank + 1, sum;
    for (int i = 0; i < 100; i++) {
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, i % 3 == 0 ? row : i % 3 == 1 ? column : copy);
        value = sum / (1 + i % 7);
        int from, to;
        MPI_Cart_shift(grid, i % 2, 1, &from, &to);
        MPI_Sendrecv_replace(&value, 1, MPI_DOUBLE, to, i, from, i, grid, MPI_STATUS_IGNORE);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank == 0, 9, &inter);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, inter);
    double all;
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%a %a\n", sum, all);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&side);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&column);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
