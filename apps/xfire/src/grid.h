/* ESRI ASCII grids: reading, writing, looking up values. Not here: the meaning of the values. */
#ifndef XFIRE_GRID_H
#define XFIRE_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "geometry.h"

/* Row 0 is the northernmost. `values` is NULL where there is no grid. */
struct grid {
    int n_cols, n_rows;
    double west, south, cell_m;
    float no_data;
    float *values;
};

int grid_read(const char *path, struct grid *grid);
int grid_write(const char *path, const struct grid *grid);
int grid_alloc_like(const struct grid *shape, float fill, struct grid *grid);
void grid_free(struct grid *grid);

static inline size_t grid_size(const struct grid *grid)
{
    return (size_t)grid->n_cols * (size_t)grid->n_rows;
}

static inline float *grid_cell(const struct grid *grid, int col, int row)
{
    return &grid->values[(size_t)row * (size_t)grid->n_cols + (size_t)col];
}

/* Center of a cell. */
struct vec2 grid_center(const struct grid *grid, int col, int row);

/* The cell that contains a point; false outside the grid. */
bool grid_locate(const struct grid *grid, struct vec2 at, int *col, int *row);

/* Bilinear between cell centers, constant beyond the outermost ones. */
double grid_interpolate(const struct grid *grid, struct vec2 at);

#endif
