/* Tries the program on threads: its result is known, and the same with any number of workers. */
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int run(struct job *job, const char *n_threads)
{
    mw_program program = program_of(job);
    mw_options *options = mw_options_new();
    int code = mw_options_set(options, "threads", n_threads);
    if (code == MW_OK)
        code = mw_run_with(&program, options);
    mw_options_free(options);
    if (code != MW_OK)
        fprintf(stderr, "%s threads: %s\n", n_threads, mw_last_error());
    return code;
}

int main(void)
{
    struct job alone = {0}, together = {0};
    double area;
    if (run(&alone, "1") != MW_OK || run(&together, "4") != MW_OK)
        return 1;
    area = together.areas[N_ITERATIONS - 1];
    /* sin 1 - sin(1000) / 1000 + Ci 1000 - Ci 1 */
    if (1e-9 < fabs(area - 0.504066497877487)) {
        fprintf(stderr, "the area is %.15f\n", area);
        return 1;
    }
    if (memcmp(alone.areas, together.areas, sizeof alone.areas) != 0) {
        fprintf(stderr, "the number of workers changes the result\n");
        return 1;
    }
    printf("passed\n");
    return 0;
}
