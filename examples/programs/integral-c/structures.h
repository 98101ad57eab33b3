/* The data of the program: what travels between master and workers, and what is kept in checkpoints.
 *
 * `make` has `sintonia messages` write `structures_messages.h`: functions that pack and unpack each struct here. A pointer
 * says in a comment behind it how many elements there are. */
#ifndef STRUCTURES_H
#define STRUCTURES_H

#include <stdint.h>

#define N_ITERATIONS 5
#define N_INTERVALS 20000

/* YOURS: what all workers get at the start of an iteration. */
struct precision {
    double error_max; /* of an interval */
};

/* YOURS: the result of a task. */
struct part {
    double area;
    uint64_t n_evaluations;
};

/* Results, as they travel from a worker to the master. */
struct parts {
    uint64_t n_parts;
    struct part *parts; /* [n_parts] */
};

/* YOURS: what the master knows, and what a checkpoint holds. Each worker has a copy of the bytes of the struct, as they
 * were at the start. */
struct job {
    struct parts all;
    uint64_t n_areas;
    double areas[N_ITERATIONS]; /* the whole area, after each iteration */
};

#endif
