/* The program of `program.h`, resized by hand, as MPI users do it without a library: processes are started, joined, and given their
 * rows while all ranks wait.
 *
 * `merge`: the missing ranks are started and merged with those that are there; ranks that leave wait in `MPI_Finalize`, since
 * MPI lets no single rank of a world go. `anew`: all ranks of the new size are started, and all former ones end. */
#include "program.h"

static struct rows block(uint64_t n_rows, int part, int n_parts) {
    struct rows rows = {0};
    if (0 <= part && part < n_parts) {
        uint64_t each = n_rows / n_parts, more = n_rows % n_parts, number = (uint64_t)part;
        rows.first = number * each + (number < more ? number : more);
        rows.n = each + (number < more);
    }
    return rows;
}

static void overlaps(uint64_t n_rows, const struct rows *own, int first_rank, int n_parts, int n_ranks, int *counts, int *places) {
    for (int rank = 0; rank < n_ranks; rank++) {
        struct rows its = block(n_rows, rank - first_rank, n_parts);
        uint64_t from = its.first < own->first ? own->first : its.first;
        uint64_t end = its.first + its.n < own->first + own->n ? its.first + its.n : own->first + own->n;
        counts[rank] = from < end ? (int)(end - from) : 0;
        places[rank] = from < end ? (int)(from - own->first) : 0;
    }
}

/* Moves rows from the first `n_sources` ranks to `n_targets` ranks from `first_target` on. */
static void redistribute(uint64_t n_rows, struct rows *rows, MPI_Comm all, int n_sources, int first_target, int n_targets) {
    int rank, n_ranks;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &n_ranks);
    struct rows next = block(n_rows, rank - first_target, n_targets);
    int sent[n_ranks], sent_at[n_ranks], received[n_ranks], received_at[n_ranks];
    overlaps(n_rows, rows, first_target, n_targets, n_ranks, sent, sent_at);
    overlaps(n_rows, &next, 0, n_sources, n_ranks, received, received_at);
    MPI_Datatype weights;
    MPI_Type_contiguous(N_WEIGHTS, MPI_DOUBLE, &weights);
    MPI_Type_commit(&weights);
    next.weights = malloc(next.n * N_WEIGHTS * sizeof(double) + 1);
    next.heat = malloc(next.n * sizeof(double) + 1);
    MPI_Alltoallv(rows->weights, sent, sent_at, weights, next.weights, received, received_at, weights, all);
    MPI_Alltoallv(rows->heat, sent, sent_at, MPI_DOUBLE, next.heat, received, received_at, MPI_DOUBLE, all);
    MPI_Type_free(&weights);
    free(rows->weights);
    free(rows->heat);
    *rows = next;
}

enum state { CONTINUES, LEFT };

/* Between the first ranks and those that were merged with them. Without its end Open MPI 5 crashes in `MPI_Finalize`. */
static MPI_Comm between = MPI_COMM_NULL;

/* On ranks that are there: changes their number before this iteration. */
static enum state resize(const struct settings *settings, char **words, int is_merge, uint64_t iteration, struct rows *rows,
                         MPI_Comm *comm) {
    int rank, size, wanted = settings->size;
    MPI_Comm_rank(*comm, &rank);
    MPI_Comm_size(*comm, &size);
    if (is_merge && wanted < size) {
        MPI_Comm smaller;
        redistribute(settings->n_rows, rows, *comm, size, 0, wanted);
        MPI_Comm_split(*comm, rank < wanted ? 0 : MPI_UNDEFINED, rank, &smaller);
        *comm = smaller;
        return rank < wanted ? CONTINUES : LEFT;
    }
    MPI_Comm children, all;
    MPI_Comm_spawn(words[0], words + 1, is_merge ? wanted - size : wanted, MPI_INFO_NULL, 0, *comm, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(children, 0, &all);
    uint64_t said[2] = {iteration, (uint64_t)size};
    MPI_Bcast(said, 2, MPI_UINT64_T, 0, all);
    redistribute(settings->n_rows, rows, all, size, is_merge ? 0 : size, wanted);
    if (is_merge) {
        *comm = all;
        between = children;
        return CONTINUES;
    }
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&children);
    return LEFT;
}

/* On new ranks; returns the next iteration. */
static uint64_t arrive(const struct settings *settings, int is_merge, MPI_Comm parents, struct rows *rows, MPI_Comm *comm) {
    MPI_Comm all;
    uint64_t said[2];
    MPI_Intercomm_merge(parents, 1, &all);
    MPI_Bcast(said, 2, MPI_UINT64_T, 0, all);
    int n_sources = (int)said[1];
    redistribute(settings->n_rows, rows, all, n_sources, is_merge ? 0 : n_sources, settings->size);
    if (is_merge) {
        *comm = all;
        between = parents;
    } else {
        MPI_Comm_free(&all);
        MPI_Comm_disconnect(&parents);
    }
    return said[0];
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct settings settings = settings_of(argv);
    int rank, size, is_merge = strcmp(argv[8], "merge") == 0;
    MPI_Comm comm = MPI_COMM_WORLD, parents;
    struct rows rows = {0};
    uint64_t iteration = 0;
    enum state state = CONTINUES;
    appear(&settings);
    MPI_Comm_get_parent(&parents);
    int is_new = parents != MPI_COMM_NULL;
    if (is_new) {
        iteration = arrive(&settings, is_merge, parents, &rows, &comm);
    } else {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        rows = block(settings.n_rows, rank, size);
        make_rows(&rows);
    }
    do {
        if (iteration == settings.change_at && !is_new)
            state = resize(&settings, argv, is_merge, iteration, &rows, &comm);
        is_new = 0;
    } while (state == CONTINUES && step(&settings, &rows, iteration++, comm));
    if (state == CONTINUES)
        print_check(&settings, &rows, iteration, comm);
    leave_notes(&settings, state == CONTINUES ? "done" : "left");
    if (between != MPI_COMM_NULL) {
        MPI_Comm_free(&comm);
        MPI_Comm_disconnect(&between);
    }
    MPI_Finalize();
    return 0;
}
