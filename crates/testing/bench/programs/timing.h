/* Clocks, and the fastest and the median of several measurements. */
#ifndef TIMING_H
#define TIMING_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static inline int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (right < left) - (left < right);
}

/* A line: name, fastest and median batch. */
static inline void print_case(const char *name, double *ns, int n_batches) {
    qsort(ns, (size_t)n_batches, sizeof *ns, by_value);
    printf("%s %.3f %.3f\n", name, ns[0], ns[n_batches / 2]);
}
#endif
