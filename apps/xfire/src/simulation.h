/*
 * The global model: repeats propagate, join, stretch, uncross until the simulated end. Runs in the
 * master only and is the same for serial and parallel runs, which differ in the propagate_fn.
 */
#ifndef XFIRE_SIMULATION_H
#define XFIRE_SIMULATION_H

#include <stdint.h>

#include "arrival.h"
#include "geojson.h"
#include "propagate.h"

struct simulation {
    const struct config *config;
    struct landscape *land;
    int iteration;
    double time_min; /* at the start of the iteration */
    struct step step;
    double spacing_m;
    struct fire_line line, moved; /* `moved` receives the new place of every point of `line` */
    bool has_arrival;
    struct arrival arrival;
    struct geojson perimeters;
    int n_crossings;
};

/* Fills `sim->moved` from `sim->line`. */
typedef int (*propagate_fn)(struct simulation *sim, void *context);

int simulation_init(struct simulation *sim, const struct config *config, struct landscape *land);
void simulation_free(struct simulation *sim);
int simulation_run(struct simulation *sim, propagate_fn propagate, void *context);

/* The propagate_fn of a serial run; `context` is not used. */
int simulation_propagate_serially(struct simulation *sim, void *context);

/* A hash of the bits of the line. */
uint64_t simulation_digest(const struct simulation *sim);

#endif
