#include "heat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

static const double RATE = 0.2;

enum { UP, DOWN, LEFT, RIGHT, N_SIDES };

/* Rectangle of this rank. */
static block own_block(const heat *plate, MPI_Comm comm)
{
    int rank, n_ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    if (n_ranks > plate->n_rows || n_ranks > plate->n_columns)
        refuse("there are more ranks than rows or columns; take a larger plate, or fewer ranks");
    return block_of(plate->n_rows, plate->n_columns, rank, n_ranks);
}

static double *room(double *old, long n_cells)
{
    double *cells = realloc(old, (size_t)n_cells * sizeof *cells);
    if (cells == NULL)
        refuse("there is not enough memory; take a smaller plate, or more nodes");
    return cells;
}

void heat_begin(heat *plate, MPI_Comm comm)
{
    block own = own_block(plate, comm);
    plate->cells = room(plate->cells, own.n_rows * own.n_columns);
    double radius = (double)(plate->n_rows + plate->n_columns) / 8;
    for (long row = 0; row < own.n_rows; row++)
        for (long column = 0; column < own.n_columns; column++) {
            double down = (double)(own.first_row + row - plate->n_rows / 3) / radius;
            double right = (double)(own.first_column + column - plate->n_columns / 2) / radius;
            double warmth = 1 - down * down - right * right;
            plate->cells[row * own.n_columns + column] = warmth > 0 ? warmth : 0;
        }
}

/* Receives the cells around the rectangle; outside of the plate they are 0. */
static void exchange(double *before, const block *own, MPI_Comm comm)
{
    long width = own->n_columns + 2;
    double *first = before + width + 1, *last = before + own->n_rows * width + 1;
    double *right = first + own->n_columns - 1;
    double *from[N_SIDES] = {first, last, first, right};
    double *to[N_SIDES] = {first - width, last + width, first - 1, right + 1};
    int peers[N_SIDES] = {block_neighbor(own, -1, 0), block_neighbor(own, 1, 0),
                          block_neighbor(own, 0, -1), block_neighbor(own, 0, 1)};
    static const int opposite[N_SIDES] = {DOWN, UP, RIGHT, LEFT};
    MPI_Datatype column;
    MPI_Request requests[2 * N_SIDES];
    MPI_Status statuses[2 * N_SIDES];
    MPI_Type_vector((int)own->n_rows, 1, (int)width, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int side = 0; side < N_SIDES; side++) {
        MPI_Datatype line = side == UP || side == DOWN ? MPI_DOUBLE : column;
        int n = side == UP || side == DOWN ? (int)own->n_columns : 1;
        MPI_Irecv(to[side], n, line, peers[side], opposite[side], comm, &requests[2 * side]);
        MPI_Isend(from[side], n, line, peers[side], side, comm, &requests[2 * side + 1]);
    }
    MPI_Waitall(2 * N_SIDES, requests, statuses);
    MPI_Type_free(&column);
}

void heat_step(heat *plate, MPI_Comm comm)
{
    block own = own_block(plate, comm);
    long width = own.n_columns + 2, n_before = (own.n_rows + 2) * width;
    plate->before = room(plate->before, n_before);
    memset(plate->before, 0, (size_t)n_before * sizeof(double));
    for (long row = 0; row < own.n_rows; row++)
        memcpy(plate->before + (row + 1) * width + 1, plate->cells + row * own.n_columns,
               (size_t)own.n_columns * sizeof(double));
    exchange(plate->before, &own, comm);
    for (long row = 0; row < own.n_rows; row++) {
        const double *at = plate->before + (row + 1) * width + 1;
        double *after = plate->cells + row * own.n_columns;
        for (long column = 0; column < own.n_columns; column++, at++)
            after[column] = at[0] + RATE * ((at[-width] + at[width]) + (at[-1] + at[1]) - 4 * at[0]);
    }
    plate->step++;
}

