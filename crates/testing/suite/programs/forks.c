/* Forks, executes and runs shells between MPI calls; the children must not disturb what is observed of the parent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child writes to a pipe. */
static void from_child(char *text, size_t length, int execute)
{
    int ends[2];
    if (pipe(ends) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        if (execute)
            execlp("sh", "sh", "-c", "echo from a shell; exec echo and from echo", (char *)NULL);
        if (write(STDOUT_FILENO, "from a fork\n", 12) != 12)
            _exit(1);
        _exit(0);
    }
    close(ends[1]);
    ssize_t n, total = 0;
    while (0 < (n = read(ends[0], text + total, length - total - 1)))
        total += n;
    text[total] = 0;
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    snprintf(text + total, length - total, "status %d\n", status);
}

int main(int argc, char **argv)
{
    int rank, sum;
    char text[512];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 10; i++)
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        from_child(text, sizeof text, round % 2);
        int shell = system("exit 3");
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            printf("%d %sshell %d sum %d\n", round, text, WEXITSTATUS(shell), sum);
    }
    MPI_Finalize();
    return 0;
}
