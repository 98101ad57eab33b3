/* Arrival times; see arrival.h. */
#include "arrival.h"

#include <stdlib.h>

#include "errors.h"

/* A corner of a swept triangle. */
struct corner {
    struct vec2 at;
    double minute;
};

struct cell_range {
    int first_col, last_col, first_row, last_row;
};

int arrival_init(struct arrival *arrival, const struct landscape *land)
{
    arrival->land = land;
    struct grid shape = *landscape_cells(land);
    shape.no_data = -9999.0f;
    return grid_alloc_like(&shape, shape.no_data, &arrival->minutes);
}

void arrival_free(struct arrival *arrival)
{
    grid_free(&arrival->minutes);
}

/* Keeps the earliest time. Land that does not burn is never reached by the fire. */
static void mark(struct arrival *arrival, int col, int row, double minute)
{
    struct grid *grid = &arrival->minutes;
    float *cell = grid_cell(grid, col, row);
    if (*cell != grid->no_data && *cell <= (float)minute)
        return;
    if (landscape_is_burnable(arrival->land, grid_center(grid, col, row)))
        *cell = (float)minute;
}

/* First and last index whose centers lie in [low, high], positions in cells. */
static void center_range(double low, double high, int n, int *first, int *last)
{
    *first = (int)fmin(fmax(ceil(low - 0.5), 0.0), n);
    *last = (int)fmax(fmin(floor(high - 0.5), n - 1.0), -1.0);
}

static struct cell_range cells_around(const struct grid *grid, const struct corner c[3])
{
    double west = fmin(c[0].at.x, fmin(c[1].at.x, c[2].at.x)) - grid->west;
    double east = fmax(c[0].at.x, fmax(c[1].at.x, c[2].at.x)) - grid->west;
    double south = fmin(c[0].at.y, fmin(c[1].at.y, c[2].at.y)) - grid->south;
    double north = fmax(c[0].at.y, fmax(c[1].at.y, c[2].at.y)) - grid->south;
    double top = grid->n_rows * grid->cell_m;
    struct cell_range r;
    center_range(west / grid->cell_m, east / grid->cell_m, grid->n_cols, &r.first_col, &r.last_col);
    center_range((top - north) / grid->cell_m, (top - south) / grid->cell_m, grid->n_rows,
                 &r.first_row, &r.last_row);
    return r;
}

/* Marks the cell if its center is in the triangle, with the time interpolated there. */
static void mark_inside(struct arrival *arrival, const struct corner c[3], int col, int row)
{
    struct vec2 p = grid_center(&arrival->minutes, col, row);
    struct vec2 ab = vec2_sub(c[1].at, c[0].at), ac = vec2_sub(c[2].at, c[0].at);
    struct vec2 ap = vec2_sub(p, c[0].at);
    double twice_area = vec2_cross(ab, ac);
    if (twice_area == 0.0)
        return;
    double w_b = vec2_cross(ap, ac) / twice_area, w_c = vec2_cross(ab, ap) / twice_area;
    if (w_b < 0.0 || w_c < 0.0 || w_b + w_c > 1.0)
        return;
    double minute = c[0].minute + w_b * (c[1].minute - c[0].minute) +
                    w_c * (c[2].minute - c[0].minute);
    mark(arrival, col, row, minute);
}

static void sweep_triangle(struct arrival *arrival, struct corner a, struct corner b,
                           struct corner c)
{
    struct corner corners[3] = {a, b, c};
    struct cell_range r = cells_around(&arrival->minutes, corners);
    for (int row = r.first_row; row <= r.last_row; row++)
        for (int col = r.first_col; col <= r.last_col; col++)
            mark_inside(arrival, corners, col, row);
}

