/*
 * The minute at which the fire reaches the center of each cell of a grid. Not here: writing it
 * (grid.c).
 */
#ifndef XFIRE_ARRIVAL_H
#define XFIRE_ARRIVAL_H

#include "fire_line.h"
#include "landscape.h"

struct arrival {
    struct grid minutes; /* no_data where the fire has not come */
    const struct landscape *land;
};

int arrival_init(struct arrival *arrival, const struct landscape *land);
void arrival_free(struct arrival *arrival);

/* The strip between the points of `line` at `from_min` and `moved`, where they are at `to_min`. */
void arrival_sweep(struct arrival *arrival, const struct fire_line *line, const struct vec2 *moved,
                   double from_min, double to_min);

/* Everything inside a closed line that is not marked yet. */
int arrival_fill(struct arrival *arrival, const struct fire_line *line, double minute);

#endif
