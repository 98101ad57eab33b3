/* Every kind of data and partition, with contents that encode their positions, which each iteration checks.
 *
 *   kinds [--schedule ...]     exits with 1 on an error
 */
#include <malleable.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS = 1000, N_COLUMNS = 40, N_ITERATIONS = 60 };

/* Planes, rows and columns of a body. */
static const uint64_t EXTENTS[3] = {8, 5, 25};

/* Rows, and an element for each of them. */
struct part {
    malleable_share share;
    uint64_t *numbers;
};

struct all {
    uint64_t n_rows;
    double sum;
    struct part even, cyclic, plate, body, given;
    struct {
        malleable_share share;
        uint32_t *lengths;
        uint64_t *columns;
        double *values;
    } matrix;
    /* Particles of cells, whose numbers change; chains of links, which are packed. */
    struct {
        malleable_share share;
        uint32_t *crowds;
        double *particles;
        struct link **chains;
        uint64_t n_chains;
    } cells;
};

struct link {
    uint64_t row;
    struct link *next;
};

static int n_wrong;

static void expect(int is_right, const char *what, uint64_t at)
{
    if (!is_right && n_wrong++ < 5)
        fprintf(stderr, "wrong: %s at %llu\n", what, (unsigned long long)at);
}

/* Bounds that give a third of the rows to the first part, and the rest to the others. */
static void bounds(uint64_t n_rows, uint32_t n_parts, uint64_t *bounds, void *context)
{
    uint64_t first = n_parts == 1 ? n_rows : n_rows / *(uint64_t *)context;
    bounds[0] = 0;
    for (uint32_t part = 1; part <= n_parts; part++)
        bounds[part] = n_parts == 1 ? n_rows : first + (n_rows - first) * (part - 1) / (n_parts - 1);
}

/* Row at this position, where blocks of 7 rows are dealt round-robin. */
static uint64_t cyclic_row(uint64_t place, int rank, int size)
{
    return (place / 7 * (uint64_t)size + (uint64_t)rank) * 7 + place % 7;
}

static uint64_t *numbers(malleable_share share)
{
    uint64_t *numbers = malloc((size_t)share.n_rows * sizeof *numbers);
    for (uint64_t i = 0; i < share.n_rows; i++)
        numbers[i] = share.first + i;
    return numbers;
}

/* Number of the cell at this position in the block of a rank. */
static uint64_t body_cell(uint64_t place, int rank, int size)
{
    malleable_block block = {0};
    if (malleable_block_of(EXTENTS, (uint32_t)size, (uint32_t)rank, &block) != 0)
        return UINT64_MAX;
    uint64_t row = place / block.extents[2], column = block.first[2] + place % block.extents[2];
    uint64_t plane = block.first[0] + row / block.extents[1];
    return (plane * EXTENTS[1] + block.first[1] + row % block.extents[1]) * EXTENTS[2] + column;
}

static uint32_t length_of(uint64_t row)
{
    return (uint32_t)(row % 5);
}

/* Number of particles of a cell and links of its chain, before this iteration. */
static uint32_t crowd_of(uint64_t row, uint64_t iteration)
{
    return (uint32_t)((row + iteration) % 4);
}

/* Makes the cells of this rank as they are before this iteration. */
static void fill(struct all *all, uint64_t iteration)
{
    uint64_t first = all->cells.share.first, n_rows = all->cells.share.n_rows, at = 0;
    free(all->cells.crowds);
    free(all->cells.particles);
    all->cells.crowds = malloc(n_rows * sizeof(uint32_t) + 1);
    all->cells.particles = malloc(n_rows * 4 * sizeof(double) + 1);
    for (uint64_t i = 0; i < n_rows; i++) {
        all->cells.crowds[i] = crowd_of(first + i, iteration);
        for (uint32_t k = 0; k < all->cells.crowds[i]; k++)
            all->cells.particles[at++] = (double)(first + i) + k / 4.0;
    }
}

