/* The loop over simulated time; see simulation.h. */
#include "simulation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "crossings.h"
#include "errors.h"
#include "line_file.h"

/* Points are added beyond, and removed below, these multiples of the spacing. */
static const double STRETCH_BEYOND = 1.5, THIN_BELOW = 0.4;

static int make_line(struct simulation *sim)
{
    const struct config *c = sim->config;
    int code = c->has_ellipse ? line_ellipse(c->ellipse, &sim->line)
                              : line_file_read(c->line, c->ignition_radius_m, &sim->line);
    if (code != XFIRE_OK)
        return code;
    double length_m = fire_line_length_m(&sim->line);
    int n_ends = sim->line.is_closed ? 0 : 1;
    double n_points = c->n_points > 0 ? c->n_points : ceil(length_m / c->spacing_m) + n_ends;
    n_points = fmax(n_points, 8.0);
    if (!(length_m > 0.0) || n_points > c->n_points_max)
        return xfire_error(XFIRE_LIMIT, "a fire line of %g m would have %.0f points; `max_points` "
                           "is %d", length_m, n_points, c->n_points_max);
    sim->spacing_m = c->n_points > 0 ? length_m / (n_points - n_ends) : c->spacing_m;
    return fire_line_resample(&sim->line, (int)n_points);
}

static int check_place(const struct simulation *sim)
{
    for (int i = 0; i < sim->line.n; i++)
        if (landscape_is_burnable(sim->land, sim->line.points[i]))
            return XFIRE_OK;
    return xfire_error(XFIRE_INPUT, "no point of the fire line is on land that burns; check its "
                       "coordinates against the grids");
}

static int open_results(struct simulation *sim)
{
    char path[PATH_SIZE + 32];
    const struct config *c = sim->config;
    if (c->no_output)
        return XFIRE_OK;
    if (mkdir(c->out, 0777) != 0 && errno != EEXIST)
        return xfire_error(XFIRE_OUTPUT, "cannot create the folder `%s`: %s", c->out,
                           strerror(errno));
    snprintf(path, sizeof path, "%s/perimeters.geojson", c->out);
    int code = geojson_open(&sim->perimeters, path, c->epsg);
    sim->has_arrival = landscape_cells(sim->land) != NULL;
    return code == XFIRE_OK && sim->has_arrival ? arrival_init(&sim->arrival, sim->land) : code;
}

int simulation_init(struct simulation *sim, const struct config *config, struct landscape *land)
{
    *sim = (struct simulation){.config = config, .land = land, .time_min = config->start_min};
    sim->step.n_substeps = config->n_substeps;
    int code = make_line(sim);
    if (code == XFIRE_OK)
        code = crossings_remove(&sim->line, &sim->n_crossings);
    if (code == XFIRE_OK)
        code = check_place(sim);
    return code == XFIRE_OK ? open_results(sim) : code;
}

void simulation_free(struct simulation *sim)
{
    fire_line_free(&sim->line);
    fire_line_free(&sim->moved);
    if (sim->has_arrival)
        arrival_free(&sim->arrival);
}

int simulation_propagate_serially(struct simulation *sim, void *context)
{
    (void)context;
    propagate_section(sim->land, sim->step, sim->line.points, sim->line.n, sim->moved.points);
    return XFIRE_OK;
}

/* Makes the new line: joined, with points added where it has stretched, without loops. */
static int join(struct simulation *sim)
{
    double end_min = sim->time_min + sim->step.minutes;
    if (sim->has_arrival)
        arrival_sweep(&sim->arrival, &sim->line, sim->moved.points, sim->time_min, end_min);
    sim->moved.n = sim->line.n;
    sim->moved.is_closed = sim->line.is_closed;
    fire_line_swap(&sim->line, &sim->moved);
    int code = fire_line_stretch(&sim->line, STRETCH_BEYOND * sim->spacing_m);
    if (code != XFIRE_OK)
        return code;
    fire_line_thin(&sim->line, THIN_BELOW * sim->spacing_m);
    code = crossings_remove(&sim->line, &sim->n_crossings);
    if (code == XFIRE_OK && sim->has_arrival)
        code = arrival_fill(&sim->arrival, &sim->line, end_min);
    if (code == XFIRE_OK && sim->line.n > sim->config->n_points_max)
        code = xfire_error(XFIRE_LIMIT, "the fire line has %d points; `max_points` is %d",
                           sim->line.n, sim->config->n_points_max);
    return code;
}

static int iterate(struct simulation *sim, propagate_fn propagate, void *context)
{
    wind_select(&sim->land->wind, sim->time_min);
    fire_line_set_neighbors(&sim->line);
    int code = fire_line_reserve(&sim->moved, sim->line.n);
    if (code == XFIRE_OK)
        code = propagate(sim, context);
    return code == XFIRE_OK ? join(sim) : code;
}

/* True when an output time lies in (before, after]. */
static bool is_output_due(const struct config *c, double before, double after)
{
    double every = c->output_every_min, tolerance = 1e-9 * every;
    return floor((after - c->start_min + tolerance) / every) >
           floor((before - c->start_min + tolerance) / every);
}

static void write_perimeter(struct simulation *sim)
{
    if (sim->perimeters.file != NULL)
        geojson_add(&sim->perimeters, &sim->line, sim->time_min);
}

static int write_results(struct simulation *sim)
{
    char path[PATH_SIZE + 32];
    if (sim->perimeters.file == NULL)
        return XFIRE_OK;
    int code = geojson_close(&sim->perimeters);
    snprintf(path, sizeof path, "%s/arrival.asc", sim->config->out);
    return code == XFIRE_OK && sim->has_arrival ? grid_write(path, &sim->arrival.minutes) : code;
}

int simulation_run(struct simulation *sim, propagate_fn propagate, void *context)
{
    const struct config *c = sim->config;
    int n_iterations = (int)ceil((c->end_min - c->start_min) / c->step_min - 1e-9);
    int code = XFIRE_OK;
    if (sim->has_arrival)
        code = arrival_fill(&sim->arrival, &sim->line, sim->time_min);
    write_perimeter(sim);
    while (code == XFIRE_OK && sim->iteration < n_iterations) {
        double from_min = sim->time_min;
        double to_min = fmin(c->start_min + (sim->iteration + 1) * c->step_min, c->end_min);
        sim->step.minutes = to_min - from_min;
        code = iterate(sim, propagate, context);
        sim->iteration++;
        sim->time_min = to_min;
        if (is_output_due(c, from_min, to_min) || sim->iteration == n_iterations)
            write_perimeter(sim);
    }
    int code_of_results = write_results(sim);
    return code == XFIRE_OK ? code_of_results : code;
}

uint64_t simulation_digest(const struct simulation *sim)
{
    /* FNV-1a, 64 bits. */
    const unsigned char *bytes = (const unsigned char *)sim->line.points;
    uint64_t digest = 14695981039346656037u;
    for (size_t i = 0; i < (size_t)sim->line.n * sizeof *sim->line.points; i++)
        digest = (digest ^ bytes[i]) * 1099511628211u;
    return digest;
}
