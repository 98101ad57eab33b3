/* Numbers what is to be recorded, and keeps count where the death of a rank does not reach.
 *
 *     killed FOLDER
 *
 * Iterates until there is a file FOLDER/go. In each iteration every rank calls `note` N_NOTES times with the
 * number of the call, from 1 on, and reduces once. FOLDER/counts-RANK holds how many calls of both were begun and ended.
 * Rank 0 prints "right" if all sums were. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_NOTES 20

struct counts {
    volatile long notes_begun, notes_ended, sums_begun, sums_ended;
};

volatile int sweeps = 5;
static volatile long last_note;
static int rank, size, is_right = 1;

__attribute__((noinline)) void note(long number)
{
    last_note = number;
}

static struct counts *open_counts(const char *folder)
{
    char making[4096], path[4096];
    snprintf(making, sizeof making, "%s/making-%d", folder, rank);
    snprintf(path, sizeof path, "%s/counts-%d", folder, rank);
    int file = open(making, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct counts)))
        MPI_Abort(MPI_COMM_WORLD, 9);
    void *at = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED || rename(making, path))
        MPI_Abort(MPI_COMM_WORLD, 9);
    return at;
}

static long sum(struct counts *counts, long value)
{
    long sum;
    counts->sums_begun++;
    MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    counts->sums_ended++;
    return sum;
}

/* Whether it was the last one, by the word of rank 0. */
__attribute__((noinline)) int iterate(struct counts *counts, long number, int is_last)
{
    for (int i = 0; i < N_NOTES; i++) {
        long next = counts->notes_ended + 1;
        counts->notes_begun = next;
        note(next);
        counts->notes_ended = next;
    }
    usleep(100 * sweeps);
    long all = sum(counts, number << 1 | is_last);
    is_right = is_right && (all >> 1) == number * size && last_note == N_NOTES * number;
    return all & 1;
}

int main(int argc, char **argv)
{
    char go[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(go, sizeof go, "%s/go", argv[1]);
    struct counts *counts = open_counts(argv[1]);
    for (long number = 1, is_over = 0; !is_over; number++)
        is_over = iterate(counts, number, rank == 0 && access(go, F_OK) == 0);
    if (rank == 0)
        printf(is_right ? "right\n" : "wrong\n");
    MPI_Finalize();
    return 0;
}
