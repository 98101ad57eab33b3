/*
 * Removes the loops of a fire line that has run over itself. Walking the outer edge of the burned
 * area and changing to the other branch at every crossing leaves out the parts inside the fire.
 * An unburned island enclosed by the line is given up: it counts as burned from then on.
 */
#ifndef XFIRE_CROSSINGS_H
#define XFIRE_CROSSINGS_H

#include "fire_line.h"

/* Adds the number of crossings found to `n_removed`. */
int crossings_remove(struct fire_line *line, int *n_removed);

#endif
