/* Processes started and connected while the program runs. */
#include "expect.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Parents and children meet: a message each way, a broadcast, and both leave. */
static void meet(MPI_Comm inter, int root)
{
    int value = 42, n_remote;
    MPI_Comm_remote_size(inter, &n_remote);
    CALL_C(MPI_Bcast, root == MPI_PROC_NULL ? 0 : 4, &value, 1, MPI_INT, root, inter);
    CALL(MPI_Barrier, 0, inter);
    check(value == 42, "the broadcast came");
}

static void spawn(const char *program, const char *folder)
{
    MPI_Comm children;
    int failures[2];
    char *arguments[] = {(char *)folder, "process-child", NULL};
    CALL(MPI_Comm_spawn, 0, program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, failures);
    meet(children, rank == 0 ? MPI_ROOT : MPI_PROC_NULL);
    CALL(MPI_Comm_disconnect, 0, &children);

    char *programs[] = {(char *)program, (char *)program};
    char **argument_lists[] = {arguments, arguments};
    int counts[] = {1, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    CALL(MPI_Comm_spawn_multiple, 0, 2, programs, argument_lists, counts, infos, 0, MPI_COMM_WORLD,
         &children, failures);
    meet(children, rank == 0 ? MPI_ROOT : MPI_PROC_NULL);
    CALL(MPI_Comm_disconnect, 0, &children);
}

/* Rank 0 opens a port under a name, and rank 1 finds and connects to it. */
static void connect_by_name(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm other;
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        CALL(MPI_Publish_name, 0, "suite-service", MPI_INFO_NULL, port);
    }
    BARRIER();
    if (rank == 1)
        CALL(MPI_Lookup_name, 0, "suite-service", MPI_INFO_NULL, port);
    if (rank == 0)
        CALL(MPI_Comm_accept, 0, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    if (rank == 1)
        CALL(MPI_Comm_connect, 0, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    if (rank <= 1) {
        CALL(MPI_Barrier, 0, other);
        CALL(MPI_Comm_disconnect, 0, &other);
    }
    BARRIER();
    if (rank == 0) {
        CALL(MPI_Unpublish_name, 0, "suite-service", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
}

/* A TCP connection from rank 1 to rank 0 on this machine. */
static int socket_between(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (rank == 0) {
        check(bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 1) == 0, "a port to listen on");
        getsockname(fd, (struct sockaddr *)&address, &length);
        CALL_C(MPI_Send, sizeof address, &address, sizeof address, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        int accepted = accept(fd, NULL, NULL);
        close(fd);
        return accepted;
    }
    CALL_C(MPI_Recv, sizeof address, &address, sizeof address, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
    check(connect(fd, (struct sockaddr *)&address, length) == 0, "the connection is made");
    return fd;
}

static void join(void)
{
    if (1 < rank)
        return;
    MPI_Comm other;
    int fd = socket_between();
    CALL(MPI_Comm_join, 0, fd, &other);
    close(fd);
    check(other != MPI_COMM_NULL, "the two ranks joined");
    CALL(MPI_Barrier, 0, other);
    CALL(MPI_Comm_disconnect, 0, &other);
}

void processes(const char *program, const char *folder)
{
    spawn(program, folder);
    connect_by_name();
    join();
}

/* Writes its expectation under its process id: there are several worlds of children. */
void processes_child(const char *folder)
{
    MPI_Comm parents;
    MPI_Comm_get_parent(&parents);
    check(parents != MPI_COMM_NULL, "a child has parents");
    meet(parents, 0);
    CALL(MPI_Comm_disconnect, 0, &parents);
    CALL(MPI_Finalize, 0);
    char name[64];
    snprintf(name, sizeof name, "child-%d", (int)getpid());
    write_expectation(folder, name);
}
