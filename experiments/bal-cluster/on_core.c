/* A task: takes so many seconds of a core of the node that it runs on, and ends.
 *
 * usage: on_core wait SECONDS    of the node's core as cores.py has it: the task waits
 *        on_core burn SECONDS    of processor time: the task computes
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static double used_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Names that begin with a zero byte belong to a network namespace, so that each node has its own core. */
static int wait_for_core(const char *seconds) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, "\0core", 5);
    int core = socket(AF_UNIX, SOCK_STREAM, 0);
    char end;
    if (core < 0 || connect(core, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 5) != 0 ||
        write(core, seconds, strlen(seconds)) < 0)
        return perror("on_core: this node's core"), 1;
    return read(core, &end, 1) == 1 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return fprintf(stderr, "usage: on_core wait|burn SECONDS\n"), 2;
    if (strcmp(argv[1], "wait") == 0)
        return wait_for_core(argv[2]);
    while (used_s() < atof(argv[2]))
        ;
    return 0;
}
