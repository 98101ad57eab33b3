/* What MPI itself needs for a change of the number of ranks: to start processes, and to move blocks of rows.
 *
 * Usage: resizing FROM TO BYTES TIMES
 * FROM ranks run it. When TO is more, the others are started by one call, and all are merged; then the rows, evenly cut, of
 * BYTES in all, move from FROM ranks to TO ranks by MPI_Alltoallv. Of the parts that a part of the fewer ranks is cut into,
 * its rank keeps the first, so that as little as possible moves; what stays is not sent.
 * Rank 0 prints `resizing`, the seconds of starting and merging, those of the first move, the median of TIMES moves after
 * it, and the bytes that each moves.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_BYTES = 8 };

static long begin_of(int part, int n_parts, long n_rows) {
    if (part < 0)
        return 0;
    return n_parts <= part ? n_rows : n_rows / n_parts * part + (part < n_rows % n_parts ? part : n_rows % n_parts);
}

static long shared(int source, int n_sources, int target, int n_targets, long n_rows, long *first) {
    if (source < 0 || target < 0)
        return 0;
    long begin = begin_of(source, n_sources, n_rows), end = begin_of(source + 1, n_sources, n_rows);
    long from = begin_of(target, n_targets, n_rows), to = begin_of(target + 1, n_targets, n_rows);
    *first = begin < from ? from : begin;
    long last = end < to ? end : to;
    return *first < last ? last - *first : 0;
}

/* The part that a rank has of `n` evenly cut ones, where `n_few` ranks keep the first that lies in their own part. */
static int part_of(int rank, int n, int n_few, long n_rows) {
    int next = n_few, block = -1;
    for (int part = 0; part < n; part++) {
        int is_first = block + 1 < n_few && begin_of(block + 1, n_few, n_rows) <= begin_of(part, n, n_rows);
        block += is_first;
        int seat = is_first ? block : next++;
        if (seat == rank)
            return part;
    }
    return -1;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (y < x) - (x < y);
}

static double seconds_of_slowest(double begin, MPI_Comm comm) {
    double own = MPI_Wtime() - begin, slowest;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
    return slowest;
}

static long move(MPI_Comm comm, int n_from, int n_to, long n_rows, int n_times, double *first_s, double *median_s) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int *lists = calloc(4 * (size_t)size, sizeof *lists);
    int *n_out = lists, *at_out = lists + size, *n_in = lists + 2 * size, *at_in = lists + 3 * size;
    int n_few = n_from < n_to ? n_from : n_to;
    int source = part_of(rank, n_from, n_few, n_rows), target = part_of(rank, n_to, n_few, n_rows);
    long own = begin_of(source, n_from, n_rows), new = begin_of(target, n_to, n_rows), n_moved = 0, first;
    for (int peer = 0; peer < size; peer++) {
        if (peer == rank)
            continue;
        int to = part_of(peer, n_to, n_few, n_rows), from = part_of(peer, n_from, n_few, n_rows);
        n_out[peer] = (int)shared(source, n_from, to, n_to, n_rows, &first);
        at_out[peer] = n_out[peer] ? (int)(first - own) : 0;
        n_moved += n_out[peer];
        n_in[peer] = (int)shared(from, n_from, target, n_to, n_rows, &first);
        at_in[peer] = n_in[peer] ? (int)(first - new) : 0;
    }
    long n_old = source < 0 ? 0 : begin_of(source + 1, n_from, n_rows) - own;
    long n_new = target < 0 ? 0 : begin_of(target + 1, n_to, n_rows) - new;
    double *rows = malloc((size_t)(n_old + 1) * ROW_BYTES), *moved = malloc((size_t)(n_new + 1) * ROW_BYTES);
    /* Both are in memory before, as they are for whoever allocates in time. */
    memset(rows, 1, (size_t)(n_old + 1) * ROW_BYTES);
    memset(moved, 0, (size_t)(n_new + 1) * ROW_BYTES);
    double *times_s = malloc((size_t)(n_times + 1) * sizeof *times_s);
    for (int time = 0; time <= n_times; time++) {
        MPI_Barrier(comm);
        double begin = MPI_Wtime();
        MPI_Alltoallv(rows, n_out, at_out, MPI_DOUBLE, moved, n_in, at_in, MPI_DOUBLE, comm);
        times_s[time] = seconds_of_slowest(begin, comm);
    }
    *first_s = times_s[0];
    qsort(times_s + 1, (size_t)n_times, sizeof *times_s, ascending);
    *median_s = times_s[1 + n_times / 2 - (n_times % 2 == 0)];
    free(times_s), free(rows), free(moved), free(lists);
    long n_all;
    MPI_Allreduce(&n_moved, &n_all, 1, MPI_LONG, MPI_SUM, comm);
    return n_all * ROW_BYTES;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: resizing FROM TO BYTES TIMES\n");
        return 2;
    }
    int n_from = atoi(argv[1]), n_to = atoi(argv[2]), n_times = atoi(argv[4]), rank;
    long n_rows = atol(argv[3]) / ROW_BYTES;
    MPI_Init(&argc, &argv);
    MPI_Comm other, all = MPI_COMM_WORLD;
    MPI_Comm_get_parent(&other);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), spawn_s = 0, first_s, median_s;
    int is_started = other != MPI_COMM_NULL;
    if (!is_started && n_from < n_to)
        MPI_Comm_spawn(argv[0], argv + 1, n_to - n_from, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    if (n_from < n_to) {
        MPI_Intercomm_merge(other, is_started, &all);
        MPI_Barrier(all);
        spawn_s = MPI_Wtime() - begin;
    }
    long bytes = move(all, n_from, n_to, n_rows, n_times, &first_s, &median_s);
    MPI_Comm_rank(all, &rank);
    if (rank == 0)
        printf("resizing %.6f %.6f %.6f %ld\n", spawn_s, first_s, median_s, bytes);
    if (n_from < n_to) {
        MPI_Comm_free(&all);
        MPI_Comm_disconnect(&other);
    }
    MPI_Finalize();
    return 0;
}