static void lengthen(struct link **chain, uint64_t row, uint32_t n)
{
    while (n-- > 0) {
        struct link *link = malloc(sizeof *link);
        link->row = row;
        link->next = *chain;
        *chain = link;
    }
}

static uint32_t cut_off(struct link **chain)
{
    uint32_t n = 0;
    for (struct link *link = *chain, *next; link != NULL; link = next, n++) {
        next = link->next;
        free(link);
    }
    *chain = NULL;
    return n;
}

/* Replaces all chains by empty ones for the cells of this rank. */
static void renew_chains(struct all *all)
{
    for (uint64_t i = 0; i < all->cells.n_chains; i++)
        cut_off(&all->cells.chains[i]);
    free(all->cells.chains);
    all->cells.n_chains = all->cells.share.n_rows;
    all->cells.chains = calloc((size_t)all->cells.n_chains + 1, sizeof *all->cells.chains);
}

static size_t pack(uint64_t row, void *bytes, void *context)
{
    const struct all *all = context;
    size_t n = 0;
    for (const struct link *link = all->cells.chains[row]; link != NULL; link = link->next, n++)
        if (bytes != NULL)
            memcpy((uint64_t *)bytes + n, &link->row, sizeof link->row);
    return n * sizeof(uint64_t);
}

static void unpack(uint64_t row, const void *bytes, size_t n_bytes, void *context)
{
    struct all *all = context;
    if (row == 0)
        renew_chains(all);
    for (size_t n = 0; n < n_bytes / sizeof(uint64_t); n++) {
        uint64_t number;
        memcpy(&number, (const uint64_t *)bytes + n, sizeof number);
        lengthen(&all->cells.chains[row], number, 1);
    }
}

static void check_cells(const struct all *all, uint64_t iteration)
{
    uint64_t at = 0, first = all->cells.share.first;
    for (uint64_t i = 0; i < all->cells.share.n_rows; i++) {
        uint32_t n = crowd_of(first + i, iteration), n_links = 0;
        expect(all->cells.crowds[i] == n, "crowd", first + i);
        for (uint32_t k = 0; k < n; k++)
            expect(all->cells.particles[at++] == (double)(first + i) + k / 4.0, "particle", first + i);
        for (const struct link *link = all->cells.chains[i]; link != NULL; link = link->next, n_links++)
            expect(link->row == first + i, "link", first + i);
        expect(n_links == n, "chain", first + i);
    }
}

static void begin(struct all *all, int rank, int size)
{
    fill(all, 0);
    renew_chains(all);
    for (uint64_t i = 0; i < all->cells.share.n_rows; i++)
        lengthen(&all->cells.chains[i], all->cells.share.first + i, crowd_of(all->cells.share.first + i, 0));
    all->n_rows = N_ROWS;
    all->even.numbers = numbers(all->even.share);
    all->given.numbers = numbers(all->given.share);
    all->cyclic.numbers = numbers(all->cyclic.share);
    for (uint64_t i = 0; i < all->cyclic.share.n_rows; i++)
        all->cyclic.numbers[i] = cyclic_row(i, rank, size);
    all->plate.numbers = numbers(all->plate.share);
    all->body.numbers = numbers(all->body.share);
    for (uint64_t i = 0; i < all->body.share.n_rows; i++)
        all->body.numbers[i] = body_cell(i, rank, size);
    uint64_t first = N_ROWS * (uint64_t)rank / (uint64_t)size, end = N_ROWS * (uint64_t)(rank + 1) / (uint64_t)size;
    all->matrix.share.first = first;
    all->matrix.share.n_rows = end - first;
    all->matrix.lengths = malloc((end - first) * sizeof(uint32_t));
    all->matrix.columns = malloc((end - first) * 5 * sizeof(uint64_t));
    all->matrix.values = malloc((end - first) * 5 * sizeof(double));
    for (uint64_t row = first, entry = 0; row < end; row++) {
        all->matrix.lengths[row - first] = length_of(row);
        for (uint32_t k = 0; k < length_of(row); k++, entry++) {
            all->matrix.columns[entry] = (row << 40) + k;
            all->matrix.values[entry] = (double)row / (k + 1);
        }
    }
}

