/*
 * The local model: motion of the points of the fire line in one step. Pure: the result of a point
 * depends only on the point, its two neighbors, the landscape and the step, so that any partition
 * of the line gives the same bits. Not here: joining, stretching and uncrossing (fire_line.c,
 * crossings.c).
 */
#ifndef XFIRE_PROPAGATE_H
#define XFIRE_PROPAGATE_H

#include "landscape.h"

struct step {
    double minutes;
    int n_substeps; /* evaluations of the local conditions along the way of each point */
};

/*
 * Moves points[0] to points[n - 1] into `moved`. The neighbors points[-1] and points[n] must
 * exist. The fire is to the left of the line.
 */
void propagate_section(const struct landscape *land, struct step step, const struct vec2 *points,
                       int n, struct vec2 *moved);

#endif
