/* What probes of the system cost: calls of a small function with and without them.
 *
 * Usage: peers uprobe BATCHES CALLS_PER_BATCH   puts uprobes into itself
 *        peers gdb BATCHES CALLS_PER_BATCH      for a debugger that stops at `small_stopped`
 * Prints a line per case: its name and the time of a call in nanoseconds, of the fastest batch and
 * of the median one; for what cannot be measured, a line `# name: why`. The time is that of the
 * processor, but for gdb the time on the clock: it works while the program waits.
 *
 * The probes hang on open files of this process: however it ends, nothing of them is left behind.
 */
#define _GNU_SOURCE
#include "timing.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The system knows by heart what some first instructions do, and has to step over the others. */
#define SMALL(name, first, last)                                                                   \
    __asm__(".text\n.p2align 6\n.globl " name "\n" name ":\n" first                                \
            "lea (%rdi,%rdi,2), %eax\nadd $1, %eax\nxor $5, %eax\n" last "ret\n")
#define STEPPED(name) SMALL(name, "", "")
#define KNOWN(name) SMALL(name, "push %rbx\n", "pop %rbx\n")

typedef int small(int);
extern small small_plain, small_known, small_known_pair, small_stepped, small_stepped_pair,
    small_stopped;
STEPPED("small_plain");
KNOWN("small_known");
KNOWN("small_known_pair");
STEPPED("small_stepped");
STEPPED("small_stepped_pair");
STEPPED("small_stopped");

static const struct {
    const char *mode, *name;
    small *function;
    int n_probes; /* 1: at the entry, 2: at the exit too */
} cases[] = {
    {"uprobe", "plain", small_plain, 0},
    {"uprobe", "uprobe", small_known, 1},
    {"uprobe", "uprobe-pair", small_known_pair, 2},
    {"uprobe", "uprobe-stepped", small_stepped, 1},
    {"uprobe", "uprobe-stepped-pair", small_stepped_pair, 2},
    {"gdb", "plain", small_plain, 0},
    {"gdb", "gdb", small_stopped, 0},
};
enum { N_CASES = sizeof cases / sizeof *cases, N_BATCHES_MAX = 1000, N_RECORD_PAGES = 16 };

static double ns[N_CASES][N_BATCHES_MAX];

static double call_ns(small *function, int n_calls, clockid_t clock) {
    static volatile int sum;
    double begin = clock_ns(clock);
    for (int i = 0; i < n_calls; i++)
        sum += function(i);
    return (clock_ns(clock) - begin) / n_calls;
}

/* The number that the system has given to this kind of probe. */
static int probe_type(void) {
    FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
    int type = -1;
    if (file == NULL)
        return -1;
    if (fscanf(file, "%d", &type) != 1)
        type = -1;
    fclose(file);
    return type;
}

/* Where in the program's file a function lies. */
static uint64_t offset_in_file(small *function) {
    uint64_t start, end, offset, address = (uint64_t)(uintptr_t)function, found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4352];
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && start <= address &&
            address < end)
            found = address - start + offset;
    if (maps != NULL)
        fclose(maps);
    return found;
}

/* A probe that writes a record with its time where nobody reads it. NULL: it is there; else why not. */
static const char *put_in(small *function, int is_exit) {
    char program[4096] = "";
    int type = probe_type();
    if (type < 0)
        return "this system has no uprobes for perf_event_open";
    if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0)
        return strerror(errno);
    struct perf_event_attr wish = {
        .size = sizeof wish,
        .type = (uint32_t)type,
        .config = (uint64_t)is_exit,
        .uprobe_path = (uint64_t)(uintptr_t)program,
        .probe_offset = offset_in_file(function),
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_IP,
        .write_backward = 1,
    };
    int event = (int)syscall(SYS_perf_event_open, &wish, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0)
        return errno == EACCES || errno == EPERM ? "perf_event_open needs root" : strerror(errno);
    /* Mapped for reading only: new records are written over old ones. */
    size_t n_bytes = (1 + N_RECORD_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    void *records = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, event, 0);
    return records == MAP_FAILED ? strerror(errno) : NULL;
}

static int is_there(int idx, const char *mode) {
    if (strcmp(cases[idx].mode, mode) != 0)
        return 0;
    for (int is_exit = 0; is_exit < cases[idx].n_probes; is_exit++) {
        const char *reason = put_in(cases[idx].function, is_exit);
        if (reason != NULL) {
            printf("# %s: %s\n", cases[idx].name, reason);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv) {
    int n_batches = argc == 4 ? atoi(argv[2]) : 0, n_calls = argc == 4 ? atoi(argv[3]) : 0;
    if (n_batches <= 0 || N_BATCHES_MAX < n_batches || n_calls <= 0) {
        fprintf(stderr, "usage: peers uprobe|gdb BATCHES CALLS_PER_BATCH\n");
        return 2;
    }
    /* Whatever becomes of the debugger. */
    alarm(120);
    const char *mode = argv[1];
    clockid_t clock = strcmp(mode, "gdb") == 0 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    int is_measured[N_CASES];
    for (int i = 0; i < N_CASES; i++)
        is_measured[i] = is_there(i, mode);
    for (int batch = 0; batch < n_batches; batch++)
        for (int i = 0; i < N_CASES; i++)
            if (is_measured[i])
                ns[i][batch] = call_ns(cases[i].function, n_calls, clock);
    for (int i = 0; i < N_CASES; i++)
        if (is_measured[i])
            print_case(cases[i].name, ns[i], n_batches);
    return 0;
}
