/* A library that says that it was loaded, and brings a function for `actions.c`. */
#include <stdlib.h>

__attribute__((constructor)) static void say(void) { setenv("LOADED_LIBRARY", "1", 1); }

int solve_by_library(int x) { return 3 * x; }
