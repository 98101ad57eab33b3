/* Loops that read a variable before, in, and around the call at which it is to be set. */
#include <stdio.h>
#include <stdlib.h>

static int kept = 4;
static int read_again = 4;
volatile int watched = 4;
int shown = 4;
static int passed[3] = {1, 2, 3};

/* The compiler knows that this function changes no variable. */
__attribute__((noinline)) static void sync_point(int n) { __asm__ volatile("" : : "r"(n)); }
__attribute__((noinline)) void opaque(int n) {
    printf("%d %d\n", n, shown);
    if (n < 0)
        kept = read_again = n;
}

__attribute__((noinline)) int loop(int n) {
    int sum = kept * read_again;
    for (int i = 0; i < n; i++) {
        sync_point(sum);
        sum += kept * i + watched;
    }
    return sum + watched;
}

__attribute__((noinline)) int outer(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        opaque(i);
        sum += read_again;
        passed[i % 3] += sum;
        shown = sum;
    }
    return sum;
}

int main(int argc, char **argv) {
    (void)argv;
    return loop(argc) + outer(argc) == -1;
}
