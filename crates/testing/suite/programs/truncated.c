/* Messages that are too long for their receives: what calls return, what handlers are told, and which requests stay open.
   Open MPI 5 tells apart whether a message is there when it is waited for, so a barrier says that it is. */
#include <mpi.h>
#include <stdio.h>

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    printf("handled class %d\n", class_of(*code));
}

static void send(void)
{
    char out[100] = {0};
    for (int tag = 0; tag < 3; tag++)
        MPI_Send(out, tag == 1 ? 1 : 100, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
}

static void receive(void)
{
    char in[3][100];
    MPI_Request requests[2];
    MPI_Irecv(in[0], 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], 100, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[1]);
    int code = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("MPI_Waitall: class %d", class_of(code));
    for (int i = 0; i < 2; i++)
        printf(", %s", requests[i] == MPI_REQUEST_NULL ? "null" : "open");
    MPI_Irecv(in[2], 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[0]);
    printf("\nMPI_Wait: class %d\n", class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)));
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int is_handled = 0; is_handled < 2; is_handled++) {
        MPI_Errhandler handler = MPI_ERRORS_RETURN;
        if (is_handled)
            MPI_Comm_create_errhandler(handle, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        if (rank == 0)
            send();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            receive();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
