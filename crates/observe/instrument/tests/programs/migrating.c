/* A user-level thread that begins a function on one kernel thread and ends it on another, which has never
 * been in a function with probes; and one that is abandoned in the middle. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STACK_BYTES (1 << 18)

static ucontext_t fiber, carrier;
static int n_resumed;

NOINLINE int leave(int x) {
    swapcontext(&fiber, &carrier);
    n_resumed++;
    return x + 1;
}
NOINLINE int begins_here(int n) { return n == 0 ? leave(5) : begins_here(n - 1) ^ n; }
static void run(void) { printf("%d\n", begins_here(4)); }

static void start(void (*body)(void)) {
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = malloc(STACK_BYTES);
    fiber.uc_stack.ss_size = STACK_BYTES;
    fiber.uc_link = &carrier;
    makecontext(&fiber, body, 0);
    swapcontext(&carrier, &fiber);
}

static void *resume(void *unused) {
    swapcontext(&carrier, &fiber);
    return unused;
}

int main(void) {
    pthread_t thread;
    start(run);
    puts("left");
    pthread_create(&thread, NULL, resume, NULL);
    pthread_join(thread, NULL);
    start(run);
    printf("resumed %d\n", n_resumed);
    return 0;
}
