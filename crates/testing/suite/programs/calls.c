/* Calls that probes find hard between MPI calls: recursion, tail calls, pointers, long jumps, structures by
 * value, signal handlers, a thread that is canceled. Says at its end how often all ranks called what. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#define N_ROUNDS 12
#define KEPT __attribute__((noinline, noclone))

struct large {
    long words[6];
};

static long n_fibonacci, n_leaf, n_tail, n_odd, n_even, n_wide, n_by_value, n_deep, n_jumps, n_mix;
static long n_handle, n_in_handler, n_work, n_wait_forever, n_step;
static volatile sig_atomic_t n_caught;
static int rank;
static jmp_buf place;
static sem_t waits, never;

KEPT int fibonacci(int n)
{
    n_fibonacci++;
    return n < 2 ? n : (fibonacci(n - 1) ^ fibonacci(n - 2)) + n; /* a mere sum would become a loop */
}

KEPT int leaf(int x)
{
    n_leaf++;
    return 3 * x + 1;
}

KEPT int tail(int x)
{
    n_tail++;
    return leaf(x + 1);
}

KEPT int even(int n);

KEPT int odd(int n)
{
    n_odd++;
    return n == 0 ? 0 : even(n - 1);
}

KEPT int even(int n)
{
    n_even++;
    return n == 0 ? 1 : odd(n - 1);
}

KEPT long double wide(long double x)
{
    n_wide++;
    return x * 1.25L;
}

KEPT struct large by_value(struct large large)
{
    n_by_value++;
    large.words[rank % 6] += large.words[5];
    return large;
}

KEPT double mix(int a, double b, long c, float d, int e, int f, int g, int h, short i)
{
    n_mix++;
    return a + b * c + d - e * f + g * h - i;
}

KEPT void deep(int n)
{
    n_deep++;
    if (n == 0)
        longjmp(place, 1);
    deep(n - 1);
    n_deep += 1000; /* never reached; keeps the call from being a jump */
}

KEPT int jumps(void)
{
    n_jumps++;
    if (setjmp(place) == 0)
        deep(4);
    return 5;
}

KEPT int in_handler(int x)
{
    n_in_handler++;
    return x + 1;
}

KEPT void handle(int signal)
{
    n_handle++;
    n_caught = in_handler(n_caught) + 0 * signal;
}

KEPT void wait_forever(void)
{
    n_wait_forever++;
    sem_post(&waits);
    sem_wait(&never);
    n_wait_forever += 1000;
}

KEPT void *work(void *unused)
{
    n_work++;
    wait_forever();
    return unused;
}

KEPT double step(double share)
{
    n_step++;
    double own = share * (rank + 1), sum;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static void say(const char *name, long n_own)
{
    long n;
    MPI_Reduce(&n_own, &n, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("called %ld %s\n", n, name);
}
#define SAY(function) say(#function, n_##function)

static void cancel_one(void)
{
    pthread_t thread;
    void *result;
    sem_init(&waits, 0, 0);
    sem_init(&never, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    sem_wait(&waits);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    if (rank == 0)
        printf("canceled %d\n", result == PTHREAD_CANCELED);
}

static void say_all(void)
{
    SAY(fibonacci);
    SAY(leaf);
    SAY(tail);
    SAY(odd);
    SAY(even);
    SAY(wide);
    SAY(by_value);
    SAY(mix);
    SAY(deep);
    SAY(jumps);
    SAY(handle);
    SAY(in_handler);
    SAY(work);
    SAY(wait_forever);
    SAY(step);
}

int main(int argc, char **argv)
{
    int (*volatile pointed)(int) = leaf;
    struct sigaction action = {.sa_handler = handle};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sigaction(SIGUSR1, &action, NULL);
    for (int round = 1; round <= N_ROUNDS; round++) {
        struct large large = by_value((struct large){{round, 2, 3, 4, 5, 6}});
        double sum = step(large.words[0] * 0.1) + mix(round, 2.5, 3, 4.5f, 5, 6, 7, 8, 9);
        int whole = fibonacci(7) + tail(round) + pointed(round) + odd(round) + jumps();
        raise(SIGUSR1);
        if (rank == 0)
            printf("%d %a %d %La\n", round, sum, whole, wide(sum));
    }
    cancel_one();
    say_all();
    fflush(stdout); /* a launcher may end a rank when another has ended with an error */
    MPI_Finalize();
    return rank == 0 ? 3 : 0;
}
