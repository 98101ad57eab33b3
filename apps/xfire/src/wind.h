/* Wind in time and space, from a file. Not here: its reduction to midflame height (landscape.c). */
#ifndef XFIRE_WIND_H
#define XFIRE_WIND_H

#include <stdbool.h>

#include "geometry.h"

/* One line of the file: the report of a station, valid from `time_min` on. */
struct wind_record {
    double time_min;
    struct vec2 velocity_ft_min; /* towards, 20 ft above the vegetation */
    struct vec2 station;
    bool has_station;
};

struct wind {
    int n_records;
    struct wind_record *records; /* by time */
    int first, n_current;        /* the records in force */
};

/*
 * Lines `time_min direction_deg speed_km_h [x y]`: direction the wind comes from, clockwise from
 * grid north; speed 10 m above open ground. Records of one time are one report of several
 * stations, which holds until the next.
 */
int wind_read(const char *path, struct wind *wind);
void wind_free(struct wind *wind);

/* Selects the report in force at this time. */
void wind_select(struct wind *wind, double time_min);

/* The wind at a place: stations weighted by the inverse of their squared distance. */
struct vec2 wind_at(const struct wind *wind, struct vec2 at);

#endif
