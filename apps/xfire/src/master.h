/* The master: deals the line of each iteration to the workers and joins their results. */
#ifndef XFIRE_MASTER_H
#define XFIRE_MASTER_H

#include "factoring.h"
#include "simulation.h"

struct master {
    int n_workers; /* that exist; NW of them are in use */
    int min_chunk;
    struct factoring factoring;
    struct simulation *sim;
};

/* Distributes one iteration and collects it into `sim->moved`. */
XFIRE_PROBED void global_sendreceive(struct master *master);

/* Sends a section to a worker: batch `batchId`, `NTareas` points from `first` on. */
XFIRE_PROBED void global_sendwork(const struct master *master, int worker, int first);

/* Receives one result; sets `workerId`, `batchId` and `NTareas`. */
XFIRE_PROBED void global_receivework(const struct master *master);

/* The propagate_fn of a parallel run; `context` is a struct master. */
int master_propagate(struct simulation *sim, void *context);

/* Tells the workers that the simulation is over. */
void master_finish(void);

#endif