static void check_matrix(const struct all *all)
{
    uint64_t entry = 0, first = all->matrix.share.first;
    for (uint64_t i = 0; i < all->matrix.share.n_rows; i++) {
        expect(all->matrix.lengths[i] == length_of(first + i), "length", first + i);
        for (uint32_t k = 0; k < all->matrix.lengths[i]; k++, entry++) {
            expect(all->matrix.columns[entry] == ((first + i) << 40) + k, "column", entry);
            expect(all->matrix.values[entry] == (double)(first + i) / (k + 1), "value", entry);
        }
    }
}

static void check(const struct all *all, uint64_t iteration, MPI_Comm comm)
{
    int rank, size;
    uint64_t held[7] = {all->even.share.n_rows,  all->given.share.n_rows,  all->cyclic.share.n_rows, all->plate.share.n_rows,
                        all->matrix.share.n_rows, all->cells.share.n_rows, all->body.share.n_rows};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    expect(all->n_rows == N_ROWS, "constant", iteration);
    expect(all->sum == (double)iteration, "variable", iteration);
    for (uint64_t i = 0; i < all->even.share.n_rows; i++)
        expect(all->even.numbers[i] == all->even.share.first + i + iteration, "even", i);
    for (uint64_t i = 0; i < all->given.share.n_rows; i++)
        expect(all->given.numbers[i] == all->given.share.first + i, "given", i);
    for (uint64_t i = 0; i < all->cyclic.share.n_rows; i++)
        expect(all->cyclic.numbers[i] == cyclic_row(i, rank, size), "cyclic", i);
    if (all->plate.share.n_rows > 0)
        expect(all->plate.numbers[0] == all->plate.share.first, "plate", all->plate.share.first);
    for (uint64_t i = 0; i < all->body.share.n_rows; i++)
        expect(all->body.numbers[i] == body_cell(i, rank, size), "body", i);
    check_matrix(all);
    check_cells(all, iteration);
    MPI_Allreduce(MPI_IN_PLACE, held, 7, MPI_UINT64_T, MPI_SUM, comm);
    for (int kind = 0; kind < 7; kind++)
        expect(held[kind] == N_ROWS, "rows of all ranks", (uint64_t)kind);
    MPI_Allreduce(MPI_IN_PLACE, &n_wrong, 1, MPI_INT, MPI_MAX, comm);
}

static void step(struct all *all, uint64_t iteration)
{
    fill(all, iteration + 1);
    for (uint64_t i = 0; i < all->cells.share.n_rows; i++) {
        cut_off(&all->cells.chains[i]);
        lengthen(&all->cells.chains[i], all->cells.share.first + i, crowd_of(all->cells.share.first + i, iteration + 1));
    }
    /* A new array, as in programs that keep the previous values. */
    uint64_t *next = malloc((size_t)all->even.share.n_rows * sizeof *next + 1);
    for (uint64_t i = 0; i < all->even.share.n_rows; i++)
        next[i] = all->even.numbers[i] + 1;
    free(all->even.numbers);
    all->even.numbers = next;
    all->sum += 1.0;
}

static int misuse(malleable *m, struct all *all)
{
    void *nowhere = NULL;
    malleable_block block;
    return malleable_rows(m, "early", &nowhere, 8) == MALLEABLE_MISUSE &&
           strcmp(malleable_message(), "`early` belongs to no rows; call `malleable_rows_of` before") == 0 &&
           malleable_rows_of(m, 10, 77, 0, &all->even.share) == MALLEABLE_MISUSE &&
           malleable_blocks_3d(m, NULL, &all->body.share) == MALLEABLE_MISUSE &&
           malleable_block_of(EXTENTS, 2, 2, &block) == MALLEABLE_MISUSE &&
           malleable_constant(m, "nothing", NULL, 8) == MALLEABLE_MISUSE &&
           malleable_constant(m, NULL, all, 8) == MALLEABLE_MISUSE &&
           malleable_resize_point(m, NULL) == MALLEABLE_MISUSE &&
           malleable_begin_with("--speed", NULL, NULL) == NULL &&
           strcmp(malleable_message(), "`--speed` is not an option; `malleable_help` lists them") == 0;
}

