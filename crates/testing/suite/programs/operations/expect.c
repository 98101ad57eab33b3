/* The list of what is expected, and the common start and end of the programs that use it. */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPERATIONS 512

int rank, size, left, right;

static struct {
    const char *operation;
    long long calls, bytes;
} expected[MAX_OPERATIONS];
static int n_expected;

void expect(const char *operation, long long bytes)
{
    int i = 0;
    while (i < n_expected && strcmp(expected[i].operation, operation) != 0)
        i++;
    if (i == n_expected) {
        if (n_expected == MAX_OPERATIONS)
            abort();
        expected[n_expected++].operation = operation;
    }
    expected[i].calls++;
    expected[i].bytes += bytes;
}

void check(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "rank %d: not so: %s\n", rank, what);
    PMPI_Abort(MPI_COMM_WORLD, 99);
}

void take_place(MPI_Comm comm)
{
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
}

void take_place_in_world(void)
{
    take_place(MPI_COMM_WORLD);
}

void begin(int *argc, char ***argv, int required)
{
    if (required < 0) {
        CALL(MPI_Init, 0, argc, argv);
    } else {
        int provided;
        CALL(MPI_Init_thread, 0, argc, argv, required, &provided);
        check(required <= provided, "the thread level is provided");
    }
    take_place_in_world();
}

void write_expectation(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/expected-%s-%d.jsonl", folder, name, rank);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(98);
    }
    for (int i = 0; i < n_expected; i++)
        fprintf(file, "{\"operation\":\"%s\",\"calls\":%lld,\"bytes\":%lld}\n",
                expected[i].operation, expected[i].calls, expected[i].bytes);
    fclose(file);
}

void end(const char *folder)
{
    CALL(MPI_Finalize, 0);
    write_expectation(folder, "world");
}
