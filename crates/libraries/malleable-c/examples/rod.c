/* Heat spreads along a rod, on a number of ranks that may change meanwhile.
 *
 *   mpicc -std=c99 rod.c -lsintonia_malleable -o rod
 *   mpirun -n 2 ./rod --schedule 100:4,200:1 --explain
 */
#include <malleable.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CELLS = 1000, N_ITERATIONS = 300 };

/* Cells of a rank, and their values before the step. */
struct rod {
    double *heat, *before;
    malleable_share share;
};

static void begin(struct rod *rod)
{
    rod->heat = calloc((size_t)rod->share.n_rows, sizeof *rod->heat);
    if (rod->share.first == 0)
        rod->heat[0] = 100.0;
}

/* Fetches one cell of each neighbor into the ends of `before`; beyond the rod it is as warm as at its end. */
static void exchange(struct rod *rod, MPI_Comm comm)
{
    int rank, size, n = (int)rod->share.n_rows;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    double *cells = rod->before + 1;
    cells[-1] = cells[0];
    cells[n] = cells[n - 1];
    MPI_Sendrecv(&cells[0], 1, MPI_DOUBLE, left, 0, &cells[n], 1, MPI_DOUBLE, right, 0, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&cells[n - 1], 1, MPI_DOUBLE, right, 1, &cells[-1], 1, MPI_DOUBLE, left, 1, comm, MPI_STATUS_IGNORE);
}

static void step(struct rod *rod, MPI_Comm comm)
{
    size_t n = (size_t)rod->share.n_rows;
    rod->before = realloc(rod->before, (n + 2) * sizeof *rod->before);
    memcpy(rod->before + 1, rod->heat, n * sizeof *rod->heat);
    exchange(rod, comm);
    for (size_t i = 0; i < n; i++)
        rod->heat[i] = (rod->before[i] + rod->before[i + 1] + rod->before[i + 2]) / 3.0;
}

/* Prints a digest; a sum of integers does not depend on the order of adding. */
static void tell(const struct rod *rod, MPI_Comm comm)
{
    int rank, size;
    uint64_t sum = 0, all = 0;
    for (uint64_t i = 0; i < rod->share.n_rows; i++) {
        uint64_t bits;
        memcpy(&bits, &rod->heat[i], sizeof bits);
        sum += bits * (2 * (rod->share.first + i) + 1);
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, comm);
    if (rank == 0)
        printf("digest %016llx on %d ranks\n", (unsigned long long)all, size);
}

int main(int argc, char **argv)
{
    struct rod rod = {0};
    int code = MALLEABLE_CONTINUE;
    malleable *m = malleable_begin(&argc, &argv);
    if (m == NULL)
        return fprintf(stderr, "rod: %s\n", malleable_message()), 1;
    malleable_rows_of(m, N_CELLS, MALLEABLE_EVEN, 0, &rod.share);
    malleable_rows(m, "heat", &rod.heat, sizeof *rod.heat);
    if (!malleable_is_new(m))
        begin(&rod);
    for (uint64_t i = 0; i < N_ITERATIONS; i++) {
        code = malleable_resize_point(m, &i);
        if (code != MALLEABLE_CONTINUE && code != MALLEABLE_RESIZED)
            break;
        step(&rod, malleable_comm(m));
    }
    if (code > MALLEABLE_LEFT)
        return fprintf(stderr, "rod: %s\n", malleable_message()), 1;
    if (code != MALLEABLE_LEFT)
        tell(&rod, malleable_comm(m));
    free(rod.before);
    code = malleable_end(m);
    free(rod.heat);
    return code;
}
