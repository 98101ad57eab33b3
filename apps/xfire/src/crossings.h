/*
 * Removes the loops of a fire line that has run over itself. Walking the outer edge of the burned
 * area and changing to the other branch at every crossing leaves out what lies in fire already.
 * An unburned island that the line has closed around is given up: it counts as burned from then.
 */
#ifndef XFIRE_CROSSINGS_H
#define XFIRE_CROSSINGS_H

#include "fire_line.h"

/* `n_removed` is raised by the number of crossings found. */
int crossings_remove(struct fire_line *line, int *n_removed);

#endif