void arrival_sweep(struct arrival *arrival, const struct fire_line *line, const struct vec2 *moved,
                   double from_min, double to_min)
{
    for (int i = 0; i < fire_line_n_segments(line); i++) {
        int j = i + 1 < line->n ? i + 1 : 0;
        struct corner old_i = {line->points[i], from_min}, old_j = {line->points[j], from_min};
        struct corner new_i = {moved[i], to_min}, new_j = {moved[j], to_min};
        sweep_triangle(arrival, old_i, old_j, new_j);
        sweep_triangle(arrival, old_i, new_j, new_i);
    }
}

/* Where the line crosses the middle of each row: starts[row] to starts[row + 1] in `easting`. */
struct row_crossings {
    int *starts;
    double *easting;
};

static void rows_of_segment(const struct grid *grid, struct vec2 a, struct vec2 b, int *first,
                            int *last)
{
    double top = grid->south + grid->n_rows * grid->cell_m;
    double upper = (top - fmax(a.y, b.y)) / grid->cell_m;
    double lower = (top - fmin(a.y, b.y)) / grid->cell_m;
    /* Half open, so that a point on the middle of a row counts once. */
    *first = (int)fmin(fmax(ceil(upper - 0.5), 0.0), grid->n_rows);
    *last = (int)fmin(fmax(ceil(lower - 0.5) - 1.0, -1.0), grid->n_rows - 1.0);
}

static void count_crossings(const struct grid *grid, const struct fire_line *line, int *starts)
{
    for (int i = 0; i < line->n; i++) {
        int first, last;
        rows_of_segment(grid, line->points[i], fire_line_after(line, i), &first, &last);
        for (int row = first; row <= last; row++)
            starts[row + 1]++;
    }
    for (int row = 0; row < grid->n_rows; row++)
        starts[row + 1] += starts[row];
}

static void list_crossings(const struct grid *grid, const struct fire_line *line,
                           const struct row_crossings *rows, int *n_listed)
{
    for (int i = 0; i < line->n; i++) {
        struct vec2 a = line->points[i], b = fire_line_after(line, i);
        int first, last;
        rows_of_segment(grid, a, b, &first, &last);
        for (int row = first; row <= last; row++) {
            double along = (grid_center(grid, 0, row).y - a.y) / (b.y - a.y);
            rows->easting[rows->starts[row] + n_listed[row]++] = a.x + along * (b.x - a.x);
        }
    }
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void fill_row(struct arrival *arrival, int row, double *easting, int n, double minute)
{
    const struct grid *grid = &arrival->minutes;
    qsort(easting, (size_t)n, sizeof *easting, by_value);
    for (int k = 0; k + 1 < n; k += 2) {
        int first, last;
        center_range((easting[k] - grid->west) / grid->cell_m,
                     (easting[k + 1] - grid->west) / grid->cell_m, grid->n_cols, &first, &last);
        for (int col = first; col <= last; col++)
            mark(arrival, col, row, minute);
    }
}

int arrival_fill(struct arrival *arrival, const struct fire_line *line, double minute)
{
    const struct grid *grid = &arrival->minutes;
    if (!line->is_closed)
        return XFIRE_OK;
    struct row_crossings rows = {calloc((size_t)grid->n_rows + 1, sizeof(int)), NULL};
    int *n_listed = calloc((size_t)grid->n_rows, sizeof *n_listed);
    if (rows.starts != NULL && n_listed != NULL) {
        count_crossings(grid, line, rows.starts);
        rows.easting = malloc(((size_t)rows.starts[grid->n_rows] + 1) * sizeof *rows.easting);
    }
    int code = XFIRE_OK;
    if (rows.easting != NULL) {
        list_crossings(grid, line, &rows, n_listed);
        for (int row = 0; row < grid->n_rows; row++)
            fill_row(arrival, row, &rows.easting[rows.starts[row]], n_listed[row], minute);
    } else {
        code = xfire_error(XFIRE_LIMIT, "no memory to fill the arrival times");
    }
    free(rows.starts);
    free(rows.easting);
    free(n_listed);
    return code;
}
