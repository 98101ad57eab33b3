/*
 * Rothermel's surface fire spread model. Letters follow Andrews (2018): w load, sigma
 * surface-area-to-volume ratio, M moisture, beta packing ratio, Gamma reaction velocity.
 */
#include "rothermel.h"

enum category { DEAD, LIVE, N_CATEGORIES };

static const double HEAT_CONTENT = 8000.0;     /* h, Btu/lb */
static const double PARTICLE_DENSITY = 32.0;   /* rho_p, lb/ft3 */
static const double TOTAL_MINERAL = 0.0555;    /* S_T */
static const double EFFECTIVE_MINERAL = 0.010; /* S_e */

/* Shares of the surface by fuel class, size range and category. */
struct weights {
    double of_class[N_FUEL_CLASSES];      /* f_ij */
    double of_size_range[N_FUEL_CLASSES]; /* g_ij (Albini 1976) */
    double of_category[N_CATEGORIES];     /* f_i */
};

static enum category category_of(int class)
{
    return class < LIVE_HERB ? DEAD : LIVE;
}

static int size_range(double savr)
{
    static const double lower[] = {1200.0, 192.0, 96.0, 48.0, 16.0};
    int range = 0;
    while (range < 5 && savr < lower[range])
        range++;
    return range;
}

static struct weights surface_weights(const struct fuel_model *m)
{
    struct weights w = {0};
    double area[N_FUEL_CLASSES], total[N_CATEGORIES] = {0};
    for (int i = 0; i < N_FUEL_CLASSES; i++) {
        area[i] = m->savr[i] * m->load[i] / PARTICLE_DENSITY;
        total[category_of(i)] += area[i];
    }
    for (int i = 0; i < N_FUEL_CLASSES; i++)
        if (area[i] > 0.0)
            w.of_class[i] = area[i] / total[category_of(i)];
    for (int i = 0; i < N_FUEL_CLASSES; i++)
        for (int j = 0; j < N_FUEL_CLASSES; j++)
            if (category_of(i) == category_of(j) &&
                size_range(m->savr[i]) == size_range(m->savr[j]))
                w.of_size_range[i] += w.of_class[j];
    for (int c = 0; c < N_CATEGORIES; c++)
        w.of_category[c] = total[c] / (total[DEAD] + total[LIVE]);
    return w;
}

static double characteristic_savr(const struct fuel_model *m, const struct weights *w)
{
    double sigma = 0.0;
    for (int i = 0; i < N_FUEL_CLASSES; i++)
        sigma += w->of_category[category_of(i)] * w->of_class[i] * m->savr[i];
    return sigma;
}

/* Live fuel burns up to a moisture that depends on the dead fuel that dries it. */
static double live_extinction_moisture(const struct fuel_model *m, const struct moisture *moisture)
{
    double dead = 0.0, dead_water = 0.0, live = 0.0;
    for (int i = 0; i < N_FUEL_CLASSES; i++) {
        if (m->load[i] <= 0.0)
            continue;
        if (category_of(i) == LIVE) {
            live += m->load[i] * exp(-500.0 / m->savr[i]);
            continue;
        }
        double fine = m->load[i] * exp(-138.0 / m->savr[i]);
        dead += fine;
        dead_water += fine * moisture->fraction[i];
    }
    if (live <= 0.0)
        return m->extinction_moisture;
    double dryness = 1.0 - dead_water / dead / m->extinction_moisture;
    return fmax(2.9 * (dead / live) * dryness - 0.226, m->extinction_moisture);
}

static double moisture_damping(double moisture, double extinction)
{
    double r = fmin(moisture / extinction, 1.0);
    return fmax(1.0 - 2.59 * r + 5.11 * r * r - 3.52 * r * r * r, 0.0);
}

static double optimum_reaction_velocity(double sigma, double relative_packing)
{
    double sigma15 = pow(sigma, 1.5);
    double maximum = sigma15 / (495.0 + 0.0594 * sigma15);
    double a = 133.0 * pow(sigma, -0.7913);
    return maximum * pow(relative_packing, a) * exp(a * (1.0 - relative_packing));
}

