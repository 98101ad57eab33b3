/* Writes into the memory in which it is observed, as a program does that writes beyond the end of an array.
 *
 *     wild identity       overwrites what says which process it is
 *     wild SEED           overwrites 2 bytes in 500 places, the same ones for the same number
 *
 * Between the writes it reduces, and rank 0 prints "right" if all sums were. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_WRITES 500

static unsigned char *segment;
static size_t length;

static void find_segment(void)
{
    char line[4096], own[64];
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    snprintf(own, sizeof own, "/%d-", (int)getpid());
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, ".segment") && strstr(line, own)
            && sscanf(line, "%lx-%lx", &start, &end) == 2 && length < end - start) {
            segment = (unsigned char *)start;
            length = end - start;
        }
    if (maps)
        fclose(maps);
}

static int sum_is_right(int rank, int size, int i)
{
    int mine = rank + i, sum = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum == size * (size - 1) / 2 + size * i;
}

int main(int argc, char **argv)
{
    int rank, size, i, is_right = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    find_segment();
    is_right &= sum_is_right(rank, size, 0);
    usleep(300000); /* until the collector knows the processes */
    if (segment && argc > 1 && !strcmp(argv[1], "identity")) {
        memset(segment + 12, 0x5a, 12);
        is_right &= sum_is_right(rank, size, 2);
    } else if (segment && argc > 1) {
        srand(atoi(argv[1]) + rank);
        for (i = 0; i < N_WRITES; i++) {
            /* A half of them in the first 3 KiB; only what is there: a hole would be more memory. */
            size_t range = i % 2 ? 3072 : 256 * 1024;
            size_t at = ((size_t)rand() * 3 + (size_t)rand()) % range;
            segment[at] = (unsigned char)rand();
            segment[at + 1] = (unsigned char)rand();
            is_right &= sum_is_right(rank, size, i);
        }
    }
    is_right &= sum_is_right(rank, size, 3);
    if (rank == 0)
        puts(segment ? is_right ? "right" : "wrong" : "unobserved");
    MPI_Finalize();
    return 0;
}
