/* Heat spreads along a rod: in every iteration the workers get the whole rod, and return new values of its parts.
 *
 *   cc -std=c99 heat.c -lmaster_worker -lm -o heat
 *   ./heat --progress              on a thread per core
 *   mpirun -n 4 ./heat --progress  on four ranks
 */
#include <master_worker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CELLS = 1000, N_ITERATIONS = 100 };

/* State of the master; workers see it only as shared data. */
struct rod {
    double heat[N_CELLS];
};

static int next(void *state, uint64_t iteration, mw_plan *plan, mw_buffer *shared)
{
    const struct rod *rod = state;
    if (iteration == N_ITERATIONS)
        return 0;
    plan->n_tasks = N_CELLS;
    return mw_write(shared, rod->heat, sizeof rod->heat);
}

static int work(void *state, mw_tasks tasks, mw_bytes shared, mw_bytes input, mw_buffer *result)
{
    const double *heat = shared.data;
    double *after = mw_reserve(result, (size_t)(tasks.end - tasks.start) * sizeof *after);
    (void)state, (void)input;
    if (after == NULL || shared.n_bytes != N_CELLS * sizeof *heat)
        return mw_fail("there is no memory, or no rod");
    for (uint64_t i = tasks.start; i < tasks.end; i++) {
        double left = heat[i == 0 ? 0 : i - 1];
        double right = heat[i == N_CELLS - 1 ? i : i + 1];
        *after++ = (left + heat[i] + right) / 3.0;
    }
    return 0;
}

static int recover(void *state, mw_tasks tasks, mw_bytes result)
{
    struct rod *rod = state;
    memcpy(rod->heat + tasks.start, result.data, result.n_bytes);
    return 0;
}

static int save(void *state, mw_buffer *saved)
{
    return mw_lend(saved, state, sizeof(struct rod));
}

static int restore(void *state, mw_bytes saved)
{
    if (saved.n_bytes != sizeof(struct rod))
        return mw_fail("the checkpoint is that of another rod");
    memcpy(state, saved.data, saved.n_bytes);
    return 0;
}

static int final(void *state, const mw_report *report)
{
    const struct rod *rod = state;
    (void)report;
    printf("heat at cell 0: %.17g, at cell 9: %.17g, at cell 99: %.17g\n", rod->heat[0], rod->heat[9],
           rod->heat[99]);
    return 0;
}

int main(int argc, char **argv)
{
    static struct rod rod = {{100.0}};
    mw_program program = {0};
    program.state = &rod;
    program.n_iterations = N_ITERATIONS;
    program.master_next = next;
    program.worker_work = work;
    program.master_recover = recover;
    program.master_save = save;
    program.master_restore = restore;
    program.master_final = final;
    return mw_run(&program, argc, argv);
}
