/* Arguments, memory and error messages, shared by the programs of this folder. */
#ifndef MATMUL_START_H
#define MATMUL_START_H

#include <stddef.h>

enum { MASTER = 0, DIMENSION_MAX = 20000 };

/* Parses a number from 1 to `most`; ends all ranks with an error message if `word` is none. */
int number(const char *word, const char *name, int most);

/* Ends all ranks with exit code 2, after an error message from the master. */
void refuse(const char *sentence);

/* Sleeps. */
void idle(double seconds);

/* Returns `room`; ends all ranks if it is NULL. */
double *require_memory(double *room);

#endif
