/* Broadcasts configuration and landscape from the master; see share.h. */
#include "share.h"

#include <mpi.h>
#include <stdlib.h>

#include "errors.h"

static const int MASTER = 0;

/* Collective: the largest exit code of all ranks. */
static int agree(int code)
{
    int worst = code;
    MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return worst;
}

/* Allocates the values of a grid on a worker that has just received its header. */
static int make_room(int rank, struct grid *grid)
{
    if (rank == MASTER || grid->values == NULL)
        return XFIRE_OK;
    return grid_alloc_like(grid, 0.0f, grid);
}

static void share_values(struct grid *grid)
{
    if (grid->values != NULL)
        MPI_Bcast(grid->values, (int)grid_size(grid), MPI_FLOAT, MASTER, MPI_COMM_WORLD);
}

static int make_room_for_wind(int rank, struct wind *wind)
{
    if (rank == MASTER)
        return XFIRE_OK;
    wind->records = malloc((size_t)wind->n_records * sizeof *wind->records);
    return wind->records != NULL ? XFIRE_OK : xfire_error(XFIRE_LIMIT, "no memory for the wind");
}

/* The headers first; the master's pointers in them only tell which grids exist. */
static int share_landscape(int rank, struct landscape *land)
{
    MPI_Bcast(land, (int)sizeof *land, MPI_BYTE, MASTER, MPI_COMM_WORLD);
    struct grid *grids[] = {&land->fuel, &land->terrain, &land->gradient_x, &land->gradient_y};
    int code = make_room_for_wind(rank, &land->wind);
    for (int i = 0; i < 4; i++) {
        int code_of_grid = make_room(rank, grids[i]);
        code = code_of_grid > code ? code_of_grid : code;
    }
    code = agree(code);
    if (code != XFIRE_OK)
        return code;
    for (int i = 0; i < 4; i++)
        share_values(grids[i]);
    MPI_Bcast(land->wind.records, land->wind.n_records * (int)sizeof *land->wind.records, MPI_BYTE,
              MASTER, MPI_COMM_WORLD);
    return XFIRE_OK;
}

int share_setup(int rank, int code_of_master, struct config *config, struct landscape *land)
{
    int code = code_of_master;
    MPI_Bcast(&code, 1, MPI_INT, MASTER, MPI_COMM_WORLD);
    if (code != XFIRE_OK)
        return code;
    MPI_Bcast(config, (int)sizeof *config, MPI_BYTE, MASTER, MPI_COMM_WORLD);
    return config->is_help || config->is_serial ? XFIRE_OK : share_landscape(rank, land);
}
