#include "block.h"

#include <mpi.h>

/* First row or column of part `part` of `n_parts`. */
static long begin(long n, int n_parts, int part)
{
    long each = n / n_parts, longer = n % n_parts;
    return part * each + (part < longer ? part : longer);
}

/* Number of rectangles down; among grids with equally long borders the one with the widest rectangles. */
static int rows_of_grid(long n_rows, long n_columns, int n_ranks)
{
    long shortest = 0;
    int best = 0;
    for (int down = n_ranks; down >= 1; down--) {
        if (n_ranks % down != 0)
            continue;
        long border = (down - 1) * n_columns + (n_ranks / down - 1) * n_rows;
        if (best == 0 || border < shortest) {
            shortest = border;
            best = down;
        }
    }
    return best;
}

block block_of(long n_rows, long n_columns, int rank, int n_ranks)
{
    block own;
    own.down = rows_of_grid(n_rows, n_columns, n_ranks);
    own.across = n_ranks / own.down;
    own.row = rank / own.across;
    own.column = rank % own.across;
    own.first_row = begin(n_rows, own.down, own.row);
    own.n_rows = begin(n_rows, own.down, own.row + 1) - own.first_row;
    own.first_column = begin(n_columns, own.across, own.column);
    own.n_columns = begin(n_columns, own.across, own.column + 1) - own.first_column;
    return own;
}

int block_neighbor(const block *of, int down, int right)
{
    int row = of->row + down, column = of->column + right;
    if (row < 0 || row >= of->down || column < 0 || column >= of->across)
        return MPI_PROC_NULL;
    return row * of->across + column;
}
