/* What `lookup.c` has of other files. */
extern int shared_factor;
int other(int n);
