/* A second file, or a library, with names that also occur in the first one. */
#include "lookup.h"

struct shape { int sides; double area; } shape = {4, 2.0};
int shared_factor = 2;
static int kept = 5;

static __attribute__((noinline)) int narrow(int n) {
    __asm__ volatile("" : "+r"(n)::"memory");
    return n + kept;
}

int other(int n) {
    if (n > 2)
        kept = n;
    return narrow(n) + shape.sides;
}
