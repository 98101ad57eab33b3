/* Arguments, memory and time; see start.h. */
#define _POSIX_C_SOURCE 200809L
#include "start.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void refuse(const char *sentence)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == MASTER)
        fprintf(stderr, "%s\n", sentence);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    exit(2);
}

int number(const char *word, const char *name, int most)
{
    char *end = NULL, sentence[100];
    long value = word == NULL ? 0 : strtol(word, &end, 10);
    if (end == NULL || *end != '\0' || value < 1 || value > most) {
        snprintf(sentence, sizeof sentence, "%s has to be a number from 1 to %d", name, most);
        refuse(sentence);
    }
    return (int)value;
}

double *require_memory(double *room)
{
    if (room == NULL) {
        fprintf(stderr, "there is not enough memory for matrices of this dimension\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return room;
}

void idle(double seconds)
{
    time_t whole = (time_t)seconds;
    struct timespec left = {whole, (long)((seconds - (double)whole) * 1e9)};
    while (seconds > 0.0 && nanosleep(&left, &left) != 0)
        continue;
}
