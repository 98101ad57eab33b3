/* Objects on the heap whose members are measured and changed through an argument: `reached N` makes N iterations.
 *
 * `mark` also gets pointers that lead nowhere; it does not follow them, and neither may anybody else stumble. */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEPT __attribute__((noipa))

struct box {
    double cutoff;
    int n;
};
struct sim {
    long id;
    struct box box;
    struct sim *far;
};
struct sim *volatile current;
static volatile long n_marks;
static sigjmp_buf back;

KEPT void mark(struct sim *sim, int iteration) { n_marks += sim != NULL && iteration != 0; }

KEPT void compute(struct sim *sim) { sim->box.cutoff = 0.5 * (sim->box.cutoff + sim->box.n); }

static void on_fault(int signal)
{
    siglongjmp(back, signal);
}

static struct sim *made(int n, struct sim *far)
{
    struct sim *sim = malloc(sizeof *sim);
    *sim = (struct sim){.id = n, .box = {.cutoff = n, .n = n}, .far = far};
    return sim;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10, rank;
    MPI_Init(&argc, &argv);
    signal(SIGSEGV, on_fault);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct sim *deep = made(5, NULL), *sim = made(3, deep), *other = made(4, sim);
    struct sim *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sim *all[] = {sim, NULL, gone, other};
    current = sim;
    for (int i = 0; i < n; i++) {
        /* The other object comes late, after the first one was changed. */
        mark(all[i % (i < n / 2 ? 3 : 4)], i);
        compute(sim);
        usleep(2000);
        int numbers[] = {sim->box.n, other->box.n, deep->box.n}, low[3], high[3];
        MPI_Reduce(numbers, low, 3, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
        MPI_Reduce(numbers, high, 3, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            static const char *const names[] = {"n", "other", "deep"};
            printf("%d", i);
            for (int k = 0; k < 3; k++)
                printf(low[k] == high[k] ? " %s=%d" : " %s=%d..%d", names[k], low[k], high[k]);
            puts("");
        }
    }
    /* A fault of the program's own finds the program's own handler. */
    int caught = sigsetjmp(back, 1);
    if (caught == 0)
        *(volatile int *)(all[1]) = 1;
    if (rank == 0)
        printf("caught %d\n", caught == SIGSEGV);
    MPI_Finalize();
    return 0;
}
