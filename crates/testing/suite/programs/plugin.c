/* The plug-in of `plugin_host`: one reduction per call. */
#include <mpi.h>

int plugin_run(int value)
{
    int sum;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}
