/* The program, for those who run it. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "structures.h"
#include <master_worker.h>

/* With this state, which begins as zeros. */
mw_program program_of(struct job *job);

#endif
