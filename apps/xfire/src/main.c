/*
 * Xfire: forest fire propagation, master/worker over MPI. Sets up, runs one of the two roles and
 * reports. Not here: the model (rothermel.c, ellipse.c, propagate.c), the loop (simulation.c).
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "master.h"
#include "share.h"
#include "worker.h"

static const int MASTER = 0;

/* A parallel iteration that the master computes once more and compares. */
static int propagate_and_check(struct simulation *sim, void *context)
{
    struct fire_line expected = {0};
    int code = master_propagate(sim, context);
    if (code == XFIRE_OK)
        code = fire_line_reserve(&expected, sim->line.n);
    if (code == XFIRE_OK)
        propagate_section(sim->land, sim->step, sim->line.points, sim->line.n, expected.points);
    for (int i = 0; code == XFIRE_OK && i < sim->line.n; i++)
        if (memcmp(&expected.points[i], &sim->moved.points[i], sizeof(struct vec2)) != 0)
            code = xfire_error(XFIRE_MISMATCH, "iteration %d: point %d of %d differs from the "
                               "serial result", sim->iteration, i, sim->line.n);
    fire_line_free(&expected);
    return code;
}

static int run_parallel(struct simulation *sim, int n_workers)
{
    const struct config *c = sim->config;
    struct master master = {.n_workers = n_workers, .min_chunk = c->min_chunk, .sim = sim};
    F0 = c->f0;
    F1 = c->f1;
    F2 = c->f2;
    NW = c->n_workers > 0 ? c->n_workers : n_workers;
    int code = simulation_run(sim, c->is_checked ? propagate_and_check : master_propagate, &master);
    master_finish();
    return code;
}

static void print_run(const struct simulation *sim, double elapsed_s, int n_workers)
{
    printf("xfire: %d iterations to minute %g in %.2f s with %d workers%s\n", sim->iteration,
           sim->time_min, elapsed_s, n_workers, n_workers == 0 ? " (serial)" : "");
    printf("xfire: %d points, %.3f km of fire line", sim->line.n,
           fire_line_length_m(&sim->line) / 1e3);
    if (sim->line.is_closed)
        printf(", %.2f ha burned", fire_line_area_m2(&sim->line) / 1e4);
    printf(", %d crossings removed, line %016llx\n", sim->n_crossings,
           (unsigned long long)simulation_digest(sim));
    if (!sim->config->no_output)
        printf("xfire: results in %s\n", sim->config->out);
}

/* Collective. Prints the workers' statistics on the master. */
static void print_work(int rank, int n_workers, bool is_quiet, const struct work *work)
{
    double mine[4] = {work->compute_s, work->idle_s, work->n_points, work->n_chunks};
    double sum[4], largest[4];
    MPI_Reduce(mine, sum, 4, MPI_DOUBLE, MPI_SUM, MASTER, MPI_COMM_WORLD);
    MPI_Reduce(mine, largest, 4, MPI_DOUBLE, MPI_MAX, MASTER, MPI_COMM_WORLD);
    if (rank == MASTER && !is_quiet)
        printf("xfire: workers computed %.0f points in %.0f chunks, %.2f s on average, %.2f s at "
               "most, %.2f s of it idle\n", sum[2], sum[3], sum[0] / n_workers, largest[0], sum[1]);
}

static int run_master(const struct config *config, struct landscape *land, int n_workers)
{
    struct simulation sim;
    double start_s = MPI_Wtime();
    bool is_parallel = n_workers > 0;
    int code = simulation_init(&sim, config, land);
    if (code == XFIRE_OK)
        code = is_parallel ? run_parallel(&sim, n_workers)
                           : simulation_run(&sim, simulation_propagate_serially, NULL);
    else if (is_parallel)
        master_finish();
    if (code == XFIRE_OK && !config->is_quiet)
        print_run(&sim, MPI_Wtime() - start_s, n_workers);
    simulation_free(&sim);
    return code;
}

static int run_worker(const struct config *config, struct landscape *land, struct work *work)
{
    struct worker worker = {.config = config, .land = land};
    int code = worker_run(&worker);
    *work = worker.work;
    if (code != XFIRE_OK)
        MPI_Abort(MPI_COMM_WORLD, code); /* the master waits for a result that will not come */
    return code;
}

/* Collective; every rank returns the exit code of the master. */
static int run(int argc, char **argv, int rank, int n_ranks)
{
    static struct config config;
    static struct landscape land;
    struct work work = {0};
    int code = rank == MASTER ? config_read(argc, argv, &config) : XFIRE_OK;
    if (rank == MASTER && config.is_help)
        config_print_help();
    else if (code == XFIRE_OK && rank == MASTER)
        code = landscape_read(&config, &land);
    code = share_setup(rank, code, &config, &land);
    if (code != XFIRE_OK || config.is_help)
        return code;
    int n_workers = config.is_serial ? 0 : n_ranks - 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == MASTER)
        code = run_master(&config, &land, n_workers);
    else if (!config.is_serial)
        run_worker(&config, &land, &work);
    if (n_workers > 0)
        print_work(rank, n_workers, config.is_quiet, &work);
    landscape_free(&land);
    MPI_Bcast(&code, 1, MPI_INT, MASTER, MPI_COMM_WORLD);
    return code;
}

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int code = run(argc, argv, rank, n_ranks);
    MPI_Finalize();
    return code;
}
