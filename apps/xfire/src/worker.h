/* A worker: computes the sections it is sent until the simulation is over. */
#ifndef XFIRE_WORKER_H
#define XFIRE_WORKER_H

#include "propagate.h"
#include "tuned.h"

/* Statistics of a worker. */
struct work {
    double compute_s; /* in arcStepKernel, idling included */
    double idle_s;    /* of it, idling that was asked for */
    double n_points, n_chunks;
};

struct worker {
    const struct config *config;
    struct landscape *land;
    struct step step;
    struct vec2 *section; /* the points with a neighbor at each end */
    struct vec2 *moved;
    int capacity;
    struct work work;
};

/* Collective with the master's iterations. */
int worker_run(struct worker *worker);

/* The computation of one chunk of NTareas points. */
XFIRE_PROBED void arcStepKernel(struct worker *worker);

#endif
