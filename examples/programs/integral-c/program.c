/* A program of a master and workers: the area below sin(1/x) from 0.001 to 1, ever more precisely.
 *
 * What is to be replaced by what you compute is marked YOURS: the data in program.h, and seven functions here. Tasks
 * are numbers from 0 on; here each is one of many equal intervals. Those near 0 take much longer than those near 1: an
 * equal number for each worker would leave most of them waiting, so the library deals them as they come.
 *
 * A function that cannot go on returns mw_fail("why"). */
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double START = 0.001;
static const double END = 1.0;

static double height(double x)
{
    return sin(1.0 / x);
}

static double trapezoid(struct part *part, double from, double to)
{
    part->n_evaluations += 2;
    return (to - from) / 2.0 * (height(from) + height(to));
}

/* The trapezoid; where its halves tell another area, those of their own halves. */
static double refined(struct part *part, double from, double to, double error_max)
{
    double middle = (from + to) / 2.0;
    double halves = trapezoid(part, from, middle) + trapezoid(part, middle, to);
    if (fabs(trapezoid(part, from, to) - halves) <= 3.0 * error_max)
        return halves;
    return refined(part, from, middle, error_max / 2.0) + refined(part, middle, to, error_max / 2.0);
}

/* The area of an interval. */
static struct part integrate(uint64_t task, double error_max)
{
    double width = (END - START) / N_INTERVALS;
    double from = START + (double)task * width;
    struct part part = {0};
    part.area = refined(&part, from, from + width, error_max);
    return part;
}

/* YOURS, 1 of 7, master initialize: before the first iteration. */
static int master_init(void *state)
{
    struct job *job = state;
    job->parts = calloc(N_INTERVALS, sizeof *job->parts);
    return job->parts == NULL ? mw_fail("there is no memory for the results") : 0;
}

/* YOURS, 2 of 7, worker initialize: before its first tasks. Open files and make tables here. */
static int worker_init(void *state, uint32_t rank)
{
    (void)state, (void)rank;
    return 0;
}

/* YOURS, 3 of 7, master partition: how many tasks the next iteration has, none after the last one, and what all
 * workers need for them. */
static int master_next(void *state, uint64_t iteration, mw_plan *plan, mw_buffer *shared)
{
    struct precision precision = {1e-9 * pow(0.1, (double)iteration)};
    (void)state;
    plan->n_tasks = iteration < N_ITERATIONS ? N_INTERVALS : 0;
    return mw_write(shared, &precision, sizeof precision);
}

/* YOURS, 4 of 7, worker do work: computes some tasks. They may be computed again on another rank. */
static int worker_work(void *state, mw_tasks tasks, mw_bytes shared, mw_bytes input, mw_buffer *result)
{
    const struct precision *precision = shared.data;
    struct part *parts = mw_reserve(result, (size_t)(tasks.end - tasks.start) * sizeof *parts);
    (void)state, (void)input;
    if (parts == NULL)
        return mw_fail("there is no memory for results");
    for (uint64_t task = tasks.start; task < tasks.end; task++)
        *parts++ = integrate(task, precision->error_max);
    return 0;
}

/* YOURS, 5 of 7, master recover: takes results, in any order; put them where their tasks are. */
static int master_recover(void *state, mw_tasks tasks, mw_bytes result)
{
    struct job *job = state;
    memcpy(job->parts + tasks.start, result.data, result.n_bytes);
    return 0;
}

/* What follows from all results of an iteration; a part of recover. The sum is made here, in the order of the tasks:
 * so it is the same on any number of ranks. */
static int master_end_iteration(void *state, const mw_iteration_report *report)
{
    struct job *job = state;
    double area = 0.0;
    for (int task = 0; task < N_INTERVALS; task++)
        area += job->parts[task].area;
    job->areas[report->iteration] = area;
    job->n_areas = report->iteration + 1;
    return 0;
}

/* YOURS, 6 of 7, worker final work: there will be no more tasks. Close files here. */
static void worker_final(void *state)
{
    (void)state;
}

/* YOURS, 7 of 7, master final work: after the last iteration. */
static int master_final(void *state, const mw_report *report)
{
    struct job *job = state;
    uint64_t n_evaluations = 0;
    (void)report;
    for (int task = 0; task < N_INTERVALS; task++)
        n_evaluations += job->parts[task].n_evaluations;
    for (uint64_t iteration = 0; iteration < job->n_areas; iteration++)
        printf("iteration %d: area %.15f\n", (int)iteration, job->areas[iteration]);
    printf("%llu evaluations in the last one\n", (unsigned long long)n_evaluations);
    free(job->parts);
    return 0;
}

/* What `--checkpoint FILE` writes after each iteration. */
static int master_save(void *state, mw_buffer *saved)
{
    const struct job *job = state;
    int code = mw_write(saved, &job->n_areas, sizeof job->n_areas);
    if (code == 0)
        code = mw_write(saved, job->areas, sizeof job->areas);
    return code != 0 ? code : mw_write(saved, job->parts, N_INTERVALS * sizeof *job->parts);
}

/* What `--resume` reads. */
static int master_restore(void *state, mw_bytes saved)
{
    struct job *job = state;
    const char *from = saved.data;
    if (saved.n_bytes != sizeof job->n_areas + sizeof job->areas + N_INTERVALS * sizeof *job->parts)
        return mw_fail("the checkpoint is that of another program");
    memcpy(&job->n_areas, from, sizeof job->n_areas);
    from += sizeof job->n_areas;
    memcpy(job->areas, from, sizeof job->areas);
    memcpy(job->parts, from + sizeof job->areas, N_INTERVALS * sizeof *job->parts);
    return 0;
}

mw_program program_of(struct job *job)
{
    mw_program program = {
        .state = job,
        .n_state_bytes = sizeof *job,
        .master_init = master_init,
        .worker_init = worker_init,
        .master_next = master_next,
        .worker_work = worker_work,
        .master_recover = master_recover,
        .master_end_iteration = master_end_iteration,
        .worker_final = worker_final,
        .master_final = master_final,
        .master_save = master_save,
        .master_restore = master_restore,
    };
    return program;
}
