/* What is typed behind the program's name, and what is said about it. */
#ifndef STENCIL_WORDS_H
#define STENCIL_WORDS_H

/* The number from 1 to a million that a word is; ends all ranks with a sentence when it is none. */
long number(const char *word);

/* Ends all ranks: a sentence, and exit code 2, which it would return. */
int refuse(const char *sentence);

#endif
