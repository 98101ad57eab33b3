/*
 * Heat conduction in a plate, on ranks that hold rectangles of it.
 *
 * usage: mpirun -n 4 stencil ROWS COLUMNS STEPS [PICTURE.pgm]
 */
#include <mpi.h>
#include <stddef.h>

#include "heat.h"
#include "words.h"

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
    heat_tell(&plate, comm);
    if (argc > 4)
        heat_picture(&plate, argv[4], comm);
    MPI_Finalize();
    heat_end(&plate);
    return 0;
}
