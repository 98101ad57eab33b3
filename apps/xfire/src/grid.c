/* ESRI ASCII grids; see grid.h. */
#include "grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "errors.h"

static const size_t N_CELLS_MAX = (size_t)1 << 28;

struct header {
    double n_cols, n_rows, west, south, cell_m, no_data;
    bool is_center;
};

static bool header_field(struct header *h, const char *key, double value)
{
    if (strcasecmp(key, "ncols") == 0)
        h->n_cols = value;
    else if (strcasecmp(key, "nrows") == 0)
        h->n_rows = value;
    else if (strcasecmp(key, "xllcorner") == 0 || strcasecmp(key, "xllcenter") == 0)
        h->west = value;
    else if (strcasecmp(key, "yllcorner") == 0 || strcasecmp(key, "yllcenter") == 0)
        h->south = value;
    else if (strcasecmp(key, "cellsize") == 0)
        h->cell_m = value;
    else if (strcasecmp(key, "nodata_value") == 0)
        h->no_data = value;
    else
        return false;
    h->is_center |= strcasecmp(key + 3, "center") == 0;
    return true;
}

static int read_header(FILE *file, const char *path, struct grid *grid)
{
    struct header h = {.no_data = -9999.0};
    char key[32];
    double value;
    long before = ftell(file);
    while (fscanf(file, " %31[A-Za-z_] %lf", key, &value) == 2) {
        if (!header_field(&h, key, value))
            return xfire_error(XFIRE_INPUT, "`%s` has the unknown header field `%s`", path, key);
        before = ftell(file);
    }
    if (fseek(file, before, SEEK_SET) != 0)
        return xfire_error(XFIRE_INPUT, "`%s` cannot be read twice; give a regular file", path);
    bool is_sane = h.n_cols >= 1.0 && h.n_rows >= 1.0 && h.cell_m > 0.0 &&
                   h.n_cols * h.n_rows <= (double)N_CELLS_MAX;
    if (!is_sane)
        return xfire_error(XFIRE_INPUT, "`%s` needs positive ncols, nrows and cellsize", path);
    double half = h.is_center ? h.cell_m / 2.0 : 0.0;
    *grid = (struct grid){(int)h.n_cols, (int)h.n_rows, h.west - half, h.south - half, h.cell_m,
                          (float)h.no_data, NULL};
    return XFIRE_OK;
}

static int read_values(FILE *file, const char *path, struct grid *grid)
{
    size_t size = grid_size(grid);
    grid->values = malloc(size * sizeof *grid->values);
    if (grid->values == NULL)
        return xfire_error(XFIRE_LIMIT, "no memory for the %zu cells of `%s`", size, path);
    for (size_t i = 0; i < size; i++)
        if (fscanf(file, "%f", &grid->values[i]) != 1)
            return xfire_error(XFIRE_INPUT, "`%s` ends or is not a number at value %zu of %zu",
                               path, i + 1, size);
    return XFIRE_OK;
}

int grid_read(const char *path, struct grid *grid)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return xfire_error(XFIRE_INPUT, "cannot open the grid `%s`", path);
    int code = read_header(file, path, grid);
    if (code == XFIRE_OK)
        code = read_values(file, path, grid);
    fclose(file);
    return code;
}

int grid_write(const char *path, const struct grid *grid)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return xfire_error(XFIRE_OUTPUT, "cannot create `%s`", path);
    fprintf(file, "ncols %d\nnrows %d\nxllcorner %.3f\nyllcorner %.3f\ncellsize %g\n",
            grid->n_cols, grid->n_rows, grid->west, grid->south, grid->cell_m);
    fprintf(file, "NODATA_value %g\n", (double)grid->no_data);
    for (int row = 0; row < grid->n_rows; row++)
        for (int col = 0; col < grid->n_cols; col++) {
            double value = (double)*grid_cell(grid, col, row);
            const char *after = col + 1 < grid->n_cols ? " " : "\n";
            if (value == (double)grid->no_data)
                fprintf(file, "%g%s", value, after);
            else
                fprintf(file, "%.2f%s", value, after);
        }
    bool is_written = !ferror(file);
    if (fclose(file) != 0 || !is_written)
        return xfire_error(XFIRE_OUTPUT, "cannot write `%s`; is the disk full?", path);
    return XFIRE_OK;
}

int grid_alloc_like(const struct grid *shape, float fill, struct grid *grid)
{
    *grid = *shape;
    size_t size = grid_size(shape);
    grid->values = malloc(size * sizeof *grid->values);
    if (grid->values == NULL)
        return xfire_error(XFIRE_LIMIT, "no memory for a grid of %zu cells", size);
    for (size_t i = 0; i < size; i++)
        grid->values[i] = fill;
    return XFIRE_OK;
}

void grid_free(struct grid *grid)
{
    free(grid->values);
    grid->values = NULL;
}

struct vec2 grid_center(const struct grid *grid, int col, int row)
{
    return (struct vec2){grid->west + (col + 0.5) * grid->cell_m,
                         grid->south + (grid->n_rows - row - 0.5) * grid->cell_m};
}

bool grid_locate(const struct grid *grid, struct vec2 at, int *col, int *row)
{
    double across = (at.x - grid->west) / grid->cell_m;
    double up = (at.y - grid->south) / grid->cell_m;
    if (!(across >= 0.0 && across < grid->n_cols && up >= 0.0 && up < grid->n_rows))
        return false;
    *col = (int)across;
    *row = grid->n_rows - 1 - (int)up;
    return true;
}

/* Index of the lower of two neighboring centers, and the distance of `position` beyond it. */
static int lower_center(double position, int n, double *beyond)
{
    double clamped = fmin(fmax(position, 0.0), n - 1.0);
    int lower = (int)clamped;
    if (n > 1 && lower == n - 1)
        lower = n - 2;
    *beyond = clamped - lower;
    return lower;
}

double grid_interpolate(const struct grid *grid, struct vec2 at)
{
    double fx, fy;
    int col = lower_center((at.x - grid->west) / grid->cell_m - 0.5, grid->n_cols, &fx);
    int up = lower_center((at.y - grid->south) / grid->cell_m - 0.5, grid->n_rows, &fy);
    int col_east = grid->n_cols > 1 ? col + 1 : col;
    int row = grid->n_rows - 1 - up, row_north = grid->n_rows > 1 ? row - 1 : row;
    double below = (1.0 - fx) * *grid_cell(grid, col, row) + fx * *grid_cell(grid, col_east, row);
    double above = (1.0 - fx) * *grid_cell(grid, col, row_north) +
                   fx * *grid_cell(grid, col_east, row_north);
    return (1.0 - fy) * below + fy * above;
}
