#include "words.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

long number(const char *word)
{
    char *end = NULL;
    long parsed = word == NULL ? 0 : strtol(word, &end, 10);
    if (parsed < 1 || parsed > 1000000 || *end != '\0')
        refuse("write `ROWS COLUMNS STEPS [PICTURE.pgm]`, with numbers from 1 to 1000000");
    return parsed;
}

int refuse(const char *sentence)
{
    int is_begun;
    fprintf(stderr, "stencil: %s\n", sentence);
    MPI_Initialized(&is_begun);
    if (is_begun)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}
