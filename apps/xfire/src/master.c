/* The master's side of an iteration; see master.h. */
#include "master.h"

#include <mpi.h>

#include "errors.h"
#include "messages.h"

static const int MASTER = 0;

/* Number of workers to use: NW, as a tool may have set it, limited to the existing ones. */
static int workers_in_use(const struct master *master)
{
    int n = NW;
    int n_used = n < 1 ? 1 : n > master->n_workers ? master->n_workers : n;
    if (n_used != n)
        NW = n_used;
    return n_used;
}

static void announce_iteration(const struct simulation *sim, int n_workers)
{
    double iteration[N_ITERATION_FIELDS] = {
        [ITERATION_ID] = sim->iteration,
        [ITERATION_N_WORKERS] = n_workers,
        [ITERATION_TIME_MIN] = sim->time_min,
        [ITERATION_STEP_MIN] = sim->step.minutes,
    };
    MPI_Bcast(iteration, N_ITERATION_FIELDS, MPI_DOUBLE, MASTER, MPI_COMM_WORLD);
}

XFIRE_PROBED void global_sendwork(const struct master *master, int worker, int first)
{
    int section[N_SECTION_FIELDS] = {iterId, batchId, first, NTareas};
    MPI_Send(section, N_SECTION_FIELDS, MPI_INT, worker, TAG_WORK, MPI_COMM_WORLD);
    MPI_Send(&master->sim->line.points[first - 1], (NTareas + 2) * DOUBLES_PER_POINT, MPI_DOUBLE,
             worker, TAG_WORK_POINTS, MPI_COMM_WORLD);
}

XFIRE_PROBED void global_receivework(const struct master *master)
{
    int section[N_SECTION_FIELDS];
    MPI_Status status;
    MPI_Recv(section, N_SECTION_FIELDS, MPI_INT, MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD,
             &status);
    workerId = status.MPI_SOURCE;
    batchId = section[SECTION_BATCH];
    NTareas = section[SECTION_N_POINTS];
    MPI_Recv(&master->sim->moved.points[section[SECTION_FIRST]], NTareas * DOUBLES_PER_POINT,
             MPI_DOUBLE, status.MPI_SOURCE, TAG_RESULT_POINTS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Sends a worker its next chunk; when there is none, tells it to rest and returns false. */
static bool deal(struct master *master, int worker)
{
    struct chunk chunk;
    if (!factoring_next(&master->factoring, &chunk)) {
        int nothing[N_SECTION_FIELDS] = {iterId, 0, 0, 0};
        MPI_Send(nothing, N_SECTION_FIELDS, MPI_INT, worker, TAG_WORK, MPI_COMM_WORLD);
        return false;
    }
    workerId = worker;
    batchId = chunk.batch;
    NTareas = chunk.n_points;
    global_sendwork(master, worker, chunk.first);
    return true;
}

XFIRE_PROBED void global_sendreceive(struct master *master)
{
    int n_workers = workers_in_use(master), n_busy = 0;
    announce_iteration(master->sim, n_workers);
    factoring_start(&master->factoring, TheTotalWork, n_workers, master->min_chunk);
    for (int worker = 1; worker <= n_workers; worker++)
        n_busy += deal(master, worker);
    while (n_busy > 0) {
        global_receivework(master);
        if (!deal(master, workerId))
            n_busy--;
    }
}

int master_propagate(struct simulation *sim, void *context)
{
    struct master *master = context;
    iterId = sim->iteration;
    TheTotalWork = sim->line.n;
    TheWorkSizeUnitBytes = (int)sizeof(struct vec2);
    global_sendreceive(master);
    return XFIRE_OK;
}

void master_finish(void)
{
    double over[N_ITERATION_FIELDS] = {[ITERATION_N_WORKERS] = 0};
    MPI_Bcast(over, N_ITERATION_FIELDS, MPI_DOUBLE, MASTER, MPI_COMM_WORLD);
}
