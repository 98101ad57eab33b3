/* The first argument selects what the program tries; a line of output tells the result. */
#include <master_worker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_TASKS = 60, N_ITERATIONS = 3 };

struct state {
    const char *mode;
    const mw_options *options;
    uint64_t sums[N_TASKS];
    uint64_t n_iterations, n_recovered, n_arrived, first_start;
    uint32_t rank;
    int is_begun, is_worker, is_left;
    uint64_t *scratch;
    mw_priority priority;
};

static const mw_hint *hints(void *state, mw_tasks arrived, size_t *n_hints)
{
    static mw_hint hint;
    (void)state;
    hint.tasks = arrived;
    if (hint.tasks.start < 30)
        hint.tasks.start = 30;
    hint.priority = 2;
    hint.near = 1;
    *n_hints = 1;
    return &hint;
}

static int is_mode(const struct state *state, const char *mode)
{
    return strcmp(state->mode, mode) == 0;
}

static int master_init(void *data)
{
    struct state *state = data;
    state->is_begun += 1;
    return is_mode(state, "master-init-fails") ? 5 : 0;
}

static int worker_init(void *data, uint32_t rank)
{
    struct state *state = data;
    state->rank = rank;
    state->is_worker += 1;
    state->scratch = malloc(sizeof *state->scratch);
    if (is_mode(state, "init-fails-on-1") && rank == 1)
        return mw_fail("no device");
    return state->scratch == NULL || is_mode(state, "init-fails");
}

static int master_next(void *data, uint64_t iteration, mw_plan *plan, mw_buffer *shared)
{
    struct state *state = data;
    if (is_mode(state, "next-fails") && iteration == 1)
        return mw_fail("no more paper");
    if (iteration == N_ITERATIONS)
        return 0;
    state->n_recovered = 0;
    plan->n_tasks = N_TASKS;
    if (is_mode(state, "arrive")) {
        plan->n_tasks = state->n_arrived = 1;
        plan->n_arrived = &state->n_arrived;
    }
    state->priority.tasks.start = 30;
    state->priority.tasks.end = 40;
    state->priority.priority = 2;
    plan->priorities = &state->priority;
    plan->n_priorities = is_mode(state, "priority");
    plan->hints = is_mode(state, "hint") ? hints : NULL;
    plan->keeps_places = true;
    /* Shared data in two parts, of which the first is lent; workers keep them in later iterations. */
    if (iteration == 0 || is_mode(state, "resume")) {
        static const uint64_t factor = 3;
        uint64_t *offset;
        if (mw_lend(shared, &factor, sizeof factor) != 0 || (offset = mw_reserve(shared, sizeof *offset)) == NULL)
            return 1;
        *offset = 1;
    }
    return 0;
}

static int master_input(void *data, mw_tasks tasks, mw_buffer *input)
{
    const struct state *state = data;
    if (is_mode(state, "input-fails"))
        return 7;
    for (uint64_t task = tasks.start; task < tasks.end; task++)
        if (mw_write(input, &state->sums[task], sizeof state->sums[task]) != 0)
            return 1;
    return 0;
}

static int worker_work(void *data, mw_tasks tasks, mw_bytes shared, mw_bytes input, mw_buffer *result)
{
    struct state *state = data;
    const uint64_t *factor_and_offset = shared.data, *sums = input.data;
    uint64_t n = tasks.end - tasks.start;
    uint64_t *after = mw_reserve(result, (size_t)n * sizeof *after);
    if (state->is_worker != 1 || state->scratch == NULL)
        return mw_fail("it was not initialized once");
    if (state->is_begun != 0 && state->rank != 0)
        return mw_fail("it sees what the master changed");
    if (shared.n_bytes != 16 || input.n_bytes != n * 8 || after == NULL)
        return mw_fail("bytes are missing");
    if (is_mode(state, "rank-1-fails") && state->rank == 1)
        return 3;
    if (is_mode(state, "task-fails") && tasks.start <= 17 && 17 < tasks.end)
        return mw_fail("17 is bad");
    if (is_mode(state, "keep")) {
        uint64_t *kept = mw_keep(input.data);
        if (kept != input.data || mw_keep(input.data) != NULL || mw_keep(shared.data) != NULL)
            return mw_fail("the input is not kept once");
        sums = kept;
    }
    for (uint64_t i = 0; i < n; i++)
        after[i] = factor_and_offset[0] * sums[i] + factor_and_offset[1] * (tasks.start + i);
    if (is_mode(state, "keep"))
        mw_release((void *)sums);
    return 0;
}

static int master_recover(void *data, mw_tasks tasks, mw_bytes result)
{
    struct state *state = data;
    if (is_mode(state, "recover-fails"))
        return mw_fail("the disk is full");
    if (state->n_recovered == 0)
        state->first_start = tasks.start;
    memcpy(state->sums + tasks.start, result.data, result.n_bytes);
    state->n_recovered += result.n_bytes / sizeof *state->sums;
    if (is_mode(state, "arrive") && state->n_arrived < N_TASKS)
        state->n_arrived += 1;
    if (is_mode(state, "cancel"))
        mw_cancel(state->options);
    return 0;
}

static bool master_is_settled(void *data)
{
    return is_mode(data, "settled");
}

