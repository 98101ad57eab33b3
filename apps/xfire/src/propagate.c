/* Motion of the points of the fire line in one step; see propagate.h. */
#include "propagate.h"

#include "ellipse.h"

static const double METERS_PER_FT = 0.3048;

/* Tangent of the parabola through three points, turned to the unburned side. */
static struct vec2 outward_normal(struct vec2 before, struct vec2 at, struct vec2 after)
{
    struct vec2 in = vec2_sub(at, before), out = vec2_sub(after, at);
    double length_in = vec2_norm(in), length_out = vec2_norm(out);
    struct vec2 tangent = vec2_add(in, out);
    if (length_in > 0.0 && length_out > 0.0)
        tangent = vec2_add(vec2_scale(in, length_out / length_in),
                           vec2_scale(out, length_in / length_out));
    tangent = vec2_unit(tangent);
    return (struct vec2){tangent.y, -tangent.x};
}

/* The same normal measured on the inclined ground, as in Finney (1998). */
static struct vec2 normal_on_slope(struct vec2 normal, struct vec2 uphill, double secant)
{
    struct vec2 tangent = {-normal.y, normal.x};
    double climb = (secant - 1.0) * vec2_dot(tangent, uphill);
    tangent = vec2_unit(vec2_add(tangent, vec2_scale(uphill, climb)));
    return (struct vec2){tangent.y, -tangent.x};
}

/* Horizontal velocity in m/min of a front with this normal; zero where nothing burns. */
static struct vec2 local_velocity(const struct landscape *land, struct vec2 at, struct vec2 normal)
{
    struct site site;
    if (!landscape_at(land, at, &site))
        return (struct vec2){0.0, 0.0};
    struct head_fire head = rothermel_head(site.bed, site.wind_ft_min, site.gradient);
    struct ellipse wave = ellipse_of(&head);
    struct vec2 uphill = vec2_unit(site.gradient);
    double secant = sqrt(1.0 + vec2_dot(site.gradient, site.gradient));
    struct vec2 along_ground = ellipse_velocity(&wave, normal_on_slope(normal, uphill, secant));
    double shortened = (1.0 / secant - 1.0) * vec2_dot(along_ground, uphill);
    struct vec2 horizontal = vec2_add(along_ground, vec2_scale(uphill, shortened));
    return vec2_scale(horizontal, METERS_PER_FT);
}

void propagate_section(const struct landscape *land, struct step step, const struct vec2 *points,
                       int n, struct vec2 *moved)
{
    double substep_min = step.minutes / step.n_substeps;
    for (int i = 0; i < n; i++) {
        struct vec2 at = points[i];
        struct vec2 normal = outward_normal(points[i - 1], at, points[i + 1]);
        for (int k = 0; k < step.n_substeps; k++)
            at = vec2_add(at, vec2_scale(local_velocity(land, at, normal), substep_min));
        moved[i] = at;
    }
}
