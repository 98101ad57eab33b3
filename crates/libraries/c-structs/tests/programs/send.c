/* Sends an array of structs with its MPI datatype, and every other one of them. */
#include <mpi.h>
#include "shapes_messages.h"

#include <stdio.h>

enum { N = 5 };

int main(int argc, char **argv)
{
    static box boxes[N], expected[N];
    MPI_Datatype one, other;
    MPI_Aint low, extent;
    int rank, n_received;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N; i++) {
        strcpy(expected[i].name, "a box");
        expected[i].name[NAME_BYTES - 1] = (char)('a' + i);
        expected[i].color = GREEN;
        expected[i].fineness = FINE;
        expected[i].corners[1][N_CORNERS - 1].at[N_AXES - 1] = 0.1 * i;
        expected[i].numbers.a = (int8_t)-i;
        expected[i].numbers.s = (size_t)-1;
        expected[i].numbers.u = 4000000000u;
        expected[i].flag = 255;
    }
    one = mw_datatype_box();
    MPI_Type_get_extent(one, &low, &extent);
    MPI_Type_vector((N + 1) / 2, 1, 2, one, &other);
    MPI_Type_commit(&other);
    if (rank == 0) {
        MPI_Send(expected, N, one, 1, 0, MPI_COMM_WORLD);
        MPI_Send(expected, 1, other, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Status status;
        int is_same = extent == (MPI_Aint)sizeof(box);
        MPI_Recv(boxes, N, one, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, one, &n_received);
        is_same = is_same && n_received == N && memcmp(boxes, expected, sizeof boxes) == 0;
        memset(boxes, 0, sizeof boxes);
        MPI_Recv(boxes, (N + 1) / 2, one, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < (N + 1) / 2; i++)
            is_same = is_same && memcmp(&boxes[i], &expected[2 * i], sizeof(box)) == 0;
        puts(is_same ? "same" : "different");
    }
    MPI_Type_free(&other);
    MPI_Type_free(&one);
    MPI_Finalize();
    return 0;
}