static int master_end_iteration(void *data, const mw_iteration_report *report)
{
    struct state *state = data;
    uint64_t n_tasks = 0;
    for (size_t i = 0; i < report->n_workers; i++)
        n_tasks += report->workers[i].n_tasks;
    if (n_tasks != state->n_recovered || report->n_tasks != N_TASKS || report->duration_s <= 0.0)
        return mw_fail("the report is wrong");
    if (report->explanation[0] == 0)
        return mw_fail("the report explains nothing");
    state->n_iterations += 1;
    return is_mode(state, "end-fails");
}

static int master_save(void *data, mw_buffer *saved)
{
    struct state *state = data;
    if (is_mode(state, "save-fails") && state->n_iterations == 2)
        return 4;
    return mw_write(saved, state->sums, sizeof state->sums);
}

static int master_restore(void *data, mw_bytes saved)
{
    struct state *state = data;
    if (saved.n_bytes != sizeof state->sums)
        return mw_fail("another size");
    memcpy(state->sums, saved.data, saved.n_bytes);
    return 0;
}

static void worker_final(void *data)
{
    struct state *state = data;
    free(state->scratch);
    state->is_left += 1;
}

static int master_final(void *data, const mw_report *report)
{
    struct state *state = data;
    uint64_t sum = 0;
    for (uint64_t task = 0; task < N_TASKS; task++)
        sum = 7 * sum + state->sums[task];
    if (is_mode(state, "settled"))
        printf("settled: %d\n", state->n_recovered < N_TASKS);
    else if (is_mode(state, "priority") || is_mode(state, "hint"))
        printf("first: %d\n", (int)state->first_start);
    else
        printf("sum %llu after %d iterations from %d, begun %d times\n", (unsigned long long)sum,
               (int)report->n_iterations, (int)report->first_iteration, state->is_begun);
    return is_mode(state, "final-fails") ? mw_fail("the result is ugly") : 0;
}

static int square(void *context, const void *item, void *result)
{
    const double *x = item;
    double *y = result;
    if (*x < 0.0)
        return mw_fail("a negative item");
    y[0] = *x * *x;
    y[1] = *(const double *)context;
    return 0;
}

static int map(double first)
{
    double items[100], results[100][2], context = 0.5, sum = 0.0;
    mw_function function = {square, &context, sizeof items[0], sizeof results[0]};
    int code;
    for (int i = 0; i < 100; i++)
        items[i] = i;
    items[0] = first;
    code = mw_map(&function, items, 100, results, NULL);
    for (int i = 0; i < 100 && code == MW_OK && mw_is_master(); i++)
        sum += results[i][0] + results[i][1];
    if (code == MW_OK && mw_is_master())
        printf("sum of squares %g\n", sum);
    return code;
}

static uint64_t n_taken, digest;

/* A task is the height of a tree, and makes those of two smaller ones. */
static int visit(void *context, const void *task, mw_bag *bag, void *result)
{
    int32_t height = *(const int32_t *)task;
    (void)context;
    *(int32_t *)result = height;
    for (int32_t less = 1; less <= 2 && less <= height; less++) {
        int32_t smaller = height - less;
        if (mw_bag_add(bag, &smaller, smaller % 3) != 0)
            return 1;
    }
    return 0;
}

static int take(void *context, const void *result)
{
    (void)context;
    n_taken++;
    digest = digest * 31 + (uint64_t)*(const int32_t *)result;
    return 0;
}

static int bag(const mw_options *options)
{
    mw_bag_function function = {visit, take, NULL, sizeof(int32_t), sizeof(int32_t)};
    int32_t first[] = {15, 3};
    int code = mw_run_bag(&function, first, 2, options);
    if (code == MW_OK && mw_is_master())
        printf("%llu tasks, digest %llu\n", (unsigned long long)n_taken, (unsigned long long)digest);
    return code;
}

int main(int argc, char **argv)
{
    static struct state state;
    mw_options *options = mw_options_from_args(&argc, argv);
    mw_program program = {&state, sizeof state, N_ITERATIONS, master_init, worker_init, master_next, master_input,
                          worker_work, master_recover, master_is_settled, master_end_iteration,
                          master_save, master_restore, worker_final, master_final};
    int code;
    state.mode = argc < 2 ? "" : argv[1];
    state.options = options;
    if (is_mode(&state, "no-work"))
        program.worker_work = NULL;
    if (is_mode(&state, "unknown-option"))
        code = mw_options_set(options, "speed", "9");
    else if (is_mode(&state, "set-option"))
        code = mw_options_set(options, "policy", "fastest") || mw_run_with(&program, options);
    else if (is_mode(&state, "map"))
        code = map(0.0);
    else if (is_mode(&state, "bag"))
        code = bag(options);
    else if (is_mode(&state, "map-fails"))
        code = map(-1.0);
    else
        code = mw_run_with(&program, options);
    if (is_mode(&state, "rest"))
        printf("%d left: %s %s\n", argc, argv[1], argv[argc - 1]);
    if (state.is_left != (state.is_worker != 0) && !is_mode(&state, "init-fails"))
        printf("not left as often as entered\n");
    if (code != MW_OK)
        fprintf(stderr, "%d: %s\n", code, mw_last_error());
    mw_options_free(options);
    return code;
}
