/* Functions and variables in the ways in which C programs have them. */
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include "lookup.h"

int chunk = 4;
double share = 0.5;
volatile int watched = 1;
static int folded = 4;
static int kept = 3;
const double limit = 2.5;
__thread int mine = 7;
int *where = &chunk;
long double precise = 1;
enum mode { SLOW, FAST } mode = FAST;
uint8_t small = 1;
struct grid {
    int rows;
    struct { double dx, dy; } step[3];
    union { int as_int; float as_float; };
    unsigned flag : 3;
    int *data;
} grid = {.rows = 10};
float table[4][5];

struct pair { double a, b; };
struct mixed { double a; long b; };
struct large { long a[4]; };

static inline __attribute__((always_inline)) int tiny(int n) { return n * chunk + watched; }

__attribute__((noinline)) int work(int n, double x, long *data, struct pair p, float y,
                                   struct mixed m, struct large l, char c, enum mode how) {
    return tiny(n) + (int)(x + p.a + y + m.a + l.a[0]) + (int)data[0] + c + how + grid.rows;
}

__attribute__((noinline)) struct large make(int n, long double z, unsigned short s) {
    struct large l = {{n, (long)z, s}};
    return l;
}

__attribute__((noinline)) double many(int a, int b, int c, int d, int e, int f, int g, double h,
                                      double _Complex i, int j) {
    return a + b + c + d + e + f + g + h + creal(i) + j;
}

static __attribute__((noinline)) int narrow(int n, int factor) {
    for (int i = 0; i < n; i++)
        printf("%d\n", i * factor);
    return n;
}

int easy(int n) { return n + folded + watched; }

__attribute__((noinline)) int rounds(void) {
    static int count = 0;
    return ++count;
}

void sync_point(void) {
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv) {
    long data[2] = {argc, 2};
    struct pair p = {1, 2};
    struct mixed m = {1, 2};
    struct large l = make(argc, 1, 3);
    if (argc > 1)
        kept = argc;
    int sum = work(argc, share, data, p, 1.0f, m, l, 'c', mode) + tiny(argc) + easy(argc);
    sum += narrow(argc, 3) + narrow(argc + 1, 3) + rounds() + other(argc) + kept + mine;
    sum += (int)many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + (int)precise + *where + small;
    sum += (int)table[1][2] + grid.as_int + (int)limit + shared_factor;
    sync_point();
    return sum == -1 ? argv[0][0] : 0;
}
