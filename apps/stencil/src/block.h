/* The rectangle of a field that a rank holds. */
#ifndef STENCIL_BLOCK_H
#define STENCIL_BLOCK_H

typedef struct {
    long first_row, n_rows, first_column, n_columns;
    /* Numbers of rectangles down and across, and the position of this rank's rectangle among them. */
    int down, across, row, column;
} block;

/* The rank's rectangle in the grid of `n_ranks` rectangles with the shortest borders; ranks go row by row. Rows and
 * columns are divided evenly, and the first rectangles get one more. */
block block_of(long n_rows, long n_columns, int rank, int n_ranks);

/* The rank whose rectangle is `down` rectangles below and `right` to the right; MPI_PROC_NULL outside of the field. */
int block_neighbor(const block *of, int down, int right);

#endif
