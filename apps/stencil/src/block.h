/* Which rectangle of a field a rank holds. */
#ifndef STENCIL_BLOCK_H
#define STENCIL_BLOCK_H

typedef struct {
    long first_row, n_rows, first_column, n_columns;
    /* Rectangles below each other and side by side; a rank's place among them. */
    int down, across, row, column;
} block;

/* Of all grids of `n_ranks` rectangles the one with the shortest borders; ranks go row by row. Rows and columns are dealt
 * evenly, and the first ones get one more. */
block block_of(long n_rows, long n_columns, int rank, int n_ranks);

/* The rank whose rectangle is so many below and to the right; MPI_PROC_NULL outside of the field. */
int block_neighbor(const block *of, int down, int right);

#endif
