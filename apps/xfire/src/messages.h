/* Messages between master and workers. */
#ifndef XFIRE_MESSAGES_H
#define XFIRE_MESSAGES_H

enum tag { TAG_WORK = 1, TAG_WORK_POINTS, TAG_RESULT, TAG_RESULT_POINTS };

/* Broadcast when an iteration starts, as doubles. With 0 workers the simulation is over. */
enum iteration_field {
    ITERATION_ID,
    ITERATION_N_WORKERS,
    ITERATION_TIME_MIN,
    ITERATION_STEP_MIN,
    N_ITERATION_FIELDS
};

/* Announces a section, as ints. 0 points: nothing is left for this worker in the iteration. */
enum section_field {
    SECTION_ITERATION,
    SECTION_BATCH,
    SECTION_FIRST,
    SECTION_N_POINTS,
    N_SECTION_FIELDS
};

enum { DOUBLES_PER_POINT = 2 };

#endif
