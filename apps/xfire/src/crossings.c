/*
 * Finds crossings with a hash of the plane in squares of the longest segment: two segments that
 * cross have their middles in the same or in neighboring squares.
 */
#include "crossings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"

/* A crossing on one of its two segments. */
struct meeting {
    int segment;
    double at; /* 0 at the start of the segment, 1 at its end */
    int other_segment;
    double other_at;
    struct vec2 where;
};

struct meetings {
    struct meeting *list;
    int n, capacity;
};

struct square {
    int32_t x, y;
};

/* Chains of the segments in each bucket: `first` by bucket, `next` by segment. */
struct plane {
    int *first, *next;
    struct square *square;
    unsigned mask;
    double side_m;
};

static int push_meeting(struct meetings *m, struct meeting meeting)
{
    if (m->n == m->capacity) {
        int capacity = 2 * m->capacity + 16;
        struct meeting *list = realloc(m->list, (size_t)capacity * sizeof *list);
        if (list == NULL)
            return xfire_error(XFIRE_LIMIT, "no memory for %d crossings", capacity);
        m->list = list;
        m->capacity = capacity;
    }
    m->list[m->n++] = meeting;
    return XFIRE_OK;
}

static bool are_apart(double a0, double a1, double b0, double b1)
{
    return fmax(a0, a1) < fmin(b0, b1) || fmax(b0, b1) < fmin(a0, a1);
}

static int meet(const struct fire_line *line, int i, int j, struct meetings *m)
{
    struct vec2 a = line->points[i], a_end = fire_line_after(line, i);
    struct vec2 b = line->points[j], b_end = fire_line_after(line, j);
    if (are_apart(a.x, a_end.x, b.x, b_end.x) || are_apart(a.y, a_end.y, b.y, b_end.y))
        return XFIRE_OK;
    struct vec2 along_a = vec2_sub(a_end, a), along_b = vec2_sub(b_end, b), gap = vec2_sub(b, a);
    double turn = vec2_cross(along_a, along_b);
    if (turn == 0.0)
        return XFIRE_OK;
    double at_a = vec2_cross(gap, along_b) / turn, at_b = vec2_cross(gap, along_a) / turn;
    if (!(0.0 <= at_a && at_a < 1.0 && 0.0 <= at_b && at_b < 1.0))
        return XFIRE_OK;
    struct vec2 where = vec2_add(a, vec2_scale(along_a, at_a));
    int code = push_meeting(m, (struct meeting){i, at_a, j, at_b, where});
    return code == XFIRE_OK ? push_meeting(m, (struct meeting){j, at_b, i, at_a, where}) : code;
}

static double longest_segment_m(const struct fire_line *line)
{
    double longest = 0.0;
    for (int i = 0; i < fire_line_n_segments(line); i++)
        longest = fmax(longest, vec2_norm(vec2_sub(fire_line_after(line, i), line->points[i])));
    return longest;
}

static void plane_free(struct plane *plane)
{
    free(plane->first);
    free(plane->next);
    free(plane->square);
}

static int plane_alloc(const struct fire_line *line, struct plane *plane)
{
    unsigned n_buckets = 64;
    while (n_buckets < (unsigned)line->n)
        n_buckets *= 2;
    plane->mask = n_buckets - 1;
    plane->side_m = longest_segment_m(line);
    plane->first = malloc(n_buckets * sizeof *plane->first);
    plane->next = malloc((size_t)line->n * sizeof *plane->next);
    plane->square = malloc((size_t)line->n * sizeof *plane->square);
    if (plane->first != NULL && plane->next != NULL && plane->square != NULL) {
        memset(plane->first, -1, n_buckets * sizeof *plane->first);
        return XFIRE_OK;
    }
    plane_free(plane);
    return xfire_error(XFIRE_LIMIT, "no memory to look for crossings of %d points", line->n);
}

static unsigned bucket_of(const struct plane *plane, struct square s)
{
    return ((uint32_t)s.x * 73856093u ^ (uint32_t)s.y * 19349663u) & plane->mask;
}

static struct square square_of(const struct fire_line *line, double side_m, int i)
{
    struct vec2 middle = vec2_scale(vec2_add(line->points[i], fire_line_after(line, i)), 0.5);
    return (struct square){(int32_t)floor((middle.x - line->points[0].x) / side_m),
                           (int32_t)floor((middle.y - line->points[0].y) / side_m)};
}

