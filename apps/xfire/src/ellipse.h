/*
 * The elliptical wavelet that every point of a fire line sends out: how far a front with a given
 * normal moves. Shape after Andrews (2018); motion after Richards (1990), whose component along
 * the normal is the rate of Catchpole et al. (1982). Not here: the rate of the head (rothermel.c).
 */
#ifndef XFIRE_ELLIPSE_H
#define XFIRE_ELLIPSE_H

#include "rothermel.h"

/* Rates in the unit of the head fire's rate. */
struct ellipse {
    double half_length; /* f */
    double offset;      /* g, from the ignition point to the center, towards the head */
    double half_width;  /* h */
    struct vec2 direction;
};

struct ellipse ellipse_of(const struct head_fire *head);

/* Velocity of a front point whose outward unit normal is `normal`. */
struct vec2 ellipse_velocity(const struct ellipse *wave, struct vec2 normal);

#endif
