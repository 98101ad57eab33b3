/* The worker's loop; see worker.h. */
#define _POSIX_C_SOURCE 200809L
#include "worker.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "errors.h"
#include "messages.h"

static const int MASTER = 0;

static void idle(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    while (seconds > 0.0 && nanosleep(&left, &left) != 0)
        continue;
}

static double share_below_line(const struct worker *w)
{
    int n_below = 0;
    for (int i = 1; i <= NTareas; i++)
        n_below += w->section[i].y < w->config->imbalance_y;
    return (double)n_below / NTareas;
}

XFIRE_PROBED void arcStepKernel(struct worker *w)
{
    double start_s = MPI_Wtime();
    propagate_section(w->land, w->step, w->section + 1, NTareas, w->moved);
    double computed_s = MPI_Wtime() - start_s + NTareas * w->config->wait_us * 1e-6;
    double idle_s = NTareas * w->config->wait_us * 1e-6;
    if (w->config->has_imbalance)
        idle_s += computed_s * share_below_line(w);
    idle(idle_s);
    w->work.compute_s += MPI_Wtime() - start_s;
    w->work.idle_s += idle_s;
    w->work.n_points += NTareas;
    w->work.n_chunks += 1.0;
}

static int make_room(struct worker *w, int n_points)
{
    if (n_points <= w->capacity)
        return XFIRE_OK;
    free(w->section);
    free(w->moved);
    w->capacity = n_points + n_points / 2;
    w->section = malloc(((size_t)w->capacity + 2) * sizeof *w->section);
    w->moved = malloc((size_t)w->capacity * sizeof *w->moved);
    if (w->section == NULL || w->moved == NULL)
        return xfire_error(XFIRE_LIMIT, "no memory for a section of %d points", n_points);
    return XFIRE_OK;
}

static void receive_points(struct worker *w)
{
    MPI_Recv(w->section, (NTareas + 2) * DOUBLES_PER_POINT, MPI_DOUBLE, MASTER, TAG_WORK_POINTS,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_result(struct worker *w, const int *section)
{
    MPI_Send(section, N_SECTION_FIELDS, MPI_INT, MASTER, TAG_RESULT, MPI_COMM_WORLD);
    MPI_Send(w->moved, NTareas * DOUBLES_PER_POINT, MPI_DOUBLE, MASTER, TAG_RESULT_POINTS,
             MPI_COMM_WORLD);
}

/* Computes sections until the master has none left for this worker. */
static int serve_iteration(struct worker *w)
{
    int section[N_SECTION_FIELDS];
    for (;;) {
        MPI_Recv(section, N_SECTION_FIELDS, MPI_INT, MASTER, TAG_WORK, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (section[SECTION_N_POINTS] == 0)
            return XFIRE_OK;
        batchId = section[SECTION_BATCH];
        NTareas = section[SECTION_N_POINTS];
        int code = make_room(w, NTareas);
        if (code != XFIRE_OK)
            return code;
        receive_points(w);
        arcStepKernel(w);
        send_result(w, section);
    }
}

int worker_run(struct worker *w)
{
    int rank, code = XFIRE_OK;
    double iteration[N_ITERATION_FIELDS];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    workerId = rank;
    while (code == XFIRE_OK) {
        MPI_Bcast(iteration, N_ITERATION_FIELDS, MPI_DOUBLE, MASTER, MPI_COMM_WORLD);
        int n_workers = (int)iteration[ITERATION_N_WORKERS];
        if (n_workers == 0)
            break;
        iterId = (int)iteration[ITERATION_ID];
        w->step = (struct step){iteration[ITERATION_STEP_MIN], w->config->n_substeps};
        wind_select(&w->land->wind, iteration[ITERATION_TIME_MIN]);
        if (rank <= n_workers)
            code = serve_iteration(w);
    }
    free(w->section);
    free(w->moved);
    return code;
}
