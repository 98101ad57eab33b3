/* Holds three blocks: one of which nothing is asked, one with huge pages asked for, one with huge pages refused. Prints the
 * marks of the three in the kernel's list (`hg`, `nh` or `--`) whenever they have changed on rank 0; `HG` where most of what is
 * used is in huge pages. The middle of the first block is never used. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 3, BYTES = 32 << 20, HOLE = 12 << 20, HOLE_END = 20 << 20, STEPS = 40 };

static const char *mark(const char *block)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long first, end, at = (unsigned long)block + BYTES / 2;
    int is_in = 0;
    long huge_kib = 0;
    const char *found = "??";
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &first, &end) == 2)
            is_in = first <= at && at < end;
        if (is_in)
            sscanf(line, "AnonHugePages: %ld", &huge_kib);
        if (is_in && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, " hg") ? huge_kib < BYTES / 2048 ? "hg" : "HG" : strstr(line, " nh") ? "nh" : "--";
    }
    if (file)
        fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    int rank;
    char *blocks[BLOCKS], seen[32] = "", now[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (blocks[i] == MAP_FAILED)
            abort();
    }
    madvise(blocks[1], BYTES, MADV_HUGEPAGE);
    madvise(blocks[2], BYTES, MADV_NOHUGEPAGE);
    for (long step = 0;; step++) {
        double sum = 0, all;
        for (int i = 0; i < BLOCKS; i++)
            for (size_t at = 0; at < BYTES; at += 512)
                if (i != 0 || at < HOLE || HOLE_END <= at)
                    sum += blocks[i][at] = (char)(at + step);
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank != 0 || step % STEPS != 0)
            continue;
        snprintf(now, sizeof now, "%s %s %s", mark(blocks[0]), mark(blocks[1]), mark(blocks[2]));
        if (strcmp(now, seen) != 0) {
            strcpy(seen, now);
            puts(now), fflush(stdout);
        }
    }
}
