/*
 * Deals the points of an iteration: a batch is a share (F0, F1, F2) of the points that remain,
 * dealt in as many equal chunks as there are workers. Pure but for the variables of tuned.h.
 * Not here: good values of F0 to F2 (a tuning tool), messages (master.c).
 */
#ifndef XFIRE_FACTORING_H
#define XFIRE_FACTORING_H

#include <stdbool.h>

#include "tuned.h"

struct batch {
    int id, first, n_points;
    int n_chunks, n_dealt;
};

struct factoring {
    int n_workers, min_chunk;
    int n_batches;             /* batches computed so far */
    int first_left, n_left;    /* points in no batch yet */
    struct batch current, next; /* `next` has no chunks until it is needed */
};

/* A section of consecutive points for one worker. */
struct chunk {
    int batch, first, n_points;
};

void factoring_start(struct factoring *f, int n_points, int n_workers, int min_chunk);

/* Computes the next batch; sets `batchId` and `numChunk`. */
XFIRE_PROBED void Factoring_SetNumTuples(struct factoring *f);

/* The next chunk; false when all points are dealt. */
bool factoring_next(struct factoring *f, struct chunk *chunk);

#endif
