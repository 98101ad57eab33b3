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
    /* Size of the whole plate. */
    long n_rows, n_columns;
    /* Number of steps done. */
    uint64_t step;
    /* Cells of this rank's rectangle, row by row. */
    double *cells;
    /* Cells before the step, with those around them; used only within a step. */
    double *before;
} heat;

/* Creates a plate with a warm spot. Ends all ranks with an error message if a rank would get no row or no column. */
void heat_begin(heat *plate, MPI_Comm comm);

/* Computes a step; all ranks call it. */
void heat_step(heat *plate, MPI_Comm comm);

/* On the first rank, prints the result: the warmest cell, and a digest of the bits of all cells. All ranks call it. */
void heat_tell(const heat *plate, MPI_Comm comm);

/* Writes the cells as a gray picture (PGM); ends all ranks with an error message if the file cannot be written. */
void heat_picture(const heat *plate, const char *path, MPI_Comm comm);

/* Frees the memory. */
void heat_end(heat *plate);

#endif
