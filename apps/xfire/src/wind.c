/* Wind in time and space; see wind.h. */
#include "wind.h"

#include <stdio.h>
#include <stdlib.h>

#include "errors.h"

static const double FT_MIN_PER_KM_H = 1000.0 / 60.0 / 0.3048;
/* Wind at 10 m over wind at 20 ft (Turner and Lawson 1978). */
static const double TEN_METERS_OVER_20_FT = 1.15;
static const double RADIANS_PER_DEGREE = 3.14159265358979323846 / 180.0;

static struct wind_record record_of(const double *field, int n_fields)
{
    double from = field[1] * RADIANS_PER_DEGREE;
    double speed = field[2] * FT_MIN_PER_KM_H / TEN_METERS_OVER_20_FT;
    return (struct wind_record){
        .time_min = field[0],
        .velocity_ft_min = {-speed * sin(from), -speed * cos(from)},
        .station = {n_fields == 5 ? field[3] : 0.0, n_fields == 5 ? field[4] : 0.0},
        .has_station = n_fields == 5,
    };
}

static int add_record(struct wind *wind, struct wind_record record, const char *path, int line)
{
    if (wind->n_records > 0 && record.time_min < wind->records[wind->n_records - 1].time_min)
        return xfire_error(XFIRE_INPUT, "`%s` line %d: times must not go back", path, line);
    size_t n = (size_t)wind->n_records + 1;
    struct wind_record *records = realloc(wind->records, n * sizeof *records);
    if (records == NULL)
        return xfire_error(XFIRE_LIMIT, "no memory for `%s`", path);
    records[wind->n_records] = record;
    wind->records = records;
    wind->n_records++;
    return XFIRE_OK;
}

static int read_line(struct wind *wind, const char *text, const char *path, int line)
{
    double field[5];
    char rest;
    int n = sscanf(text, "%lf %lf %lf %lf %lf %c", &field[0], &field[1], &field[2], &field[3],
                   &field[4], &rest);
    if (n == EOF)
        return XFIRE_OK;
    if ((n != 3 && n != 5) || !(field[2] >= 0.0))
        return xfire_error(XFIRE_INPUT, "`%s` line %d: expected time_min direction_deg speed_km_h "
                           "[x y]", path, line);
    return add_record(wind, record_of(field, n), path, line);
}

/* Several reports at one time are valid only if each has a place. */
static int check_stations(const struct wind *wind, const char *path)
{
    if (wind->n_records == 0)
        return xfire_error(XFIRE_INPUT, "`%s` has no wind", path);
    for (int i = 1; i < wind->n_records; i++) {
        const struct wind_record *a = &wind->records[i - 1], *b = &wind->records[i];
        if (a->time_min == b->time_min && !(a->has_station && b->has_station))
            return xfire_error(XFIRE_INPUT, "`%s`: two winds at minute %g need coordinates", path,
                               a->time_min);
    }
    return XFIRE_OK;
}

int wind_read(const char *path, struct wind *wind)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return xfire_error(XFIRE_INPUT, "cannot open the wind file `%s`", path);
    char text[256];
    int code = XFIRE_OK;
    for (int line = 1; code == XFIRE_OK && fgets(text, sizeof text, file) != NULL; line++) {
        for (char *c = text; *c != '\0'; c++)
            if (*c == '#')
                *c = '\0';
        code = read_line(wind, text, path, line);
    }
    fclose(file);
    return code == XFIRE_OK ? check_stations(wind, path) : code;
}

void wind_free(struct wind *wind)
{
    free(wind->records);
    wind->records = NULL;
}

void wind_select(struct wind *wind, double time_min)
{
    int last = 0;
    for (int i = 0; i < wind->n_records; i++)
        if (wind->records[i].time_min <= time_min)
            last = i;
    double since = wind->records[last].time_min;
    wind->first = last;
    while (wind->first > 0 && wind->records[wind->first - 1].time_min == since)
        wind->first--;
    wind->n_current = last - wind->first + 1;
    while (wind->first + wind->n_current < wind->n_records &&
           wind->records[wind->first + wind->n_current].time_min == since)
        wind->n_current++;
}

struct vec2 wind_at(const struct wind *wind, struct vec2 at)
{
    const struct wind_record *records = &wind->records[wind->first];
    if (wind->n_current == 1)
        return records[0].velocity_ft_min;
    struct vec2 sum = {0.0, 0.0};
    double total = 0.0;
    for (int i = 0; i < wind->n_current; i++) {
        struct vec2 away = vec2_sub(at, records[i].station);
        double weight = 1.0 / (1.0 + vec2_dot(away, away));
        sum = vec2_add(sum, vec2_scale(records[i].velocity_ft_min, weight));
        total += weight;
    }
    return vec2_scale(sum, 1.0 / total);
}
