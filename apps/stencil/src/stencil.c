/*
 * Heat that spreads in a plate, on ranks that hold rectangles of it.
 *
 * usage: mpirun -n 4 stencil ROWS COLUMNS STEPS [PICTURE.pgm]
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "heat.h"

/* The number from 1 to a million that a word is. */
static long number(const char *word)
{
    char *end = NULL;
    long parsed = word == NULL ? 0 : strtol(word, &end, 10);
    if (parsed < 1 || parsed > 1000000 || *end != '\0')
        refuse("write `stencil ROWS COLUMNS STEPS [PICTURE.pgm]` with numbers from 1 to 1000000");
    return parsed;
}

/* What the first rank says at the end. */
static void tell(const heat *plate, MPI_Comm comm)
{
    int rank, n_ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    double warmest = heat_warmest(plate, comm);
    uint64_t digest = heat_digest(plate, comm);
    if (rank == 0)
        printf("stencil: %ld x %ld cells, %" PRIu64 " steps, %d ranks; warmest %.17g, digest %016" PRIx64 "\n",
               plate->n_rows, plate->n_columns, plate->step, n_ranks, warmest, digest);
}

int main(int argc, char **argv)
{
    heat plate = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_WORLD;
    plate.n_rows = number(argv[1]);
    plate.n_columns = number(argc > 2 ? argv[2] : NULL);
    uint64_t n_steps = (uint64_t)number(argc > 3 ? argv[3] : NULL);
    heat_begin(&plate, comm);
    while (plate.step < n_steps) {
        heat_step(&plate, comm);
    }
    tell(&plate, comm);
    if (argc > 4)
        heat_picture(&plate, argv[4], comm);
    heat_end(&plate);
    MPI_Finalize();
    return 0;
}
