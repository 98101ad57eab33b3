/* Takes and gives back large blocks again and again, each time with page faults, and says when these end and come again.
 *
 * Argument: `mallopt` sets a limit of malloc, `limited` leaves little room below a limit of its memory, anything else does
 * neither. Beginning and end of page faults are printed by rank 0; the program ends when they have come again. */
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

static void limit_memory(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        abort();
    fclose(file);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * sysconf(_SC_PAGESIZE) / 10 * 12;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        abort();
}

int main(int argc, char **argv)
{
    int rank, is_kept = 0, is_over = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "mallopt") == 0)
        mallopt(M_MMAP_THRESHOLD, BYTES / 2);
    if (strcmp(argv[1], "limited") == 0)
        limit_memory();
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
        is_over = is_kept && MANY < n_faults;
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("given back");
    MPI_Finalize();
}
