/* The program whose ranks change, the same in `bare.c` and `ours.c`: rows of numbers that never change, and of one that does.
 *
 * An iteration sleeps, as ranks share few cores, changes some rows, and adds a number over all ranks. The rank that has
 * rank 0 notes when iterations begin and end; each process leaves its notes in a file. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_WEIGHTS = 15, N_CHANGED = 1024, N_NOTES_MAX = 100000 };

struct settings {
    const char *folder;
    uint64_t n_rows;
    uint64_t work_us; /* of an iteration, divided among the ranks */
    uint64_t change_at;
    int size; /* wanted from that iteration */
    uint64_t n_after; /* iterations after the change; 0: `n_iterations` in all */
    uint64_t n_iterations;
};

struct rows {
    uint64_t first, n;
    double *weights, *heat;
};

static struct note {
    uint64_t iteration, begin_ns, end_ns;
    int size;
} notes[N_NOTES_MAX];
static size_t n_notes;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct settings settings_of(char **words) {
    struct settings is = {.folder = words[1]};
    is.n_rows = strtoull(words[2], NULL, 10);
    is.work_us = strtoull(words[3], NULL, 10);
    is.change_at = strtoull(words[4], NULL, 10);
    is.size = atoi(words[5]);
    is.n_after = strtoull(words[6], NULL, 10);
    is.n_iterations = strtoull(words[7], NULL, 10);
    return is;
}

/* Says that this process exists, for those who wait for its end. */
static void appear(const struct settings *settings) {
    char path[4096];
    snprintf(path, sizeof path, "%s/process.%d", settings->folder, (int)getpid());
    FILE *file = fopen(path, "w");
    if (file)
        fclose(file);
}

static void leave_notes(const struct settings *settings, const char *how) {
    char path[4096], whole[4096];
    snprintf(path, sizeof path, "%s/part.%d", settings->folder, (int)getpid());
    snprintf(whole, sizeof whole, "%s/notes.%d", settings->folder, (int)getpid());
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "%s\n", how);
    for (size_t i = 0; i < n_notes; i++)
        fprintf(file, "%ju %ju %ju %d\n", (uintmax_t)notes[i].iteration, (uintmax_t)notes[i].begin_ns,
                (uintmax_t)notes[i].end_ns, notes[i].size);
    fclose(file);
    rename(path, whole);
}

static double weight(uint64_t row, uint64_t number) { return (double)((row * 31 + number * 7) % 1009) / 1009.0; }

static void make_rows(struct rows *rows) {
    rows->weights = malloc(rows->n * N_WEIGHTS * sizeof(double) + 1);
    rows->heat = calloc(rows->n + 1, sizeof(double));
    for (uint64_t i = 0; i < rows->n; i++)
        for (uint64_t k = 0; k < N_WEIGHTS; k++)
            rows->weights[i * N_WEIGHTS + k] = weight(rows->first + i, k);
}

/* Returns whether the program goes on. */
static int step(const struct settings *settings, struct rows *rows, uint64_t iteration, MPI_Comm comm) {
    static uint64_t end = UINT64_MAX;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    struct note note = {.iteration = iteration, .begin_ns = now_ns(), .size = size};
    uint64_t pause_us = settings->work_us / (uint64_t)size;
    nanosleep(&(struct timespec){.tv_sec = pause_us / 1000000, .tv_nsec = pause_us % 1000000 * 1000}, NULL);
    uint64_t stride = settings->n_rows / N_CHANGED, place = iteration % stride;
    uint64_t row = rows->first + (place + stride - rows->first % stride) % stride;
    double own = 0, sum;
    for (; row < rows->first + rows->n; row += stride) {
        double *heat = &rows->heat[row - rows->first];
        *heat = 0.5 * *heat + rows->weights[(row - rows->first) * N_WEIGHTS + iteration % N_WEIGHTS];
        own += *heat;
    }
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    note.end_ns = now_ns();
    if (rank == 0 && n_notes < N_NOTES_MAX)
        notes[n_notes++] = note;
    if (settings->n_after == 0)
        return iteration + 1 < settings->n_iterations;
    if (settings->change_at <= iteration && size == settings->size && end == UINT64_MAX)
        end = iteration + settings->n_after;
    return iteration + 1 < (end < settings->n_iterations ? end : settings->n_iterations);
}

/* Number of this rank's values that are not those of a program that never changed its ranks, bit by bit. */
static uint64_t n_wrong(const struct settings *settings, const struct rows *rows, uint64_t n_iterations) {
    uint64_t wrong = 0, stride = settings->n_rows / N_CHANGED;
    for (uint64_t i = 0; i < rows->n; i++) {
        uint64_t row = rows->first + i;
        double heat = 0;
        for (uint64_t iteration = row % stride; iteration < n_iterations; iteration += stride)
            heat = 0.5 * heat + weight(row, iteration % N_WEIGHTS);
        wrong += memcmp(&heat, &rows->heat[i], sizeof heat) != 0;
        for (uint64_t k = 0; k < N_WEIGHTS; k++)
            wrong += rows->weights[i * N_WEIGHTS + k] != weight(row, k);
    }
    return wrong;
}

/* Prints whether the values are right after so many iterations. */
static void print_check(const struct settings *settings, const struct rows *rows, uint64_t n_iterations, MPI_Comm comm) {
    uint64_t own[2] = {n_wrong(settings, rows, n_iterations), rows->n}, sums[2];
    MPI_Reduce(own, sums, 2, MPI_UINT64_T, MPI_SUM, 0, comm);
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        printf("%ju rows, %ju wrong values\n", (uintmax_t)sums[1], (uintmax_t)sums[0]);
    fflush(stdout);
}
