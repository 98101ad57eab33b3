/*
 * Heat in a plate whose edge is kept at 0: in each step a cell takes the share RATE of the differences to its four
 * neighbors. Each rank holds a rectangle and gets the cells around it from its neighbors.
 *
 * The cells are the same, bit for bit, on any number of ranks.
 */
#ifndef STENCIL_HEAT_H
#define STENCIL_HEAT_H

#include <mpi.h>
#include <stdint.h>

#include "block.h"

typedef struct {
    /* Of the whole plate. */
    long n_rows, n_columns;
    /* Steps that were made. */
    uint64_t step;
    /* The cells of this rank's rectangle, row by row. */
    double *cells;
    /* The cells before the step and those around them; lives no longer than a step. */
    double *before;
} heat;

/* A plate with a warm spot. Ends all ranks with a sentence when there is not a row and a column for each rank. */
void heat_begin(heat *plate, MPI_Comm comm);

/* A step; all ranks call it. */
void heat_step(heat *plate, MPI_Comm comm);

/* The first rank says what became of the plate: its warmest cell, and a number made of the bits of all cells. */
void heat_tell(const heat *plate, MPI_Comm comm);

/* Writes the cells as a gray picture (PGM); ends all ranks with a sentence when it cannot be written. */
void heat_picture(const heat *plate, const char *path, MPI_Comm comm);

/* The memory goes back. */
void heat_end(heat *plate);

#endif
