/* Parsing of arguments, and error messages. */
#ifndef STENCIL_WORDS_H
#define STENCIL_WORDS_H

/* Parses a number from 1 to a million; ends all ranks with an error message if `word` is none. */
long number(const char *word);

/* Prints an error message and ends all ranks with exit code 2; returns 2 where MPI has not begun. */
int refuse(const char *sentence);

#endif
