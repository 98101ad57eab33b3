/* Repeats one computation until a file is there, to be joined and left meanwhile; with OpenMP if built so.
 *
 *     joined FILE
 *
 * Rank 0 prints "ready", and in the end how many rounds came to something wrong, what a round comes to, and
 * the variable `factor`, which nothing in the program changes. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#define N 20000

double factor = 1.0;

__attribute__((noinline)) long step(int round)
{
    long sum = round & 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2)
    for (int i = 0; i < N; i++)
        sum += (long)i * i % 7;
    return sum;
}

int main(int argc, char **argv)
{
    int rank, n_ranks, is_there = 0, n_wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    long expected = step(0);
    if (rank == 0) {
        puts("ready");
        fflush(stdout);
    }
    for (int round = 1; !is_there; round++) {
        long result = step(round), sum = 0;
        MPI_Allreduce(&result, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        n_wrong += sum != n_ranks * expected;
        is_there = rank == 0 && access(argv[1], F_OK) == 0;
        MPI_Bcast(&is_there, 1, MPI_INT, 0, MPI_COMM_WORLD);
        usleep(500);
    }
    if (rank == 0)
        printf("%d wrong, %ld, factor %g\n", n_wrong, expected, factor);
    MPI_Finalize();
    return 0;
}