static void enlist(malleable *m, struct all *all)
{
    static uint64_t third = 3;
    malleable_constant(m, "n", &all->n_rows, sizeof all->n_rows);
    malleable_variable(m, "sum", &all->sum, sizeof all->sum);
    malleable_rows_of(m, N_ROWS, MALLEABLE_EVEN, 0, &all->even.share);
    malleable_rows(m, "even", &all->even.numbers, sizeof(uint64_t));
    malleable_rows_given(m, N_ROWS, bounds, &third, &all->given.share);
    malleable_constant_rows(m, "given", &all->given.numbers, sizeof(uint64_t));
    malleable_rows_of(m, N_ROWS, MALLEABLE_CYCLIC, 7, &all->cyclic.share);
    malleable_rows(m, "cyclic", &all->cyclic.numbers, sizeof(uint64_t));
    malleable_rows_of(m, N_ROWS, MALLEABLE_BLOCKS_2D, N_COLUMNS, &all->plate.share);
    malleable_rows(m, "plate", &all->plate.numbers, sizeof(uint64_t));
    malleable_blocks_3d(m, EXTENTS, &all->body.share);
    malleable_rows(m, "body", &all->body.numbers, sizeof(uint64_t));
    malleable_rows_of(m, N_ROWS, MALLEABLE_WEIGHTED, 0, &all->matrix.share);
    malleable_constant_csr64(m, "matrix", &all->matrix.lengths, &all->matrix.columns, &all->matrix.values,
                             sizeof(double));
    malleable_rows_of(m, N_ROWS, MALLEABLE_EVEN, 0, &all->cells.share);
    malleable_uneven_rows(m, "particles", &all->cells.crowds, &all->cells.particles, sizeof(double));
    malleable_packed_rows(m, "chains", pack, unpack, all);
}

int main(int argc, char **argv)
{
    struct all all = {0};
    int code = MALLEABLE_CONTINUE, rank, size, n_resized = 0;
    malleable *m = malleable_begin_with("--foreground --check-every 1 --redistribution sync", &argc, &argv);
    if (m == NULL)
        return fprintf(stderr, "kinds: %s\n", malleable_message()), 1;
    if (!misuse(m, &all) || argc != 2 || strcmp(argv[1], "own") != 0)
        return fprintf(stderr, "misuse, or %d arguments: %s\n", argc, malleable_message()), 1;
    MPI_Comm_rank(malleable_comm(m), &rank);
    MPI_Comm_size(malleable_comm(m), &size);
    enlist(m, &all);
    if (!malleable_is_new(m))
        begin(&all, rank, size);
    for (uint64_t i = 0; i < N_ITERATIONS; i++) {
        code = malleable_resize_point(m, &i);
        if (code != MALLEABLE_CONTINUE && code != MALLEABLE_RESIZED)
            break;
        n_resized += code == MALLEABLE_RESIZED;
        check(&all, i, malleable_comm(m));
        step(&all, i);
    }
    MPI_Comm_rank(malleable_comm(m), &rank);
    MPI_Comm_size(malleable_comm(m), &size);
    if (code == MALLEABLE_CONTINUE && rank == 0)
        printf("%d resizes, %d ranks, %d wrong\n", n_resized, size, n_wrong);
    if (code > MALLEABLE_LEFT)
        fprintf(stderr, "kinds: %s\n", malleable_message());
    code = malleable_end(m) != 0 || code > MALLEABLE_LEFT || n_wrong != 0;
    free(all.even.numbers);
    free(all.given.numbers);
    free(all.cyclic.numbers);
    free(all.plate.numbers);
    free(all.body.numbers);
    free(all.matrix.lengths);
    free(all.matrix.columns);
    free(all.matrix.values);
    all.cells.share.n_rows = 0;
    renew_chains(&all);
    free(all.cells.chains);
    free(all.cells.crowds);
    free(all.cells.particles);
    return code;
}
