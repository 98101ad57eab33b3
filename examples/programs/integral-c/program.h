/* The data of the program: what travels between master and workers, and what each of them knows. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <master_worker.h>

enum { N_ITERATIONS = 5, N_INTERVALS = 20000 };

/* YOURS: what all workers get at the start of an iteration. */
struct precision {
    double error_max; /* of an interval */
};

/* YOURS: the result of a task, as it travels from a worker to the master. */
struct part {
    double area;
    uint64_t n_evaluations;
};

/* YOURS: what the master knows. Each worker has a copy of the bytes of the struct, as they were at the start. */
struct job {
    struct part *parts; /* on the master: a result for each task */
    uint64_t n_areas;
    double areas[N_ITERATIONS]; /* the whole area, after each iteration */
};

/* The program with this state. */
mw_program program_of(struct job *job);

#endif
