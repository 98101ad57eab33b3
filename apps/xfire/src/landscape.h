/*
 * The landscape of a fire: fuel, terrain and wind at a place. Read by the master, broadcast to the
 * workers (share.c). Not here: the motion of the fire (propagate.c).
 */
#ifndef XFIRE_LANDSCAPE_H
#define XFIRE_LANDSCAPE_H

#include "config.h"
#include "fuel_models.h"
#include "grid.h"
#include "wind.h"

struct landscape {
    int uniform_fuel;    /* used when there is no fuel grid */
    struct grid fuel;    /* fuel model numbers */
    struct grid terrain; /* meters above the sea */
    struct grid gradient_x, gradient_y;
    struct fuel_bed beds[N_FUEL_MODELS + 1];       /* by model number */
    double wind_adjustment[N_FUEL_MODELS + 1]; /* midflame over 20-ft wind, by model number */
    struct wind wind;
};

/* Local conditions of the fire. */
struct site {
    const struct fuel_bed *bed;
    struct vec2 wind_ft_min; /* midflame, towards */
    struct vec2 gradient;    /* uphill, rise over run */
};

int landscape_read(const struct config *config, struct landscape *land);
void landscape_free(struct landscape *land);

/* Looks up the conditions at a place; false outside the grids, on water, rock, roads. */
bool landscape_is_burnable(const struct landscape *land, struct vec2 at);

/* False where nothing burns: as above, or where the fuel is too wet to burn. */
bool landscape_at(const struct landscape *land, struct vec2 at, struct site *site);

/* The grid that defines the cells of the arrival times, or NULL when there is none. */
const struct grid *landscape_cells(const struct landscape *land);

#endif
