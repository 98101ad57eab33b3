/* Runs that are slow for one reason each; the first sentence of the report must name it.
 *
 *     causes CAUSE [STEPS]
 *
 * crowded    ranks compute and exchange with their neighbors; give them too few cores
 * faults     memory is mapped, touched and given back in each step
 * files      many small writes
 * sleep      ranks sleep
 * function   rank 1 has three times as much to do in one of three parts
 * slow       rank 1 takes twice as long in each of three parts
 * sender     rank 0 sends late
 * receiver   rank 1 receives late
 * messages   many small messages
 * collective many small sums
 * none       ranks compute and add up now and then */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static volatile double sink;

/* Computes for about `us` microseconds of processor time, however many ranks share the core. */
static void compute(double us)
{
    double x = 1;
    for (long i = 0; i < (long)(us * 250); i++)
        x = x * 1.0000001 + 1e-9;
    sink = x;
}

static void sleep_us(long us)
{
    struct timespec span = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&span, NULL);
}

static void add_up(void)
{
    double mine = rank, all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void exchange(void)
{
    static double in[2][64], out[64];
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Irecv(in[0], 64, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], 64, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, 64, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, 64, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
}

static void crowded(void)
{
    compute(200);
    exchange();
    add_up();
}

static void faults(void)
{
    size_t bytes = 64 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 1);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096)
        memory[i] = 1;
    munmap(memory, bytes);
    add_up();
}

static void files(void)
{
    char name[] = "/tmp/causes-XXXXXX", line[50];
    int file = mkstemp(name);
    unlink(name);
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 20000; i++)
        if (write(file, line, sizeof line) < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    close(file);
    add_up();
}

static void sleeping(void)
{
    sleep_us(20000);
    add_up();
}

static void parts(double first, double others)
{
    compute(1000 * first);
    add_up();
    compute(1000 * others);
    MPI_Barrier(MPI_COMM_WORLD);
    compute(1000 * others);
    exchange();
}

static void function(void)
{
    parts(rank == 1 ? 6 : 1, 1);
}

static void slow(void)
{
    double factor = rank == 1 ? 2 : 1;
    parts(factor, factor);
}

static void sender(void)
{
    double word = 0;
    if (rank == 0) {
        compute(2000);
        MPI_Send(&word, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(2000);
        MPI_Send(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
}

static void receiver(void)
{
    double word = 0;
    if (rank == 0) {
        compute(2000);
        MPI_Ssend(&word, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Ssend(&word, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(2000);
        MPI_Recv(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void messages(void)
{
    double word = 0;
    for (int i = 0; i < 2000; i++) {
        if (rank == 0)
            MPI_Send(&word, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    compute(100);
}

static void collective(void)
{
    for (int i = 0; i < 1000; i++)
        add_up();
    compute(100);
}

static void none(void)
{
    compute(20000);
    add_up();
}

static const struct {
    const char *name;
    void (*step)(void);
} CAUSES[] = {
    {"crowded", crowded},   {"faults", faults},     {"files", files},       {"sleep", sleeping},
    {"function", function}, {"slow", slow},         {"sender", sender},     {"receiver", receiver},
    {"messages", messages}, {"collective", collective}, {"none", none},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n_steps = argc < 3 ? 100 : atoi(argv[2]), is_known = 0;
    for (size_t i = 0; 1 < argc && i < sizeof CAUSES / sizeof *CAUSES; i++)
        if (strcmp(argv[1], CAUSES[i].name) == 0) {
            is_known = 1;
            for (int step = 0; step < n_steps; step++)
                CAUSES[i].step();
        }
    if (!is_known)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
    return 0;
}
