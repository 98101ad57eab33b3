/* Calls of many kinds: recursion, tail calls, long jumps, large and small arguments, pointers. */
#include <setjmp.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone))

int chunk = 4;
float ratio = 0.25f;
static jmp_buf place;

struct large {
    long words[6];
};

NOINLINE int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
NOINLINE double mix(int a, double b, long c, float d, int e, int f, int g, int h, short i) {
    return a + b * c + d - e * f + g * h - i;
}
NOINLINE int leaf(int x) { return x * 3 + 1; }
NOINLINE int tail(int x) { return leaf(x + 1); }
NOINLINE void empty(void) { __asm__ volatile(""); }
NOINLINE long double wide(long double a) { return a * 2; }
NOINLINE struct large by_value(struct large b) {
    b.words[0] += b.words[5];
    return b;
}
NOINLINE void deep(int n) {
    if (!n)
        longjmp(place, 1);
    deep(n - 1);
    empty();
}
NOINLINE int step(int k) { return chunk * k; }
NOINLINE int other_step(int k) { return 1000 + k; }
NOINLINE double answer(void) { return chunk + ratio; }
NOINLINE float half(float x) { return x / 2; }
/* Pointer arguments; the third is in a register that probes use themselves. */
NOINLINE double led_to(const int *a, const float *b, const double *c, int d, int e, int f, const short *g) {
    return (a ? *a : 0) + *b + *c + d + e + f + *g;
}
int (*pointer)(int) = leaf;

/* Values kept in registers across calls of functions that do not touch these registers. */
NOINLINE static int kept(int x) { return x & 3; }
NOINLINE int hoisted(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += kept(i) * chunk;
    return sum;
}

int main(void) {
    printf("%d %g %d %d\n", fibonacci(15), mix(1, 2.5, 3, 4.5f, 5, 6, 7, 8, 9), leaf(3), tail(4));
    for (int i = 0; i < 10; i++)
        empty();
    struct large large = {{1, 2, 3, 4, 5, 6}};
    printf("%Lg %ld\n", wide(3.25L), by_value(large).words[0]);
    if (!setjmp(place))
        deep(5);
    else
        puts("back");
    for (int i = 1; i <= 4; i++)
        printf("%d ", step(i) + pointer(i));
    printf("\n%d %g %g\n", hoisted(1000), half(3), answer());
    const int a = -7;
    const float b = 2.5f;
    const double c = 0.75;
    const short g = 300;
    printf("%g %g\n", led_to(&a, &b, &c, 1, 2, 3, &g), led_to(0, &b, &c, 1, 2, 3, &g));
    return 0;
}
