/*
 * The fire line: the points of an open or closed curve with the fire to its left (a closed line
 * runs counterclockwise). Not here: files (line_file.c), crossings (crossings.c), motion
 * (propagate.c).
 */
#ifndef XFIRE_FIRE_LINE_H
#define XFIRE_FIRE_LINE_H

#include <stdbool.h>

#include "geometry.h"

/* points[-1] and points[n] are valid storage for the neighbors of the ends. */
struct fire_line {
    struct vec2 *points;
    int n, capacity;
    bool is_closed;
};

int fire_line_reserve(struct fire_line *line, int capacity);
int fire_line_push(struct fire_line *line, struct vec2 point);
void fire_line_free(struct fire_line *line);

/* Exchanges the points of two lines. */
void fire_line_swap(struct fire_line *a, struct fire_line *b);

/* Sets points[-1] and points[n]: around a closed line, straight on at the ends of an open one. */
void fire_line_set_neighbors(struct fire_line *line);

int fire_line_n_segments(const struct fire_line *line);
struct vec2 fire_line_after(const struct fire_line *line, int idx);
double fire_line_length_m(const struct fire_line *line);
double fire_line_area_m2(const struct fire_line *line);

/* Turns a closed line so that it runs counterclockwise. */
void fire_line_orient(struct fire_line *line);

/* Replaces the points by `n` at equal distances along the line. */
int fire_line_resample(struct fire_line *line, int n);

/* Adds points where neighbors are further apart than `spacing_m`. */
int fire_line_stretch(struct fire_line *line, double spacing_m);

/* Removes points that are closer than `spacing_m` to the one before. */
void fire_line_thin(struct fire_line *line, double spacing_m);

#endif
