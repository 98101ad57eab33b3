/* Programs that end in every way, after a known number of calls.
 *
 *     ends HOW [CODE]
 *
 * Every rank calls N_BEFORE reductions of 8 bytes; then the last rank ends as HOW says while the others
 * wait for it. `wait` and `wait-deaf` print "ready" and live until they are ended from outside; `until` does
 * until there is a file CODE, and then ends well. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_BEFORE 200

static int rank, size;

static void reduce(int n)
{
    double value = rank, sum;
    for (int i = 0; i < n; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("sum %a\n", sum);
        fflush(stdout);
    }
}

static void crash(void)
{
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static volatile sig_atomic_t asked_to_end;

static void note(int signal)
{
    (void)signal;
    asked_to_end = 1;
}

/* Reduces for ever, some ten times a second; `deaf` ranks go on for a while after SIGTERM. */
static void wait_to_be_ended(int deaf)
{
    if (deaf)
        signal(SIGTERM, note);
    if (rank == 0) {
        printf("ready\n");
        fflush(stdout);
    }
    for (int left = 5; left; left -= asked_to_end) {
        double value = rank, sum;
        usleep(50000);
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    _exit(0);
}

static void go_on_until(const char *path)
{
    if (rank == 0) {
        printf("ready\n");
        fflush(stdout);
    }
    for (int done = 0, here; !done;) {
        usleep(5000);
        here = rank == 0 && access(path, F_OK) == 0;
        MPI_Allreduce(&here, &done, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void end_last_rank(const char *how, int code)
{
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, code);
    if (strcmp(how, "segfault") == 0)
        crash();
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "terminate") == 0)
        raise(SIGTERM);
    if (strcmp(how, "c-abort") == 0)
        abort();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "finalize";
    int code = argc > 2 ? atoi(argv[2]) : 7;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    reduce(N_BEFORE);
    /* Nobody ends before all have reduced; not counted. */
    PMPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "wait") == 0)
        wait_to_be_ended(0);
    if (strcmp(how, "wait-deaf") == 0)
        wait_to_be_ended(1);
    if (strcmp(how, "until") == 0)
        go_on_until(argv[2]);
    if (rank == size - 1)
        end_last_rank(how, code);
    if (strcmp(how, "exit") == 0)
        exit(code);
    if (strcmp(how, "_exit") == 0)
        _exit(code);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return strcmp(how, "code") == 0 ? code : 0;
}
