/*
 * Rothermel's surface fire spread model (1972) as revised by Albini (1976), in the form of
 * Andrews (2018), RMRS-GTR-371. Works in the units of its sources: feet, minutes, pounds, Btu.
 *
 * Not here: the 13 fuel models (fuel_models.c), spread in other directions than the head
 * (ellipse.c), terrain and weather (landscape.c). Rothermel's limit on the wind speed is not
 * applied, as Andrews et al. (2013) recommend.
 */
#ifndef XFIRE_ROTHERMEL_H
#define XFIRE_ROTHERMEL_H

#include "geometry.h"

enum fuel_class { DEAD_1H, DEAD_10H, DEAD_100H, LIVE_HERB, LIVE_WOODY, N_FUEL_CLASSES };

/* Fuel: loads in lb/ft2, surface-area-to-volume ratios in ft2/ft3, moisture as a fraction. */
struct fuel_model {
    int number;
    const char *name;
    double depth_ft;
    double extinction_moisture;
    double load[N_FUEL_CLASSES];
    double savr[N_FUEL_CLASSES];
};

struct moisture {
    double fraction[N_FUEL_CLASSES];
};

/* A fuel model at a given moisture: everything that wind and slope leave unchanged. */
struct fuel_bed {
    double reaction_intensity; /* I_R, Btu/ft2/min */
    double heat_sink;          /* Btu/ft3 */
    double flux_ratio;         /* xi, propagating flux ratio */
    double savr;               /* sigma, characteristic, ft2/ft3 */
    double packing_ratio;      /* beta */
    double live_extinction;    /* moisture of extinction of live fuel, fraction */
    double base_rate;          /* R_0, no wind, no slope, ft/min */
    double wind_factor;        /* phi_w = wind_factor * U^wind_exponent, U in ft/min */
    double wind_exponent;      /* B */
    double slope_factor;       /* phi_s = slope_factor * tan(slope)^2 */
};

/* The fastest direction of spread. */
struct head_fire {
    double rate_ft_min;
    double effective_wind_ft_min; /* the wind that alone would give this rate */
    struct vec2 direction;        /* unit vector, zero when nothing favors a direction */
};

void rothermel_bed(const struct fuel_model *model, const struct moisture *moisture,
                   struct fuel_bed *bed);

/* `wind` blows towards its direction at midflame height; `gradient` points uphill (rise/run). */
struct head_fire rothermel_head(const struct fuel_bed *bed, struct vec2 wind_ft_min,
                                struct vec2 gradient);

/* Byram's flame length (ft) of a front that moves at this rate. */
double rothermel_flame_length_ft(const struct fuel_bed *bed, double rate_ft_min);

/* Midflame over 20-ft wind speed for fuel without shelter (Albini and Baughman 1979). */
double rothermel_wind_adjustment(double depth_ft);

#endif