/* Sum of a hash (SplitMix64) of each cell with its position: it does not depend on the distribution over ranks. */
static uint64_t digest_of(const heat *plate, MPI_Comm comm)
{
    block own = own_block(plate, comm);
    uint64_t sum = 0, all;
    for (long row = 0; row < own.n_rows; row++)
        for (long column = 0; column < own.n_columns; column++) {
            uint64_t place = (uint64_t)((own.first_row + row) * plate->n_columns + own.first_column + column);
            uint64_t mixed;
            memcpy(&mixed, &plate->cells[row * own.n_columns + column], sizeof mixed);
            mixed += (place + 1) * 0x9e3779b97f4a7c15u;
            mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
            mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
            sum += mixed ^ mixed >> 31;
        }
    MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, comm);
    return all;
}

static double warmest_of(const heat *plate, MPI_Comm comm)
{
    block own = own_block(plate, comm);
    double warmest = 0, all;
    for (long cell = 0; cell < own.n_rows * own.n_columns; cell++)
        if (plate->cells[cell] > warmest)
            warmest = plate->cells[cell];
    MPI_Allreduce(&warmest, &all, 1, MPI_DOUBLE, MPI_MAX, comm);
    return all;
}

void heat_tell(const heat *plate, MPI_Comm comm)
{
    int rank, n_ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    double warmest = warmest_of(plate, comm);
    uint64_t digest = digest_of(plate, comm);
    if (rank == 0)
        printf("stencil: %ld x %ld cells, %" PRIu64 " steps, %d ranks; warmest %.17g, digest %016" PRIx64 "\n",
               plate->n_rows, plate->n_columns, plate->step, n_ranks, warmest, digest);
}

/* Copies a rank's rectangle of gray values into the picture. */
static void put(unsigned char *picture, const heat *plate, const unsigned char *grays, block part)
{
    for (long row = 0; row < part.n_rows; row++)
        memcpy(picture + (part.first_row + row) * plate->n_columns + part.first_column,
               grays + row * part.n_columns, (size_t)part.n_columns);
}

static void write_picture(const heat *plate, const char *path, const unsigned char *picture)
{
    size_t n_cells = (size_t)(plate->n_rows * plate->n_columns);
    FILE *file = fopen(path, "wb");
    int is_written = file != NULL &&
                     fprintf(file, "P5\n%ld %ld\n255\n", plate->n_columns, plate->n_rows) > 0 &&
                     fwrite(picture, 1, n_cells, file) == n_cells;
    if (file == NULL || fclose(file) != 0 || !is_written)
        refuse("the picture cannot be written; name a file in a folder that has room");
}

void heat_picture(const heat *plate, const char *path, MPI_Comm comm)
{
    int rank, n_ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    block own = own_block(plate, comm);
    long n_own = own.n_rows * own.n_columns;
    double warmest = warmest_of(plate, comm);
    /* The first rank has room for the picture and, behind it, for a rectangle. */
    long n_all = plate->n_rows * plate->n_columns;
    unsigned char *picture = malloc((size_t)(rank == 0 ? 2 * n_all : n_own));
    if (picture == NULL)
        refuse("there is not enough memory for a picture; leave it out");
    unsigned char *grays = rank == 0 ? picture + n_all : picture;
    for (long cell = 0; cell < n_own; cell++)
        grays[cell] = (unsigned char)(warmest > 0 ? 255 * (plate->cells[cell] / warmest) : 0);
    if (rank != 0) {
        MPI_Send(grays, (int)n_own, MPI_UNSIGNED_CHAR, 0, 0, comm);
    } else {
        put(picture, plate, grays, own);
        for (int from = 1; from < n_ranks; from++) {
            block part = block_of(plate->n_rows, plate->n_columns, from, n_ranks);
            MPI_Recv(grays, (int)(part.n_rows * part.n_columns), MPI_UNSIGNED_CHAR, from, 0, comm,
                     MPI_STATUS_IGNORE);
            put(picture, plate, grays, part);
        }
        write_picture(plate, path, picture);
    }
    free(picture);
}

void heat_end(heat *plate)
{
    free(plate->cells);
    free(plate->before);
}
