/* Everything that a tunlet may change, printed at every iteration: `actions N` makes N iterations.
 *
 * Rank 0 prints, for each number, the smallest and the largest of all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KEPT __attribute__((noipa))

struct grid {
    long rows;
    int columns;
} grid = {2, 3};
int level = 1;
volatile int reset = 5; /* the program sets it in every iteration */
volatile int pause_us = 5000;
static int seen_reset;
#ifdef OTHER
int other_build = 1;
#endif

KEPT int solve(int x) { return x + grid.columns - grid.columns; }
KEPT int solve_twice(int x) { return 2 * x; }
KEPT void retune(int to) { level = to; }
KEPT void pause_for(int us) { pause_us = us; }
KEPT void mark(void) { seen_reset = reset; }

/* Where everything is changed. */
KEPT void iterate(int iteration)
{
    mark();
    usleep(pause_us);
    int loaded = getenv("LOADED_LIBRARY") != NULL;
    int numbers[] = {grid.columns, level, seen_reset, solve(10), loaded, pause_us};
    enum { N = sizeof numbers / sizeof *numbers };
    int low[N], high[N], rank;
    MPI_Reduce(numbers, low, N, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(numbers, high, N, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        static const char *const names[N] = {"columns", "level", "reset", "solve", "loaded", "pause"};
        printf("%d", iteration);
        for (int i = 0; i < N; i++)
            printf(low[i] == high[i] ? " %s=%d" : " %s=%d..%d", names[i], low[i], high[i]);
        puts("");
    }
    reset = 5;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Init(&argc, &argv);
    for (int i = 1; i <= n; i++) {
        iterate(i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
