/* Plane vectors in meters (UTM easting, northing). Only inline arithmetic; no curves here. */
#ifndef XFIRE_GEOMETRY_H
#define XFIRE_GEOMETRY_H

#include <math.h>

struct vec2 {
    double x, y;
};

static inline struct vec2 vec2_add(struct vec2 a, struct vec2 b)
{
    return (struct vec2){a.x + b.x, a.y + b.y};
}

static inline struct vec2 vec2_sub(struct vec2 a, struct vec2 b)
{
    return (struct vec2){a.x - b.x, a.y - b.y};
}

static inline struct vec2 vec2_scale(struct vec2 a, double s)
{
    return (struct vec2){a.x * s, a.y * s};
}

static inline double vec2_dot(struct vec2 a, struct vec2 b)
{
    return a.x * b.x + a.y * b.y;
}

static inline double vec2_cross(struct vec2 a, struct vec2 b)
{
    return a.x * b.y - a.y * b.x;
}

static inline double vec2_norm(struct vec2 a)
{
    return sqrt(vec2_dot(a, a));
}

/* The direction of `a`, or zero when `a` has no length. */
static inline struct vec2 vec2_unit(struct vec2 a)
{
    double norm = vec2_norm(a);
    return norm > 0.0 ? vec2_scale(a, 1.0 / norm) : (struct vec2){0.0, 0.0};
}

#endif
