/*
 * Perimeters as a GeoJSON feature collection in grid coordinates, named by a `crs` member (GeoJSON
 * 2008), which QGIS and GDAL read. Not here: conversion to longitude and latitude.
 */
#ifndef XFIRE_GEOJSON_H
#define XFIRE_GEOJSON_H

#include <stdio.h>

#include "fire_line.h"

enum { GEOJSON_PATH_SIZE = 600 };

struct geojson {
    FILE *file;
    char path[GEOJSON_PATH_SIZE];
    int n_features;
};

/* `epsg` is the code of the coordinate system, or 0 when it is not known. */
int geojson_open(struct geojson *out, const char *path, int epsg);
void geojson_add(struct geojson *out, const struct fire_line *line, double minute);
int geojson_close(struct geojson *out);

#endif
