/* The points of the fire line; see fire_line.h. */
#include "fire_line.h"

#include <limits.h>
#include <stdlib.h>

#include "errors.h"

int fire_line_reserve(struct fire_line *line, int capacity)
{
    if (capacity <= line->capacity)
        return XFIRE_OK;
    struct vec2 *storage = line->points == NULL ? NULL : line->points - 1;
    storage = realloc(storage, ((size_t)capacity + 2) * sizeof *storage);
    if (storage == NULL)
        return xfire_error(XFIRE_LIMIT, "no memory for a fire line of %d points", capacity);
    line->points = storage + 1;
    line->capacity = capacity;
    return XFIRE_OK;
}

int fire_line_push(struct fire_line *line, struct vec2 point)
{
    if (line->n == line->capacity) {
        if (line->capacity > INT_MAX / 2 - 8)
            return xfire_error(XFIRE_LIMIT, "the fire line has more than %d points", line->n);
        int code = fire_line_reserve(line, 2 * line->capacity + 16);
        if (code != XFIRE_OK)
            return code;
    }
    line->points[line->n++] = point;
    return XFIRE_OK;
}

void fire_line_free(struct fire_line *line)
{
    if (line->points != NULL)
        free(line->points - 1);
    *line = (struct fire_line){0};
}

void fire_line_swap(struct fire_line *a, struct fire_line *b)
{
    struct fire_line kept = *a;
    *a = *b;
    *b = kept;
}

void fire_line_set_neighbors(struct fire_line *line)
{
    struct vec2 *p = line->points;
    int n = line->n;
    if (line->is_closed) {
        p[-1] = p[n - 1];
        p[n] = p[0];
    } else {
        p[-1] = vec2_sub(vec2_scale(p[0], 2.0), p[1]);
        p[n] = vec2_sub(vec2_scale(p[n - 1], 2.0), p[n - 2]);
    }
}

int fire_line_n_segments(const struct fire_line *line)
{
    return line->is_closed ? line->n : line->n - 1;
}

struct vec2 fire_line_after(const struct fire_line *line, int idx)
{
    return line->points[idx + 1 < line->n ? idx + 1 : 0];
}

double fire_line_length_m(const struct fire_line *line)
{
    double length = 0.0;
    for (int i = 0; i < fire_line_n_segments(line); i++)
        length += vec2_norm(vec2_sub(fire_line_after(line, i), line->points[i]));
    return length;
}

double fire_line_area_m2(const struct fire_line *line)
{
    /* Relative to a point of the line: UTM coordinates squared would cost half of the digits. */
    double twice = 0.0;
    for (int i = 0; i < line->n; i++)
        twice += vec2_cross(vec2_sub(line->points[i], line->points[0]),
                            vec2_sub(fire_line_after(line, i), line->points[0]));
    return twice / 2.0;
}

void fire_line_orient(struct fire_line *line)
{
    if (!line->is_closed || fire_line_area_m2(line) >= 0.0)
        return;
    for (int i = 0, j = line->n - 1; i < j; i++, j--) {
        struct vec2 kept = line->points[i];
        line->points[i] = line->points[j];
        line->points[j] = kept;
    }
}

/* Replaces `line` by `result`. */
static void replace(struct fire_line *line, struct fire_line *result)
{
    result->is_closed = line->is_closed;
    fire_line_swap(line, result);
    fire_line_free(result);
}

int fire_line_resample(struct fire_line *line, int n)
{
    struct fire_line result = {0};
    int code = fire_line_reserve(&result, n);
    if (code != XFIRE_OK)
        return code;
    double apart = fire_line_length_m(line) / (line->is_closed ? n : n - 1);
    double passed = 0.0; /* length of the segments before `idx` */
    int idx = 0, last = fire_line_n_segments(line) - 1;
    struct vec2 step = vec2_sub(fire_line_after(line, 0), line->points[0]);
    for (int i = 0; i < n; i++) {
        while (idx < last && passed + vec2_norm(step) < i * apart) {
            passed += vec2_norm(step);
            idx++;
            step = vec2_sub(fire_line_after(line, idx), line->points[idx]);
        }
        double along = fmin(i * apart - passed, vec2_norm(step));
        result.points[i] = vec2_add(line->points[idx], vec2_scale(vec2_unit(step), along));
    }
    result.n = n;
    replace(line, &result);
    return XFIRE_OK;
}

