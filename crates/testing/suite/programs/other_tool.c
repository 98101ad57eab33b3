/* Another preloaded tool, of the common kind: counts sends, receives and barriers through PMPI.
 *
 * Writes its counts to `$OTHER_TOOL_OUT/PID`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int n_sends, n_receives, n_barriers;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    n_sends++;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    n_receives++;
    return PMPI_Recv(buffer, count, type, from, tag, comm, status);
}

int MPI_Barrier(MPI_Comm comm)
{
    n_barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
    char path[4096];
    const char *folder = getenv("OTHER_TOOL_OUT");
    snprintf(path, sizeof path, "%s/%d", folder ? folder : ".", (int)getpid());
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "%d %d %d\n", n_sends, n_receives, n_barriers);
        fclose(file);
    }
    return PMPI_Finalize();
}
