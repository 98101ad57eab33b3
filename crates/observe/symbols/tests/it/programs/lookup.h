/* Declarations that `lookup.c` needs from other files. */
extern int shared_factor;
int other(int n);
