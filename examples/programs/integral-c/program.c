/* A program of a master and workers: the area below sin(1/x) from 0.001 to 1, ever more precisely.
 *
 * What is to be replaced by what you compute is marked YOURS: the data in structures.h, and seven functions here. Tasks
 * are numbers from 0 on; here each is one of many equal intervals, from 1 downwards. Those near 0 take much longer: an
 * equal number for each worker would leave most of them waiting, so the library deals them as they come. What is dear
 * comes last, when chunks are small.
 *
 * A function that cannot go on returns mw_fail("why"). */
#include "program.h"
#include "structures_messages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
    double from = END - (double)(task + 1) * width;
    struct part part = {0};
    part.area = refined(&part, from, from + width, error_max);
    return part;
}

/* YOURS, 1 of 7, master initialize: before the first iteration. */
static int master_init(void *state)
{
    struct job *job = state;
    job->all.n_parts = N_INTERVALS;
    job->all.parts = calloc(N_INTERVALS, sizeof *job->all.parts);
    return job->all.parts == NULL ? mw_fail("there is no memory for the results") : 0;
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
    void *to = mw_reserve(shared, mw_pack_size_precision(&precision));
    (void)state;
    if (to == NULL)
        return mw_fail("there is no memory for a message");
    mw_pack_precision(&precision, to);
    plan->n_tasks = iteration < N_ITERATIONS ? N_INTERVALS : 0;
    return 0;
}

/* YOURS, 4 of 7, worker do work: computes some tasks. They may be computed again on another rank. */
static int worker_work(void *state, mw_tasks tasks, mw_bytes shared, mw_bytes input, mw_buffer *result)
{
    struct precision precision;
    struct parts parts = {tasks.end - tasks.start, NULL};
    void *to;
    (void)state, (void)input;
    if (mw_unpack_precision(&precision, shared.data, shared.n_bytes) == 0)
        return mw_fail("what is shared is not a precision");
    parts.parts = calloc(parts.n_parts, sizeof *parts.parts);
    to = parts.parts == NULL ? NULL : mw_reserve(result, mw_pack_size_parts(&parts));
    if (to != NULL) {
        for (uint64_t i = 0; i < parts.n_parts; i++)
            parts.parts[i] = integrate(tasks.start + i, precision.error_max);
        mw_pack_parts(&parts, to);
    }
    mw_free_parts(&parts);
    return to == NULL ? mw_fail("there is no memory for results") : 0;
}

/* YOURS, 5 of 7, master recover: takes results, in any order; put them where their tasks are. */
static int master_recover(void *state, mw_tasks tasks, mw_bytes result)
{
    struct job *job = state;
    struct parts parts;
    if (mw_unpack_parts(&parts, result.data, result.n_bytes) == 0)
        return mw_fail("a result is not what workers send");
    for (uint64_t i = 0; i < parts.n_parts; i++)
        job->all.parts[tasks.start + i] = parts.parts[i];
    mw_free_parts(&parts);
    return 0;
}

/* What follows from all results of an iteration; a part of recover. The sum is made here, in the order of the tasks:
 * so it is the same on any number of ranks. */
static int master_end_iteration(void *state, const mw_iteration_report *report)
{
    struct job *job = state;
    double area = 0.0;
    for (uint64_t task = 0; task < job->all.n_parts; task++)
        area += job->all.parts[task].area;
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
    for (uint64_t task = 0; task < job->all.n_parts; task++)
        n_evaluations += job->all.parts[task].n_evaluations;
    for (uint64_t iteration = 0; iteration < job->n_areas; iteration++)
        printf("iteration %d: area %.15f\n", (int)iteration, job->areas[iteration]);
    printf("%llu evaluations in the last one\n", (unsigned long long)n_evaluations);
    mw_free_job(job);
    return 0;
}

/* What `--checkpoint FILE` writes after each iteration. */
static int master_save(void *state, mw_buffer *saved)
{
    void *to = mw_reserve(saved, mw_pack_size_job(state));
    if (to == NULL)
        return mw_fail("there is no memory for the checkpoint");
    mw_pack_job(state, to);
    return 0;
}

/* What `--resume` reads. */
static int master_restore(void *state, mw_bytes saved)
{
    struct job job;
    if (mw_unpack_job(&job, saved.data, saved.n_bytes) == 0)
        return mw_fail("the checkpoint is that of another program");
    mw_free_job(state);
    *(struct job *)state = job;
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
