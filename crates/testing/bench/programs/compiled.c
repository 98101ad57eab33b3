/* What probes cost that the compiler puts in: built with -finstrument-functions.
 *
 * Usage: compiled BATCHES CALLS_PER_BATCH
 * Prints `plain` and `instrumented` with the processor time of a call in nanoseconds, of the fastest
 * batch and of the median one. The hooks write what a probe of Sintonia writes, a time and 64 bytes
 * per passage, and lie in the program itself: no peer's are nearer.
 */
#define _POSIX_C_SOURCE 200809L
#include "timing.h"
#include <stdint.h>
#include <x86intrin.h>

#define QUIET __attribute__((no_instrument_function))

enum { N_RECORDS = 1 << 12, N_BATCHES_MAX = 1000 };

/* Not static: whoever could read them would find them. */
struct record {
    uint64_t ticks, function, values[6];
} records[N_RECORDS];
uint64_t n_written;

QUIET static inline void record(void *function) {
    struct record *place = &records[n_written % N_RECORDS];
    *place = (struct record){.ticks = __rdtsc(), .function = (uint64_t)(uintptr_t)function};
    n_written++;
}

/* noipa: called as if it were in another file. */
#define CALLED __attribute__((noipa))

QUIET CALLED void __cyg_profile_func_enter(void *function, void *caller);
QUIET CALLED void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller) {
    (void)caller;
    record(function);
}

void __cyg_profile_func_exit(void *function, void *caller) {
    (void)caller;
    record(function);
}

typedef int small(int);

QUIET CALLED int small_plain(int number) { return (3 * number + 1) ^ 5; }
CALLED int small_instrumented(int number) { return (3 * number + 1) ^ 5; }

QUIET static double call_ns(small *function, int n_calls) {
    static volatile int sum;
    double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < n_calls; i++)
        sum += function(i);
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / n_calls;
}

QUIET int main(int argc, char **argv) {
    static double plain[N_BATCHES_MAX], instrumented[N_BATCHES_MAX];
    int n_batches = argc == 3 ? atoi(argv[1]) : 0, n_calls = argc == 3 ? atoi(argv[2]) : 0;
    if (n_batches <= 0 || N_BATCHES_MAX < n_batches || n_calls <= 0) {
        fprintf(stderr, "usage: compiled BATCHES CALLS_PER_BATCH\n");
        return 2;
    }
    for (int batch = 0; batch < n_batches; batch++) {
        plain[batch] = call_ns(small_plain, n_calls);
        instrumented[batch] = call_ns(small_instrumented, n_calls);
    }
    print_case("plain", plain, n_batches);
    print_case("instrumented", instrumented, n_batches);
    return 0;
}
