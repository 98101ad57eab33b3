/* Tests of the motion of points against known results: circles, ellipses, slopes, barriers. */
#include "check.h"
#include "ellipse.h"
#include "propagate.h"

#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
enum { N_POINTS = 720 };

static struct landscape flat_land(struct vec2 wind_ft_min)
{
    static struct wind_record record;
    const struct moisture moisture = {{0.06, 0.07, 0.08, 0.6, 0.9}};
    struct landscape land = {.uniform_fuel = 1, .wind = {1, &record, 0, 1}};
    record = (struct wind_record){.velocity_ft_min = wind_ft_min};
    for (int number = 1; number <= N_FUEL_MODELS; number++) {
        rothermel_bed(fuel_model(number), &moisture, &land.beds[number]);
        land.wind_adjustment[number] = 1.0;
    }
    return land;
}

/* A closed ring of points with the neighbors of its ends; points[0] is ring[1]. */
static void fill_ring(struct vec2 *ring, double radius)
{
    for (int i = -1; i <= N_POINTS; i++) {
        double angle = 2.0 * PI * i / N_POINTS;
        ring[i + 1] = (struct vec2){radius * cos(angle), radius * sin(angle)};
    }
}

static void check_circle(void)
{
    struct vec2 ring[N_POINTS + 2], moved[N_POINTS];
    struct landscape land = flat_land((struct vec2){0.0, 0.0});
    fill_ring(ring, 100.0);
    propagate_section(&land, (struct step){10.0, 3}, ring + 1, N_POINTS, moved);
    double expected = 100.0 + 10.0 * land.beds[1].base_rate * 0.3048;
    for (int i = 0; i < N_POINTS; i += 90)
        check_near("a circle stays one", vec2_norm(moved[i]), expected, 1e-12);
}

/* Huygens: a point that burns for t minutes is the wavelet enlarged t times (Richards 1990). */
static void check_wind(double angle)
{
    struct vec2 ring[N_POINTS + 2], moved[N_POINTS];
    struct vec2 wind = {600.0 * cos(angle), 600.0 * sin(angle)};
    struct landscape land = flat_land(wind);
    struct head_fire head = rothermel_head(&land.beds[1], wind, (struct vec2){0.0, 0.0});
    struct ellipse wave = ellipse_of(&head);
    fill_ring(ring, 1.0);
    propagate_section(&land, (struct step){10.0, 1}, ring + 1, N_POINTS, moved);
    struct vec2 across = {-wave.direction.y, wave.direction.x};
    double scale = 10.0 * 0.3048;
    for (int i = 0; i < N_POINTS; i += 45) {
        struct vec2 v = vec2_scale(vec2_sub(moved[i], ring[i + 1]), 1.0 / scale);
        double x = (vec2_dot(v, wave.direction) - wave.offset) / wave.half_length;
        double y = vec2_dot(v, across) / wave.half_width;
        check_near("moved onto the ellipse", x * x + y * y, 1.0, 1e-10);
    }
}

static struct grid constant_grid(float value)
{
    struct grid grid = {40, 40, -1000.0, -1000.0, 50.0, -9999.0f, NULL};
    struct grid filled;
    grid_alloc_like(&grid, value, &filled);
    return filled;
}

static void check_slope(void)
{
    struct vec2 ring[N_POINTS + 2], moved[N_POINTS];
    struct landscape land = flat_land((struct vec2){0.0, 0.0});
    land.terrain = constant_grid(0.0f);
    land.gradient_x = constant_grid(0.0f);
    land.gradient_y = constant_grid(0.5f);
    fill_ring(ring, 10.0);
    propagate_section(&land, (struct step){1.0, 1}, ring + 1, N_POINTS, moved);
    struct head_fire head =
        rothermel_head(&land.beds[1], (struct vec2){0.0, 0.0}, (struct vec2){0.0, 0.5});
    double uphill = moved[N_POINTS / 4].y - 10.0, downhill = -moved[3 * N_POINTS / 4].y - 10.0;
    double horizontal = head.rate_ft_min * 0.3048 / sqrt(1.25);
    check_near("uphill rate, seen from above", uphill, horizontal, 1e-12);
    check_true("slower downhill", downhill > 0.0 && downhill < 0.5 * uphill);
    grid_free(&land.terrain);
    grid_free(&land.gradient_x);
    grid_free(&land.gradient_y);
}

static void check_barrier(void)
{
    struct vec2 ring[N_POINTS + 2], moved[N_POINTS];
    struct landscape land = flat_land((struct vec2){600.0, 0.0});
    land.fuel = constant_grid(1.0f);
    for (int row = 0; row < land.fuel.n_rows; row++)
        *grid_cell(&land.fuel, 21, row) = 0.0f; /* 50 m to 100 m east */
    fill_ring(ring, 45.0);
    propagate_section(&land, (struct step){60.0, 2000}, ring + 1, N_POINTS, moved);
    check_true("stops in the first step into the barrier", moved[0].x > 50.0 && moved[0].x < 52.0);
    check_true("moves elsewhere", moved[N_POINTS / 2].x < -46.0);
    grid_free(&land.fuel);
}

/* Any partition gives the same bits. */
static void check_partition(int size)
{
    struct vec2 ring[N_POINTS + 2], whole[N_POINTS], parts[N_POINTS];
    struct landscape land = flat_land((struct vec2){300.0, 200.0});
    fill_ring(ring, 50.0);
    propagate_section(&land, (struct step){1.0, 3}, ring + 1, N_POINTS, whole);
    for (int first = 0; first < N_POINTS; first += size) {
        int n = first + size < N_POINTS ? size : N_POINTS - first;
        propagate_section(&land, (struct step){1.0, 3}, ring + 1 + first, n, parts + first);
    }
    check_true("partition does not matter", memcmp(whole, parts, sizeof whole) == 0);
}

int main(void)
{
    check_circle();
    for (int i = 0; i < 8; i++)
        check_wind(i * 0.8);
    check_slope();
    check_barrier();
    check_partition(1);
    check_partition(7);
    check_partition(100);
    return check_report("propagate");
}
