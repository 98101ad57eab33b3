/*
 * Heat conduction in a plate, on ranks that hold rectangles of it and whose number may change.
 *
 * usage: mpirun -n 4 stencil_malleable ROWS COLUMNS STEPS [PICTURE.pgm] [--schedule STEP:RANKS,...] [--explain]
 */
#include <malleable.h>
#include <mpi.h>
#include <stddef.h>

#include "heat.h"
#include "words.h"

int main(int argc, char **argv)
{
    heat plate = {0};
    malleable_share share;
    malleable *m = malleable_begin(&argc, &argv);
    if (m == NULL)
        return refuse(malleable_message());
    MPI_Comm comm = malleable_comm(m);
    plate.n_rows = number(argv[1]);
    plate.n_columns = number(argc > 2 ? argv[2] : NULL);
    uint64_t n_steps = (uint64_t)number(argc > 3 ? argv[3] : NULL);
    malleable_rows_of(m, plate.n_rows * plate.n_columns, MALLEABLE_BLOCKS_2D, plate.n_columns, &share);
    malleable_rows(m, "cells", &plate.cells, sizeof *plate.cells);
    if (!malleable_is_new(m))
        heat_begin(&plate, comm);
    while (plate.step < n_steps) {
        int code = malleable_resize_point(m, &plate.step);
        if (code >= MALLEABLE_LEFT)
            return code == MALLEABLE_LEFT ? malleable_end(m) : refuse(malleable_message());
        comm = malleable_comm(m);
        heat_step(&plate, comm);
    }
    heat_tell(&plate, comm);
    if (argc > 4)
        heat_picture(&plate, argv[4], comm);
    malleable_end(m);
    heat_end(&plate);
    return 0;
}
