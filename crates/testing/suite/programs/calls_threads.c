/* OpenMP threads that pass the same functions and call MPI, all at the same time (MPI_THREAD_MULTIPLE).
 * Says at its end how often all ranks called what. */
#include <mpi.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>

#define N_THREADS 3
#define N_ROUNDS 20
#define KEPT __attribute__((noinline, noclone))

static atomic_long n_own_part, n_exchange, n_weight;
static int rank, size;

KEPT double weight(int i)
{
    atomic_fetch_add(&n_weight, 1);
    return i % 7 * 0.125;
}

KEPT double own_part(int thread, int round)
{
    atomic_fetch_add(&n_own_part, 1);
    double sum = 0;
    for (int i = 0; i < 25; i++)
        sum += weight(i + thread) * (round + 1);
    return sum;
}

KEPT double exchange(double own, int thread)
{
    double received;
    atomic_fetch_add(&n_exchange, 1);
    MPI_Sendrecv(&own, 1, MPI_DOUBLE, (rank + 1) % size, thread, &received, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return received;
}

static void say(const char *name, long n_own)
{
    long n;
    MPI_Reduce(&n_own, &n, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("called %ld %s\n", n, name);
}

int main(int argc, char **argv)
{
    int provided;
    double totals[N_THREADS] = {0}, all[N_THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 2);
#pragma omp parallel num_threads(N_THREADS)
    {
        int thread = omp_get_thread_num();
        for (int round = 0; round < N_ROUNDS; round++)
            totals[thread] += exchange(own_part(thread, round) + rank, thread);
    }
    MPI_Reduce(totals, all, N_THREADS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int thread = 0; thread < N_THREADS && rank == 0; thread++)
        printf("%d %a\n", thread, all[thread]);
    say("own_part", n_own_part);
    say("exchange", n_exchange);
    say("weight", n_weight);
    fflush(stdout);
    MPI_Finalize();
    return rank == 0 ? 6 : 0;
}
