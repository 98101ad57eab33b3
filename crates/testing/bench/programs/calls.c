/* What one MPI call costs: loops of calls on a single rank.
 *
 * Usage: calls BATCHES CALLS_PER_BATCH
 * Prints a line per case: its name and the CPU time of a call in nanoseconds, of the fastest batch
 * and of the median one. CPU time of the thread, because another program on the core would
 * otherwise be measured too.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* One turn of a loop; how many MPI calls are in it is in `cases`. */
typedef void turn(void);

static void iprobe(void) {
    int flag;
    MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void isend_recv_wait(void) {
    static char sent[8], received[8];
    MPI_Request request;
    MPI_Isend(sent, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(received, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void sendrecv(void) {
    static char sent[8], received[8];
    MPI_Sendrecv(sent, 8, MPI_CHAR, 0, 1, received, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void test_null(void) {
    MPI_Request request = MPI_REQUEST_NULL;
    int flag;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    turn *turn;
    int n_calls;
} cases[] = {
    {"iprobe", iprobe, 1},
    {"isend-recv-wait", isend_recv_wait, 3},
    {"sendrecv", sendrecv, 1},
    {"barrier", barrier, 1},
    {"test-null", test_null, 1},
};

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static double batch_ns(turn *turn, int n_turns) {
    double begin = cpu_ns();
    for (int i = 0; i < n_turns; i++)
        turn();
    return cpu_ns() - begin;
}

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (right < left) - (left < right);
}

static void measure(turn *turn, int n_turns, double *ns, int n_batches) {
    batch_ns(turn, n_turns);
    for (int batch = 0; batch < n_batches; batch++)
        ns[batch] = batch_ns(turn, n_turns) / n_turns;
    qsort(ns, (size_t)n_batches, sizeof *ns, by_value);
}

int main(int argc, char **argv) {
    int n_batches = argc == 3 ? atoi(argv[1]) : 0, n_calls = argc == 3 ? atoi(argv[2]) : 0;
    double *ns = malloc((size_t)n_batches * sizeof *ns);
    if (n_batches <= 0 || n_calls <= 0 || ns == NULL) {
        fprintf(stderr, "usage: calls BATCHES CALLS_PER_BATCH\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int per_turn = cases[i].n_calls;
        measure(cases[i].turn, n_calls / per_turn, ns, n_batches);
        printf("%s %.3f %.3f\n", cases[i].name, ns[0] / per_turn, ns[n_batches / 2] / per_turn);
    }
    MPI_Finalize();
    free(ns);
    return 0;
}
