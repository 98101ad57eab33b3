/* A task of the chaos test: writes into a diary when it begins and when it ends, and when another one of its kind is alive.
 *
 * usage: diary FOLDER SECONDS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char *known(const char *name) {
    const char *value = getenv(name);
    return value ? value : "unknown";
}

/* One write of a short line to the end of a file: lines of several tasks do not mix. */
static void note(int diary, const char *what) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    char line[256];
    int length = snprintf(line, sizeof line, "%s %s %s %lld.%09ld\n", what, known("SINTONIA_TASK"),
                          known("SINTONIA_INSTANCE"), (long long)now.tv_sec, now.tv_nsec);
    if (write(diary, line, (size_t)length) != length)
        exit(1);
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 3)
        return fprintf(stderr, "usage: diary FOLDER SECONDS\n"), 2;
    snprintf(path, sizeof path, "%s/diary", argv[1]);
    int diary = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    snprintf(path, sizeof path, "%s/locks/%s", argv[1], known("SINTONIA_TASK"));
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (diary < 0 || lock < 0)
        return perror("diary"), 1;
    /* The system gives the lock back when its holder is no more, whatever ended it. */
    if (flock(lock, LOCK_EX | LOCK_NB) != 0)
        note(diary, "twice");
    note(diary, "begins");
    double seconds = atof(argv[2]);
    struct timespec rest = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&rest, NULL);
    note(diary, "ends");
    return 0;
}
