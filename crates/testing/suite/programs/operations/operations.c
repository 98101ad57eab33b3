/* Calls every operation of the groups named, and writes what an observer must have seen.
 *
 *     operations FOLDER GROUP...
 *
 * Any number of ranks from 2 on. */
#include "expect.h"

#include <stdio.h>
#include <string.h>

static int run_group(const char *group, const char *folder)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } groups[] = {
        {"point-to-point", point_to_point},
        {"completion", completion},
        {"persistent", persistent},
        {"collectives", collectives},
        {"collectives-between-groups", collectives_between_groups},
        {"neighborhood", neighborhood},
        {"one-sided", one_sided},
        {"one-sided-requests", one_sided_requests},
        {"communicators", communicators},
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (strcmp(group, groups[i].name) == 0) {
            groups[i].run();
            return 1;
        }
    }
    if (strcmp(group, "io") != 0)
        return 0;
    io(folder);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 97;
    const char *folder = argv[1];
    if (strcmp(argv[2], "sessions") == 0) {
        sessions();
        write_expectation(folder, "sessions");
        return 0;
    }
    if (strcmp(argv[2], "process-child") == 0) {
        begin(&argc, &argv, -1);
        processes_child(folder);
        return 0;
    }
    int threads = strcmp(argv[2], "threads") == 0;
    begin(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : -1);
    for (int i = 2 + threads; i < argc; i++) {
        if (strcmp(argv[i], "processes") == 0)
            processes(argv[0], folder);
        else
            check(run_group(argv[i], folder), argv[i]);
    }
    end(folder);
    return 0;
}
