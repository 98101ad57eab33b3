/* Programs that hang, and end after some seconds by an alarm.
 *
 *     hangs HOW
 *
 * `cycle`: all receive before they send. `tag`: rank 1 waits for a message with another tag than that of the one it was
 * sent. `loop`: the last rank computes for ever. `skip`: the last rank leaves a collective call out. `stop`: a signal stops
 * rank 1, which sends to and receives from rank 0 at once. */
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define ALARM_S 4

static int rank, size;
static volatile double sum;

static void receive(int from, int tag)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(int to, int tag)
{
    MPI_Send(&rank, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static int exchange(int with, int value)
{
    int other;
    MPI_Sendrecv(&value, 1, MPI_INT, with, 8, &other, 1, MPI_INT, with, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return other;
}

static void compute(void)
{
    for (;;)
        sum += 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    alarm(ALARM_S);
    if (!strcmp(how, "cycle")) {
        receive((rank + size - 1) % size, 5);
        send((rank + 1) % size, 5);
    } else if (!strcmp(how, "tag")) {
        if (rank == 0)
            send(1, 6);
        if (rank == 1)
            receive(0, 5);
    } else if (!strcmp(how, "loop") && rank == size - 1) {
        compute();
    } else if (!strcmp(how, "skip") && rank == size - 1) {
        receive(0, 7);
    }
    if (!strcmp(how, "stop") && rank < 2) {
        int other = exchange(1 - rank, getpid());
        if (rank == 0) {
            usleep(500000);
            kill(other, SIGSTOP);
        }
        exchange(1 - rank, rank);
    }
    int value = rank, all;
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