static bool are_neighbors(const struct fire_line *line, int earlier, int later)
{
    return later - earlier == 1 || (line->is_closed && earlier == 0 && later == line->n - 1);
}

/* Crossings of segment `i` with earlier ones in one square. */
static int meet_square(const struct fire_line *line, const struct plane *plane, int i,
                       struct square s, struct meetings *m)
{
    int code = XFIRE_OK;
    for (int j = plane->first[bucket_of(plane, s)]; code == XFIRE_OK && j >= 0; j = plane->next[j])
        if (plane->square[j].x == s.x && plane->square[j].y == s.y && !are_neighbors(line, j, i))
            code = meet(line, j, i, m);
    return code;
}

static int find_meetings(const struct fire_line *line, struct meetings *m)
{
    struct plane plane = {0};
    int code = plane_alloc(line, &plane);
    if (code != XFIRE_OK)
        return code;
    for (int i = 0; code == XFIRE_OK && i < fire_line_n_segments(line); i++) {
        struct square s = square_of(line, plane.side_m, i);
        for (int k = 0; code == XFIRE_OK && k < 9; k++) {
            struct square near = {s.x + k % 3 - 1, s.y + k / 3 - 1};
            code = meet_square(line, &plane, i, near, m);
        }
        plane.square[i] = s;
        plane.next[i] = plane.first[bucket_of(&plane, s)];
        plane.first[bucket_of(&plane, s)] = i;
    }
    plane_free(&plane);
    return code;
}

static int by_place(const void *left, const void *right)
{
    const struct meeting *a = left, *b = right;
    if (a->segment != b->segment)
        return a->segment < b->segment ? -1 : 1;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->other_segment < b->other_segment ? -1 : a->other_segment > b->other_segment;
}

/* Index of the first meeting at or after segment `segment`. */
static int first_meeting(const struct meetings *m, int segment)
{
    int low = 0, high = m->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (m->list[middle].segment < segment)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct meeting *next_meeting(const struct meetings *m, int segment, double after)
{
    for (int k = first_meeting(m, segment); k < m->n && m->list[k].segment == segment; k++)
        if (m->list[k].at > after)
            return &m->list[k];
    return NULL;
}

static int lowest_point(const struct fire_line *line)
{
    int lowest = 0;
    for (int i = 1; i < line->n; i++)
        if (line->points[i].y < line->points[lowest].y)
            lowest = i;
    return lowest;
}

/* Walks the outer edge; false when the walk does not end. */
static bool walk_edge(const struct fire_line *line, const struct meetings *m,
                      struct fire_line *edge)
{
    int start = line->is_closed ? lowest_point(line) : 0;
    int segment = start, n_steps_max = line->n + m->n;
    double at = -1.0; /* before a crossing in the first point of the segment */
    edge->points[edge->n++] = line->points[start];
    for (int n_steps = 0; n_steps < n_steps_max; n_steps++) {
        const struct meeting *crossing = next_meeting(m, segment, at);
        if (crossing != NULL) {
            edge->points[edge->n++] = crossing->where;
            segment = crossing->other_segment;
            at = crossing->other_at;
            continue;
        }
        segment = segment + 1 < line->n ? segment + 1 : 0;
        at = -1.0;
        if (line->is_closed && segment == start)
            return true;
        edge->points[edge->n++] = line->points[segment];
        if (!line->is_closed && segment == line->n - 1)
            return true;
    }
    return false;
}

/* An edge that is too small means that the walk ended in a loop: then the line keeps its loops. */
static bool is_plausible(const struct fire_line *line, const struct fire_line *edge)
{
    if (!line->is_closed)
        return edge->n >= 2;
    return edge->n >= 3 && fire_line_area_m2(edge) > 0.5 * fire_line_area_m2(line);
}

int crossings_remove(struct fire_line *line, int *n_removed)
{
    struct meetings m = {0};
    struct fire_line edge = {.is_closed = line->is_closed};
    int code = find_meetings(line, &m);
    if (code == XFIRE_OK && m.n > 0) {
        qsort(m.list, (size_t)m.n, sizeof *m.list, by_place);
        code = fire_line_reserve(&edge, line->n + m.n + 1);
    }
    if (code == XFIRE_OK && m.n > 0 && walk_edge(line, &m, &edge) && is_plausible(line, &edge)) {
        *n_removed += m.n / 2;
        fire_line_swap(line, &edge);
    }
    fire_line_free(&edge);
    free(m.list);
    return code;
}
