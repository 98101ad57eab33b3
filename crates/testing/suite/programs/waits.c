/* Rank 1 waits for rank 0, 10 ms in each kind of call, and says in which calls it gave its core away. The sums are
 * printed with all their bits. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum { N = 300, N_SWITCHES_OF_A_NAP = 5 };

static int rank;
static double mine[N], theirs[N], sums[N];

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void late(void)
{
    const struct timespec duration = {0, 10 * 1000 * 1000};
    if (rank == 0)
        nanosleep(&duration, NULL);
}

static void send(int tag) { MPI_Send(mine, N, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD); }

static void receive(int tag)
{
    MPI_Recv(theirs, N, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void in_recv(void) { rank ? receive(1) : send(1); }

static void in_ssend(void)
{
    if (rank)
        MPI_Ssend(mine, N, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(theirs, N, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void in_sendrecv(void)
{
    MPI_Sendrecv(mine, N, MPI_DOUBLE, 1 - rank, 3, theirs, N, MPI_DOUBLE, 1 - rank, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void in_probe(void)
{
    if (rank)
        MPI_Probe(0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    rank ? receive(4) : send(4);
}

static void in_wait(void)
{
    MPI_Request request;
    if (rank)
        MPI_Irecv(theirs, N, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, &request);
    else
        MPI_Isend(mine, N, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void in_waitall(void)
{
    MPI_Request requests[2];
    MPI_Irecv(theirs, N, MPI_DOUBLE, 1 - rank, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(mine, N, MPI_DOUBLE, 1 - rank, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void in_barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void in_bcast(void) { MPI_Bcast(sums, N, MPI_DOUBLE, 0, MPI_COMM_WORLD); }

static void in_allreduce(void)
{
    MPI_Allreduce(mine, sums, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void in_reduce(void)
{
    MPI_Reduce(mine, sums, N, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
}

static void in_alltoall(void)
{
    MPI_Alltoall(mine, N / 2, MPI_DOUBLE, theirs, N / 2, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void in_split(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &half);
    MPI_Comm_free(&half);
}

static const struct {
    const char *name;
    void (*call)(void);
} kinds[] = {
    {"recv", in_recv},         {"ssend", in_ssend},         {"sendrecv", in_sendrecv},
    {"probe", in_probe},       {"wait", in_wait},           {"waitall", in_waitall},
    {"barrier", in_barrier},   {"bcast", in_bcast},         {"allreduce", in_allreduce},
    {"reduce", in_reduce},     {"alltoall", in_alltoall},   {"split", in_split},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N; i++)
        mine[i] = (rank ? -1.0 : 1.0) / (i + 3 + rank);
    for (unsigned kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const long before = switches();
        late();
        kinds[kind].call();
        if (rank == 1 && N_SWITCHES_OF_A_NAP <= switches() - before)
            fprintf(stderr, "gave its core away in %s\n", kinds[kind].name);
        mine[kind] += 1e-3 * sums[kind + 1] + 1e-5 * theirs[kind];
    }
    if (rank == 1)
        for (int i = 0; i < N; i++)
            printf("%a %a\n", sums[i], mine[i]);
    MPI_Finalize();
    return 0;
}
