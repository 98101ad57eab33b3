/* What all programs of this folder begin and end with: arguments, memory, and a sentence when one is wrong. */
#ifndef MATMUL_START_H
#define MATMUL_START_H

#include <stddef.h>

enum { MASTER = 0, DIMENSION_MAX = 20000 };

/* The number from 1 to `most` that `word` is; ends all ranks with a sentence when it is none. */
int number(const char *word, const char *name, int most);

/* Ends all ranks: a sentence from the master, and exit code 2. */
void refuse(const char *sentence);

/* Lets time pass, asleep. */
void idle(double seconds);

/* The memory that was asked for; ends all ranks when it is not there. */
double *there(double *room);

#endif
