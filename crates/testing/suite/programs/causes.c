/* Runs that are slow for one reason each; the first sentence of the report must name it.
 *
 *     causes CAUSE[,CAUSE...] [STEPS]
 *
 * A step of several causes has one part for each of them.
 *
 * crowded    ranks compute and exchange with their neighbors; give them too few cores
 * faults     memory is mapped, touched and given back in each step
 * files      many small writes
 * sleep      ranks sleep
 * function   rank 1 has three times as much to do in one of three parts
 * slow       rank 1 takes twice as long in each of three parts
 * sender     ranks 0 and 1 send late in turn
 * receiver   ranks 0 and 1 receive late in turn
 * messages   many small messages
 * large      a few large messages
 * collective many small sums
 * moving     another rank is late at each sum
 * polling    rank 1 looks for messages all the time
 * master     rank 0 answers the others one by one, and computes for each answer
 * windows    many small writes into windows
 * duplicates communicators are made and freed
 * mpi-io     many small writes by MPI-IO
 * threads    one OpenMP thread has more to do than the others
 * serial     most computing is in `omp master`
 * critical   OpenMP threads compute in `omp critical`
 * team       OpenMP threads compute equally long; give them too few cores
 * dies       rank 1 ends without MPI_Finalize
 * chain      rank 0 sleeps first, rank 1 waits for it and rank 2 for rank 1
 * none       ranks compute and add up now and then */
#include <fcntl.h>
#include <mpi.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static _Thread_local volatile double sink;

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
    for (int late = 0; late < 2; late++)
        if (rank == late) {
            compute(2000);
            MPI_Recv(&word, 1, MPI_DOUBLE, 1 - late, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1 - late) {
            MPI_Ssend(&word, 1, MPI_DOUBLE, late, 0, MPI_COMM_WORLD);
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

static void large(void)
{
    static char block[2][16 << 20];
    if (rank < 2)
        for (int i = 0; i < 4; i++)
            MPI_Sendrecv(block[0], sizeof block[0], MPI_CHAR, 1 - rank, 0, block[1], sizeof block[1],
                         MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute(100);
}

static void collective(void)
{
    for (int i = 0; i < 1000; i++)
        add_up();
    compute(100);
}

static void moving(void)
{
    static int step;
    compute(step++ % size == rank ? 6000 : 1000);
    add_up();
}

static void polling(void)
{
    int word = 0, is_there = 0;
    if (rank == 0) {
        compute(4000);
        MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        while (!is_there)
            MPI_Iprobe(0, 0, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(1000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void master(void)
{
    int word = 0;
    if (rank == 0) {
        for (int i = 1; i < size; i++) {
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(2000);
        }
        for (int i = 1; i < size; i++)
            MPI_Send(&word, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
    } else {
        compute(1000);
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void windows(void)
{
    static MPI_Win window;
    static double memory[64];
    if (window == 0)
        MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    double word = rank;
    for (int i = 0; i < 500; i++) {
        MPI_Win_fence(0, window);
        MPI_Put(&word, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
    }
    MPI_Win_fence(0, window);
    compute(100);
}

static void duplicates(void)
{
    for (int i = 0; i < 500; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_free(&copy);
    }
    compute(100);
}

static void mpi_io(void)
{
    char name[] = "/tmp/causes-mpi-io-XXXXXX", line[50];
    memset(line, 'x', sizeof line);
    close(mkstemp(name));
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    for (int i = 0; i < 10000; i++)
        MPI_File_write(file, line, sizeof line, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    add_up();
}

#ifdef _OPENMP
static void threads(void)
{
#pragma omp parallel
    compute(omp_get_thread_num() == 0 ? 5000 : 1000);
    add_up();
}

static void serial(void)
{
#pragma omp parallel
    compute(500);
    compute(4000);
    add_up();
}

static void critical(void)
{
#pragma omp parallel
    {
#pragma omp critical
        compute(2000);
    }
    add_up();
}

static void team(void)
{
#pragma omp parallel
    compute(2000);
    add_up();
}
#endif

static void dies(void)
{
    compute(100000);
    if (rank == 1)
        _exit(3);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void chain(void)
{
    double word = 0;
    if (rank == 0)
        sleep_us(20000);
    else
        MPI_Recv(&word, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank < size - 1)
        MPI_Send(&word, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
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
    {"messages", messages}, {"large", large},       {"collective", collective},
    {"moving", moving},     {"polling", polling},   {"master", master},
    {"windows", windows},   {"mpi-io", mpi_io},     {"duplicates", duplicates},
    {"dies", dies},         {"chain", chain},       {"none", none},
#ifdef _OPENMP
    {"threads", threads},   {"serial", serial},     {"critical", critical}, {"team", team},
#endif
};

static void (*step_of(const char *name))(void)
{
    for (size_t i = 0; i < sizeof CAUSES / sizeof *CAUSES; i++)
        if (strcmp(name, CAUSES[i].name) == 0)
            return CAUSES[i].step;
    MPI_Abort(MPI_COMM_WORLD, 2);
    return NULL;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n_steps = argc < 3 ? 100 : atoi(argv[2]), n_parts = 0;
    void (*parts_of_step[8])(void);
    for (char *name = strtok(argv[1], ","); name && n_parts < 8; name = strtok(NULL, ","))
        parts_of_step[n_parts++] = step_of(name);
    for (int step = 0; step < n_steps; step++)
        for (int part = 0; part < n_parts; part++)
            parts_of_step[part]();
    MPI_Finalize();
    return 0;
}
