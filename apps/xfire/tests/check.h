/* Helpers shared by the unit tests. */
#ifndef XFIRE_CHECK_H
#define XFIRE_CHECK_H

#include <math.h>
#include <stdio.h>

static int n_checks, n_failed;

/* Compares with a relative tolerance. */
static inline void check_near(const char *what, double found, double expected, double tolerance)
{
    n_checks++;
    if (fabs(found - expected) <= tolerance * fabs(expected))
        return;
    n_failed++;
    printf("FAILED %s: %.15g, expected %.15g within %g\n", what, found, expected, tolerance);
}

static inline void check_true(const char *what, int is_true)
{
    n_checks++;
    if (is_true)
        return;
    n_failed++;
    printf("FAILED %s\n", what);
}

static inline int check_report(const char *name)
{
    printf("%s: %d checks, %d failed\n", name, n_checks, n_failed);
    return n_failed > 0;
}

#endif
