/* The elliptical wavelet of a fire; see ellipse.h. */
#include "ellipse.h"

static const double FT_MIN_PER_MI_H = 88.0;

struct ellipse ellipse_of(const struct head_fire *head)
{
    double length_to_width = 1.0 + 0.25 * head->effective_wind_ft_min / FT_MIN_PER_MI_H;
    double eccentricity = sqrt(length_to_width * length_to_width - 1.0) / length_to_width;
    double back = head->rate_ft_min * (1.0 - eccentricity) / (1.0 + eccentricity);
    double half_length = (head->rate_ft_min + back) / 2.0;
    return (struct ellipse){
        .half_length = half_length,
        .offset = half_length - back,
        .half_width = half_length / length_to_width,
        .direction = head->direction,
    };
}

struct vec2 ellipse_velocity(const struct ellipse *wave, struct vec2 normal)
{
    if (wave->offset <= 0.0)
        return vec2_scale(normal, wave->half_length);
    struct vec2 along = wave->direction, across = {-along.y, along.x};
    double f = wave->half_length, h = wave->half_width;
    double n_along = vec2_dot(normal, along), n_across = vec2_dot(normal, across);
    double support = sqrt(f * f * n_along * n_along + h * h * n_across * n_across);
    double v_along = wave->offset + f * f * n_along / support;
    double v_across = h * h * n_across / support;
    return vec2_add(vec2_scale(along, v_along), vec2_scale(across, v_across));
}
