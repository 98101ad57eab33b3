/* Fuel, terrain and wind at a place; see landscape.h. */
#include "landscape.h"

#include <stdlib.h>

#include "errors.h"

/* Numbers of land that does not burn (Scott and Burgan 2005: 91 urban ... 99 bare ground). */
static bool is_unburnable(float number)
{
    return number == 0.0f || (91.0f <= number && number <= 99.0f);
}

static int check_fuel(const char *path, const struct grid *fuel)
{
    for (size_t i = 0; i < grid_size(fuel); i++) {
        float number = fuel->values[i];
        if (number == fuel->no_data || is_unburnable(number))
            fuel->values[i] = 0.0f;
        else if (fuel_model((int)number) == NULL || number != (float)(int)number)
            return xfire_error(XFIRE_INPUT, "`%s`: %g is no fuel model; use 1 to 13, or 0 and 91 "
                               "to 99 for land that does not burn", path, (double)number);
    }
    return XFIRE_OK;
}

static int read_fuel(const struct config *config, struct landscape *land)
{
    char *end;
    long number = strtol(config->fuel, &end, 10);
    if (*end != '\0') {
        int code = grid_read(config->fuel, &land->fuel);
        return code == XFIRE_OK ? check_fuel(config->fuel, &land->fuel) : code;
    }
    land->uniform_fuel = (int)number;
    if (fuel_model(land->uniform_fuel) == NULL)
        return xfire_error(XFIRE_USAGE, "`fuel` is %ld; give 1 to 13 or a grid", number);
    return XFIRE_OK;
}

/* Rise over run between the neighbors of a cell; zero where they have no height. */
static double slope_between(const struct grid *terrain, int col_a, int row_a, int col_b, int row_b)
{
    double a = *grid_cell(terrain, col_a, row_a), b = *grid_cell(terrain, col_b, row_b);
    int n_cells = abs(col_b - col_a) + abs(row_b - row_a);
    if (n_cells == 0 || a == (double)terrain->no_data || b == (double)terrain->no_data)
        return 0.0;
    return (b - a) / (n_cells * terrain->cell_m);
}

static void fill_gradient(struct landscape *land)
{
    const struct grid *t = &land->terrain;
    for (int row = 0; row < t->n_rows; row++)
        for (int col = 0; col < t->n_cols; col++) {
            int west = col > 0 ? col - 1 : col, east = col + 1 < t->n_cols ? col + 1 : col;
            int north = row > 0 ? row - 1 : row, south = row + 1 < t->n_rows ? row + 1 : row;
            *grid_cell(&land->gradient_x, col, row) =
                (float)slope_between(t, west, row, east, row);
            *grid_cell(&land->gradient_y, col, row) =
                (float)slope_between(t, col, south, col, north);
        }
}

static int read_terrain(const struct config *config, struct landscape *land)
{
    if (config->terrain[0] == '\0')
        return XFIRE_OK;
    int code = grid_read(config->terrain, &land->terrain);
    if (code == XFIRE_OK)
        code = grid_alloc_like(&land->terrain, 0.0f, &land->gradient_x);
    if (code == XFIRE_OK)
        code = grid_alloc_like(&land->terrain, 0.0f, &land->gradient_y);
    if (code == XFIRE_OK)
        fill_gradient(land);
    return code;
}

static void prepare_beds(const struct config *config, struct landscape *land)
{
    struct moisture moisture;
    for (int i = 0; i < N_FUEL_CLASSES; i++)
        moisture.fraction[i] = config->moisture_percent[i] / 100.0;
    for (int number = 1; number <= N_FUEL_MODELS; number++) {
        const struct fuel_model *model = fuel_model(number);
        rothermel_bed(model, &moisture, &land->beds[number]);
        land->wind_adjustment[number] = config->wind_adjustment > 0.0
                                            ? config->wind_adjustment
                                            : rothermel_wind_adjustment(model->depth_ft);
    }
}

int landscape_read(const struct config *config, struct landscape *land)
{
    int code = read_fuel(config, land);
    if (code == XFIRE_OK)
        code = read_terrain(config, land);
    if (code == XFIRE_OK)
        code = wind_read(config->wind, &land->wind);
    if (code == XFIRE_OK)
        prepare_beds(config, land);
    return code;
}

void landscape_free(struct landscape *land)
{
    grid_free(&land->fuel);
    grid_free(&land->terrain);
    grid_free(&land->gradient_x);
    grid_free(&land->gradient_y);
    wind_free(&land->wind);
}

/* Number of the fuel model at a place; 0 where nothing burns. */
static int fuel_number(const struct landscape *land, struct vec2 at)
{
    int col, row;
    if (land->terrain.values != NULL && !grid_locate(&land->terrain, at, &col, &row))
        return 0;
    if (land->fuel.values == NULL)
        return land->uniform_fuel;
    if (!grid_locate(&land->fuel, at, &col, &row))
        return 0;
    return (int)*grid_cell(&land->fuel, col, row);
}

bool landscape_is_burnable(const struct landscape *land, struct vec2 at)
{
    return fuel_number(land, at) != 0;
}

bool landscape_at(const struct landscape *land, struct vec2 at, struct site *site)
{
    int number = fuel_number(land, at);
    if (number == 0 || !(land->beds[number].base_rate > 0.0))
        return false;
    site->bed = &land->beds[number];
    site->wind_ft_min = vec2_scale(wind_at(&land->wind, at), land->wind_adjustment[number]);
    site->gradient = (struct vec2){0.0, 0.0};
    if (land->terrain.values != NULL)
        site->gradient = (struct vec2){grid_interpolate(&land->gradient_x, at),
                                       grid_interpolate(&land->gradient_y, at)};
    return true;
}

const struct grid *landscape_cells(const struct landscape *land)
{
    if (land->fuel.values != NULL)
        return &land->fuel;
    return land->terrain.values != NULL ? &land->terrain : NULL;
}
