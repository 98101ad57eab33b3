/* Takes and gives back large blocks again and again, each time with page faults, and says when these end and come again.
 *
 * Argument: `mallopt` sets a limit of malloc, `limited` and `limited data` leave little room below a limit of its memory,
 * `shuffled` calls MPI at two hundred places in an order that never repeats, anything else does none of these.
 * Beginning and end of page faults are printed by rank 0; the program ends when they have come again. */
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BLOCKS = 4, BYTES = 2 << 20, FEW = 16, MANY = 512 };

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static void limit_memory(int resource)
{
    /* Size, resident, shared, text, libraries, and data, in pages. */
    unsigned long pages[6] = { 0 };
    FILE *file = fopen("/proc/self/statm", "r");
    for (int i = 0; i < 6; i++)
        if (!file || fscanf(file, "%lu", &pages[i]) != 1)
            abort();
    fclose(file);
    unsigned long used = resource == RLIMIT_AS ? pages[0] : pages[5];
    struct rlimit limit;
    getrlimit(resource, &limit);
    limit.rlim_cur = used * sysconf(_SC_PAGESIZE) / 10 * 11 + BLOCKS * BYTES;
    if (setrlimit(resource, &limit) != 0)
        abort();
}

#define TELL(n) case n: MPI_Bcast(what, 1, MPI_INT, 0, MPI_COMM_WORLD); break;
#define TEN(n) TELL(n##0) TELL(n##1) TELL(n##2) TELL(n##3) TELL(n##4) TELL(n##5) TELL(n##6) TELL(n##7) TELL(n##8) TELL(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)

/* Tells all ranks what rank 0 says, at one of two hundred places. */
static void tell(int *what, int place)
{
    switch (place) { HUNDRED(1) HUNDRED(2) }
}

int main(int argc, char **argv)
{
    int rank, is_kept = 0, is_over = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "mallopt") == 0)
        mallopt(M_MMAP_THRESHOLD, BYTES / 2);
    if (strcmp(argv[1], "limited") == 0)
        limit_memory(RLIMIT_AS);
    if (strcmp(argv[1], "limited data") == 0)
        limit_memory(RLIMIT_DATA);
    int is_shuffled = strcmp(argv[1], "shuffled") == 0;
    unsigned order = 1;
    for (double sum = 1, all; !is_over;) {
        char *blocks[BLOCKS];
        long before = faults();
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(BYTES);
            for (size_t at = 0; at < BYTES; at += 512)
                blocks[i][at] = (char)at;
        }
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
        long n_faults = faults() - before;
        if (!is_kept && n_faults < FEW) {
            is_kept = 1;
            if (rank == 0)
                puts("kept"), fflush(stdout);
        }
        is_over = rank == 0 && is_kept && MANY < n_faults;
        for (int i = 0; is_shuffled && i < 50; i++) {
            order = 1664525 * order + 1013904223;
            tell(&is_over, 100 + (order >> 16) % 200);
        }
        if (is_shuffled)
            continue;
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("given back");
    MPI_Finalize();
}
