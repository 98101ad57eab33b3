/* Probed functions in a signal handler that interrupts probed functions. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile sig_atomic_t n_ticks;

NOINLINE int in_handler(int x) { return x + 1; }
NOINLINE int outside(int x) { return x * 3 + 1; }
NOINLINE int nested(int n) { return n ? nested(n - 1) + outside(n) : 0; }

static void tick(int signal) { n_ticks = in_handler(n_ticks) + 0 * signal; }

int main(void) {
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &timer, NULL);
    long sum = 0;
    for (int round = 0; round < 400 || n_ticks < 100; round++)
        if (round < 400)
            sum += nested(200);
    printf("%ld\n", sum);
    return 0;
}