/* True where the line turns so little that a curve through four points describes it. */
static bool is_smooth(const struct vec2 *p)
{
    struct vec2 before = vec2_unit(vec2_sub(p[0], p[-1]));
    struct vec2 here = vec2_unit(vec2_sub(p[1], p[0]));
    struct vec2 after = vec2_unit(vec2_sub(p[2], p[1]));
    return vec2_dot(before, here) > 0.8 && vec2_dot(here, after) > 0.8;
}

/* Catmull-Rom spline between p[0] and p[1], or the straight line at a corner. */
static struct vec2 between(const struct vec2 *p, double t)
{
    if (!is_smooth(p))
        return vec2_add(p[0], vec2_scale(vec2_sub(p[1], p[0]), t));
    double w_before = ((2.0 - t) * t - 1.0) * t / 2.0;
    double w_here = ((3.0 * t - 5.0) * t * t + 2.0) / 2.0;
    double w_next = ((4.0 - 3.0 * t) * t + 1.0) * t / 2.0;
    double w_after = (t - 1.0) * t * t / 2.0;
    return vec2_add(vec2_add(vec2_scale(p[-1], w_before), vec2_scale(p[0], w_here)),
                    vec2_add(vec2_scale(p[1], w_next), vec2_scale(p[2], w_after)));
}

/* The four points around segment `idx`, for `between`. */
static void around(const struct fire_line *line, int idx, struct vec2 four[4])
{
    int n = line->n;
    four[0] = line->points[idx - 1];
    four[1] = line->points[idx];
    four[2] = line->points[idx + 1];
    if (idx + 2 <= n)
        four[3] = line->points[idx + 2];
    else
        four[3] = line->points[1];
}

static int stretch_segment(const struct fire_line *line, int idx, double spacing_m,
                           struct fire_line *result)
{
    struct vec2 four[4];
    int code = fire_line_push(result, line->points[idx]);
    double length = vec2_norm(vec2_sub(line->points[idx + 1], line->points[idx]));
    double n_parts = ceil(length / spacing_m);
    if (n_parts <= 1.0)
        return code;
    around(line, idx, four);
    for (double k = 1.0; code == XFIRE_OK && k < n_parts; k += 1.0)
        code = fire_line_push(result, between(&four[1], k / n_parts));
    return code;
}

int fire_line_stretch(struct fire_line *line, double spacing_m)
{
    struct fire_line result = {0};
    fire_line_set_neighbors(line);
    int code = fire_line_reserve(&result, line->n);
    for (int i = 0; code == XFIRE_OK && i < fire_line_n_segments(line); i++)
        code = stretch_segment(line, i, spacing_m, &result);
    if (code == XFIRE_OK && !line->is_closed)
        code = fire_line_push(&result, line->points[line->n - 1]);
    if (code == XFIRE_OK)
        replace(line, &result);
    else
        fire_line_free(&result);
    return code;
}

void fire_line_thin(struct fire_line *line, double spacing_m)
{
    struct vec2 *p = line->points;
    int n_kept = 1, n_min = line->is_closed ? 3 : 2;
    for (int i = 1; i < line->n; i++) {
        int n_left = line->n - i;
        bool is_end = !line->is_closed && n_left == 1;
        bool is_far = vec2_norm(vec2_sub(p[i], p[n_kept - 1])) >= spacing_m;
        if (is_far || is_end || n_kept + n_left <= n_min)
            p[n_kept++] = p[i];
    }
    bool is_doubled = line->is_closed && n_kept > n_min &&
                      vec2_norm(vec2_sub(p[n_kept - 1], p[0])) < spacing_m;
    line->n = is_doubled ? n_kept - 1 : n_kept;
}
