/* Tests of whole serial runs against known results: growth of an ellipse, arrival times, merging. */
#include "check.h"
#include "crossings.h"
#include "ellipse.h"
#include "errors.h"
#include "simulation.h"

#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double METERS_PER_FT = 0.3048;

static struct wind_record record;

static struct landscape flat_land(struct vec2 wind_ft_min)
{
    const struct moisture moisture = {{0.06, 0.07, 0.08, 0.6, 0.9}};
    struct landscape land = {.uniform_fuel = 1, .wind = {1, &record, 0, 1}};
    record = (struct wind_record){.velocity_ft_min = wind_ft_min};
    for (int number = 1; number <= N_FUEL_MODELS; number++) {
        rothermel_bed(fuel_model(number), &moisture, &land.beds[number]);
        land.wind_adjustment[number] = 1.0;
    }
    return land;
}

static struct config config_of(double minutes)
{
    struct config c = {
        .has_ellipse = true, .ellipse = {0.0, 0.0, 10.0, 10.0}, .end_min = minutes, .step_min = 0.5,
        .output_every_min = 1e9, .spacing_m = 3.0, .n_points_max = 100000, .n_substeps = 1,
        .no_output = true,
    };
    return c;
}

/* Huygens: in steady wind the fire stays an ellipse, but for the start that is a small circle. */
static void check_growth(double angle)
{
    struct vec2 wind = {500.0 * cos(angle), 500.0 * sin(angle)};
    struct landscape land = flat_land(wind);
    struct config config = config_of(60.0);
    struct simulation sim;
    struct head_fire head = rothermel_head(&land.beds[1], wind, (struct vec2){0.0, 0.0});
    struct ellipse wave = ellipse_of(&head);
    check_true("starts", simulation_init(&sim, &config, &land) == XFIRE_OK);
    check_true("runs", simulation_run(&sim, simulation_propagate_serially, NULL) == XFIRE_OK);
    double ahead = 0.0;
    for (int i = 0; i < sim.line.n; i++)
        ahead = fmax(ahead, vec2_dot(sim.line.points[i], wave.direction));
    double scale = 60.0 * METERS_PER_FT;
    check_near("distance of the head", ahead, 10.0 + head.rate_ft_min * scale, 1e-3);
    double half_length = wave.half_length * scale + 10.0;
    double half_width = wave.half_width * scale + 10.0;
    check_near("area", fire_line_area_m2(&sim.line), PI * half_length * half_width, 1e-2);
    check_true("no crossings", sim.n_crossings == 0);
    simulation_free(&sim);
}

static struct grid cells_40_m(void)
{
    struct grid shape = {50, 50, -1000.0, -1000.0, 40.0, -9999.0f, NULL}, filled;
    grid_alloc_like(&shape, 1.0f, &filled);
    return filled;
}

/* In calm air a cell burns when its distance has been covered. */
static void check_arrival(void)
{
    struct landscape land = flat_land((struct vec2){0.0, 0.0});
    struct config config = config_of(250.0);
    struct simulation sim;
    land.fuel = cells_40_m();
    *grid_cell(&land.fuel, 25, 20) = 0.0f;
    simulation_init(&sim, &config, &land);
    sim.has_arrival = arrival_init(&sim.arrival, &land) == XFIRE_OK;
    simulation_run(&sim, simulation_propagate_serially, NULL);
    double rate = land.beds[1].base_rate * METERS_PER_FT;
    const int cells[][2] = {{25, 25}, {27, 25}, {23, 26}, {25, 28}, {28, 28}};
    for (int i = 0; i < 5; i++) {
        double away = vec2_norm(grid_center(&land.fuel, cells[i][0], cells[i][1]));
        double minute = (double)*grid_cell(&sim.arrival.minutes, cells[i][0], cells[i][1]);
        check_near("arrival", minute, (away - 10.0) / rate, 5e-3);
    }
    check_true("never in a cell that does not burn",
               *grid_cell(&sim.arrival.minutes, 25, 20) == -9999.0f);
    check_true("not yet far away", *grid_cell(&sim.arrival.minutes, 0, 0) == -9999.0f);
    simulation_free(&sim);
    grid_free(&land.fuel);
}

/* The fire flows around an obstacle and merges behind it, without a crossing left. */
static void check_merging(void)
{
    struct landscape land = flat_land((struct vec2){300.0, 0.0});
    struct config config = config_of(40.0);
    struct simulation sim;
    land.fuel = cells_40_m();
    for (int row = 24; row < 26; row++)
        *grid_cell(&land.fuel, 27, row) = 0.0f;
    simulation_init(&sim, &config, &land);
    simulation_run(&sim, simulation_propagate_serially, NULL);
    check_true("crossings were removed", sim.n_crossings > 0);
    int n_left = 0, n_on_obstacle = 0;
    crossings_remove(&sim.line, &n_left);
    for (int i = 0; i < sim.line.n; i++)
        n_on_obstacle += !landscape_is_burnable(&land, sim.line.points[i]);
    check_true("none is left", n_left == 0);
    check_true("the obstacle is behind the line", n_on_obstacle == 0);
    simulation_free(&sim);
    grid_free(&land.fuel);
}

static void check_wet(void)
{
    struct landscape land = flat_land((struct vec2){500.0, 0.0});
    struct config config = config_of(10.0);
    struct simulation sim;
    land.beds[1].base_rate = 0.0;
    simulation_init(&sim, &config, &land);
    double before = fire_line_area_m2(&sim.line);
    simulation_run(&sim, simulation_propagate_serially, NULL);
    check_true("a fire that cannot burn stays", fire_line_area_m2(&sim.line) == before);
    simulation_free(&sim);
}

static void check_limit(void)
{
    struct landscape land = flat_land((struct vec2){500.0, 0.0});
    struct config config = config_of(600.0);
    struct simulation sim;
    config.n_points_max = 500;
    simulation_init(&sim, &config, &land);
    fputs("an error on purpose: ", stderr);
    check_true("too many points is an error",
               simulation_run(&sim, simulation_propagate_serially, NULL) == XFIRE_LIMIT);
    simulation_free(&sim);
}

int main(void)
{
    for (int i = 0; i < 6; i++)
        check_growth(i * 1.1);
    check_arrival();
    check_merging();
    check_wet();
    check_limit();
    return check_report("simulation");
}