/* Sum over categories of net load * heat content * moisture damping * mineral damping. */
static double damped_heat(const struct fuel_model *m, const struct moisture *moisture,
                          const struct weights *w, double live_extinction)
{
    double net_load[N_CATEGORIES] = {0}, water[N_CATEGORIES] = {0};
    for (int i = 0; i < N_FUEL_CLASSES; i++) {
        net_load[category_of(i)] += w->of_size_range[i] * m->load[i] * (1.0 - TOTAL_MINERAL);
        water[category_of(i)] += w->of_class[i] * moisture->fraction[i];
    }
    double mineral_damping = 0.174 * pow(EFFECTIVE_MINERAL, -0.19);
    double dead = net_load[DEAD] * moisture_damping(water[DEAD], m->extinction_moisture);
    double live = net_load[LIVE] * moisture_damping(water[LIVE], live_extinction);
    return HEAT_CONTENT * mineral_damping * (dead + live);
}

static double heat_sink(const struct fuel_model *m, const struct moisture *moisture,
                        const struct weights *w, double bulk_density)
{
    double heat = 0.0;
    for (int i = 0; i < N_FUEL_CLASSES; i++) {
        if (w->of_class[i] <= 0.0)
            continue;
        double preignition = 250.0 + 1116.0 * moisture->fraction[i];
        heat += w->of_category[category_of(i)] * w->of_class[i] * exp(-138.0 / m->savr[i]) *
                preignition;
    }
    return bulk_density * heat;
}

static void set_wind_and_slope(struct fuel_bed *bed, double relative_packing)
{
    double sigma = bed->savr;
    double c = 7.47 * exp(-0.133 * pow(sigma, 0.55));
    double e = 0.715 * exp(-3.59e-4 * sigma);
    bed->wind_exponent = 0.02526 * pow(sigma, 0.54);
    bed->wind_factor = c * pow(relative_packing, -e);
    bed->slope_factor = 5.275 * pow(bed->packing_ratio, -0.3);
}

void rothermel_bed(const struct fuel_model *m, const struct moisture *moisture,
                   struct fuel_bed *bed)
{
    struct weights w = surface_weights(m);
    double load = 0.0;
    for (int i = 0; i < N_FUEL_CLASSES; i++)
        load += m->load[i];
    double bulk_density = load / m->depth_ft;
    double sigma = characteristic_savr(m, &w);
    bed->savr = sigma;
    bed->packing_ratio = bulk_density / PARTICLE_DENSITY;
    double relative_packing = bed->packing_ratio / (3.348 * pow(sigma, -0.8189));
    bed->live_extinction = live_extinction_moisture(m, moisture);
    bed->reaction_intensity = optimum_reaction_velocity(sigma, relative_packing) *
                              damped_heat(m, moisture, &w, bed->live_extinction);
    bed->flux_ratio = exp((0.792 + 0.681 * sqrt(sigma)) * (bed->packing_ratio + 0.1)) /
                      (192.0 + 0.2595 * sigma);
    bed->heat_sink = heat_sink(m, moisture, &w, bulk_density);
    bed->base_rate = bed->reaction_intensity * bed->flux_ratio / bed->heat_sink;
    set_wind_and_slope(bed, relative_packing);
}

struct head_fire rothermel_head(const struct fuel_bed *bed, struct vec2 wind, struct vec2 gradient)
{
    double speed = vec2_norm(wind);
    struct vec2 push = vec2_scale(gradient, bed->slope_factor * vec2_norm(gradient));
    if (speed > 0.0) {
        double phi_wind = bed->wind_factor * pow(speed, bed->wind_exponent);
        push = vec2_add(push, vec2_scale(wind, phi_wind / speed));
    }
    double phi = vec2_norm(push);
    return (struct head_fire){
        .rate_ft_min = bed->base_rate * (1.0 + phi),
        .effective_wind_ft_min = pow(phi / bed->wind_factor, 1.0 / bed->wind_exponent),
        .direction = vec2_unit(push),
    };
}

double rothermel_flame_length_ft(const struct fuel_bed *bed, double rate_ft_min)
{
    double residence_min = 384.0 / bed->savr;
    double fireline_intensity = bed->reaction_intensity * residence_min * rate_ft_min / 60.0;
    return 0.45 * pow(fireline_intensity, 0.46);
}

double rothermel_wind_adjustment(double depth_ft)
{
    return 1.83 / log((20.0 + 0.36 * depth_ft) / (0.13 * depth_ft));
}
