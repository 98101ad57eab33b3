/* Tests of the fire line: resampling, stretching, thinning, and the removal of crossings. */
#include "check.h"
#include "crossings.h"
#include "errors.h"
#include "line_file.h"

static const double PI = 3.14159265358979323846;

static struct fire_line line_of(const struct vec2 *points, int n, bool is_closed)
{
    struct fire_line line = {.is_closed = is_closed};
    for (int i = 0; i < n; i++)
        fire_line_push(&line, points[i]);
    return line;
}

static struct fire_line circle_of(double radius, int n)
{
    struct fire_line line = {.is_closed = true};
    for (int i = 0; i < n; i++) {
        double angle = 2.0 * PI * i / n;
        fire_line_push(&line, (struct vec2){radius * cos(angle), radius * sin(angle)});
    }
    return line;
}

static double largest_gap(const struct fire_line *line)
{
    double largest = 0.0;
    for (int i = 0; i < fire_line_n_segments(line); i++)
        largest = fmax(largest, vec2_norm(vec2_sub(fire_line_after(line, i), line->points[i])));
    return largest;
}

static double smallest_gap(const struct fire_line *line)
{
    double smallest = INFINITY;
    for (int i = 0; i < fire_line_n_segments(line); i++)
        smallest = fmin(smallest, vec2_norm(vec2_sub(fire_line_after(line, i), line->points[i])));
    return smallest;
}

static void check_orientation(void)
{
    const struct vec2 clockwise[] = {{0, 0}, {0, 2}, {2, 2}, {2, 0}};
    struct fire_line line = line_of(clockwise, 4, true);
    check_near("area of a clockwise square", fire_line_area_m2(&line), -4.0, 1e-15);
    fire_line_orient(&line);
    check_near("area once turned", fire_line_area_m2(&line), 4.0, 1e-15);
    check_near("length", fire_line_length_m(&line), 8.0, 1e-15);
    fire_line_free(&line);
}

static void check_resample(bool is_closed, int n)
{
    const struct vec2 square[] = {{0, 0}, {10, 0}, {10, 10}, {0, 10}};
    struct fire_line line = line_of(square, 4, is_closed);
    double apart = fire_line_length_m(&line) / (is_closed ? n : n - 1);
    fire_line_resample(&line, n);
    check_true("resampled to n points", line.n == n);
    check_true("no gap is wider than the distance along the line",
               largest_gap(&line) < apart * (1.0 + 1e-9));
    check_near("the first point stays", line.points[0].x + line.points[0].y + 1.0, 1.0, 1e-12);
    if (!is_closed)
        check_near("the last point stays", vec2_norm(line.points[n - 1]), 10.0, 1e-9);
    fire_line_free(&line);
}

/* New points lie on the curve that the old ones describe, not on the chords. */
static void check_stretch(void)
{
    struct fire_line line = circle_of(100.0, 40);
    fire_line_stretch(&line, 4.0);
    check_true("stretched", line.n == 160);
    check_true("no gap is wider than the spacing", largest_gap(&line) <= 4.0);
    double worst = 0.0;
    for (int i = 0; i < line.n; i++)
        worst = fmax(worst, fabs(vec2_norm(line.points[i]) - 100.0));
    check_true("on the circle within a centimeter", worst < 0.01);
    fire_line_free(&line);
}

static void check_stretch_keeps_corners(void)
{
    const struct vec2 corner[] = {{0, 0}, {10, 0}, {10, 10}};
    struct fire_line line = line_of(corner, 3, false);
    fire_line_stretch(&line, 1.0);
    check_true("open line has both ends", line.n == 21 && line.points[20].y == 10.0);
    for (int i = 0; i < 10; i++)
        check_true("straight before the corner", line.points[i].y == 0.0);
    fire_line_free(&line);
}

static void check_thin(void)
{
    struct fire_line line = circle_of(1.0, 1000);
    fire_line_thin(&line, 0.1);
    check_true("thinned", line.n > 50 && line.n < 64 && smallest_gap(&line) >= 0.1);
    fire_line_thin(&line, 100.0);
    check_true("a closed line keeps three points", line.n == 3);
    fire_line_free(&line);
}

/* Checks the area and the number of points after crossings are removed. */
static void check_crossings(const char *what, const struct vec2 *points, int n, bool is_closed,
                            double area_or_length, int n_points)
{
    struct fire_line line = line_of(points, n, is_closed);
    int n_removed = 0;
    check_true(what, crossings_remove(&line, &n_removed) == XFIRE_OK);
    double found = is_closed ? fire_line_area_m2(&line) : fire_line_length_m(&line);
    check_near(what, found, area_or_length, 1e-12);
    check_true(what, line.n == n_points);
    int n_left = 0;
    crossings_remove(&line, &n_left);
    check_true(what, n_left == 0);
    fire_line_free(&line);
}

static void check_all_crossings(void)
{
    const struct vec2 square[] = {{0, 0}, {4, 0}, {4, 4}, {0, 4}};
    check_crossings("no crossing", square, 4, true, 16.0, 4);
    /* The upper side runs past itself in a small loop, as a front does in a hollow. */
    const struct vec2 loop[] = {{0, 0}, {4, 0}, {4, 4}, {1, 3}, {3, 3}, {0, 4}};
    check_crossings("loop at the edge", loop, 6, true, 16.0 - 4.0 / 3.0, 5);
    /* Two arms meet and close around an island, which is given up. */
    const struct vec2 arms[] = {{0, 0},   {10, 0}, {10, 6}, {4.5, 6}, {4.5, 5}, {9, 5},
                                {9, 1},   {1, 1},  {1, 5},  {5.5, 5}, {5.5, 6.5}, {0, 6.5}};
    check_crossings("arms that meet", arms, 12, true, 62.75, 6);
    const struct vec2 open[] = {{0, 0}, {4, 0}, {4, 2}, {2, 2}, {2, -2}};
    check_crossings("open line", open, 5, false, 4.0, 3);
}

static void check_ellipse(void)
{
    const double ellipse[4] = {1000.0, 2000.0, 30.0, 20.0};
    struct fire_line line = {0};
    line_ellipse(ellipse, &line);
    check_near("area of the ellipse", fire_line_area_m2(&line), PI * 30.0 * 20.0, 1e-5);
    fire_line_resample(&line, 786420);
    check_true("published size", line.n == 786420);
    int n_removed = 0;
    crossings_remove(&line, &n_removed);
    check_true("no crossings in an ellipse", n_removed == 0);
    fire_line_free(&line);
}

int main(void)
{
    check_orientation();
    for (int n = 3; n < 50; n += 7) {
        check_resample(true, n);
        check_resample(false, n);
    }
    check_stretch();
    check_stretch_keeps_corners();
    check_thin();
    check_all_crossings();
    check_ellipse();
    return check_report("geometry");
}
