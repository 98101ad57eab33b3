/* The initial fire line; see line_file.h. */
#include "line_file.h"

#include <stdio.h>
#include <string.h>

#include "errors.h"

static const double PI = 3.14159265358979323846;
enum { N_CAP_POINTS = 16, N_ELLIPSE_POINTS = 4096 };

static int read_points(FILE *file, const char *path, struct fire_line *line, char *kind)
{
    char text[256];
    int code = XFIRE_OK;
    kind[0] = '\0';
    for (int number = 1; code == XFIRE_OK && fgets(text, sizeof text, file) != NULL; number++) {
        struct vec2 point;
        char word[16], rest;
        text[strcspn(text, "#")] = '\0';
        if (sscanf(text, "%15s", word) != 1)
            continue;
        if (kind[0] == '\0')
            strcpy(kind, word);
        else if (sscanf(text, "%lf %lf %c", &point.x, &point.y, &rest) == 2)
            code = fire_line_push(line, point);
        else
            code = xfire_error(XFIRE_INPUT, "`%s` line %d: expected `x y`", path, number);
    }
    return code;
}

/* Half a turn around `center`, counterclockwise from the right of `heading`. */
static int push_cap(struct fire_line *line, struct vec2 center, struct vec2 heading, double radius)
{
    int code = XFIRE_OK;
    for (int i = 0; code == XFIRE_OK && i <= N_CAP_POINTS; i++) {
        double angle = atan2(heading.y, heading.x) + PI * ((double)i / N_CAP_POINTS - 0.5);
        struct vec2 spoke = {radius * cos(angle), radius * sin(angle)};
        code = fire_line_push(line, vec2_add(center, spoke));
    }
    return code;
}

/* The right side of points[from..to) at a distance; `way` is 1 forwards and -1 backwards. */
static int push_side(struct fire_line *ring, const struct fire_line *line, int way, double radius)
{
    int code = XFIRE_OK;
    for (int k = 1; code == XFIRE_OK && k < line->n - 1; k++) {
        int i = way > 0 ? k : line->n - 1 - k;
        struct vec2 along = vec2_unit(vec2_sub(line->points[i + way], line->points[i - way]));
        struct vec2 right = {radius * along.y, -radius * along.x};
        code = fire_line_push(ring, vec2_add(line->points[i], right));
    }
    return code;
}

/* The closed curve around a polyline, or the circle around a point. */
static int surround(struct fire_line *line, double radius)
{
    struct fire_line ring = {.is_closed = true};
    const struct vec2 *p = line->points;
    int last = line->n - 1;
    struct vec2 east = {1.0, 0.0};
    struct vec2 ahead = last > 0 ? vec2_sub(p[last], p[last - 1]) : east;
    struct vec2 behind = last > 0 ? vec2_sub(p[0], p[1]) : vec2_scale(east, -1.0);
    int code = push_side(&ring, line, 1, radius);
    if (code == XFIRE_OK)
        code = push_cap(&ring, p[last], ahead, radius);
    if (code == XFIRE_OK)
        code = push_side(&ring, line, -1, radius);
    if (code == XFIRE_OK)
        code = push_cap(&ring, p[0], behind, radius);
    fire_line_swap(line, &ring);
    fire_line_free(&ring);
    return code;
}

static int shape(struct fire_line *line, const char *kind, const char *path, double radius)
{
    bool is_point = strcmp(kind, "point") == 0, is_line = strcmp(kind, "line") == 0;
    bool is_closed = strcmp(kind, "closed") == 0;
    if (!is_point && !is_line && !is_closed && strcmp(kind, "open") != 0)
        return xfire_error(XFIRE_INPUT, "`%s` starts with `%s`; expected `point`, `line`, `open` "
                           "or `closed`", path, kind);
    int n_min = is_point ? 1 : is_closed ? 3 : 2;
    if (line->n < n_min || (is_point && line->n > 1))
        return xfire_error(XFIRE_INPUT, "`%s` has %d points; a fire line of kind `%s` has %s%d",
                           path, line->n, kind, is_point ? "" : "at least ", n_min);
    line->is_closed = is_closed;
    return is_point || is_line ? surround(line, radius) : XFIRE_OK;
}

int line_file_read(const char *path, double radius, struct fire_line *line)
{
    char kind[16];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return xfire_error(XFIRE_INPUT, "cannot open the fire line `%s`", path);
    int code = read_points(file, path, line, kind);
    fclose(file);
    if (code == XFIRE_OK)
        code = shape(line, kind, path, radius);
    if (code == XFIRE_OK)
        fire_line_orient(line);
    return code;
}

int line_ellipse(const double e[4], struct fire_line *line)
{
    int code = XFIRE_OK;
    line->is_closed = true;
    for (int i = 0; code == XFIRE_OK && i < N_ELLIPSE_POINTS; i++) {
        double angle = 2.0 * PI * i / N_ELLIPSE_POINTS;
        struct vec2 point = {e[0] + e[2] * cos(angle), e[1] + e[3] * sin(angle)};
        code = fire_line_push(line, point);
    }
    return code;
}
