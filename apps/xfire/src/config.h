/*
 * The configuration of a run, from a configuration file and the command line, which have the same
 * keys. Plain data, so that it can be broadcast as it is.
 */
#ifndef XFIRE_CONFIG_H
#define XFIRE_CONFIG_H

#include <stdbool.h>

#include "rothermel.h"

enum { PATH_SIZE = 512 };

struct config {
    char line[PATH_SIZE];
    double ellipse[4]; /* center x, y, half axes */
    bool has_ellipse;
    char wind[PATH_SIZE];
    char fuel[PATH_SIZE]; /* a number or a grid */
    char terrain[PATH_SIZE];
    char out[PATH_SIZE];
    double start_min, end_min, step_min, output_every_min;
    int n_points, n_points_max, n_substeps;
    double spacing_m, ignition_radius_m;
    double moisture_percent[N_FUEL_CLASSES];
    double wind_adjustment; /* 0: from the fuel bed */
    int epsg;
    double f0, f1, f2;
    int n_workers, min_chunk;
    double imbalance_y;
    bool has_imbalance;
    double wait_us;
    bool is_serial, is_checked, is_quiet, no_output, is_help;
};

/* Reads `xfire [OPTIONS] [CONFIG]`; reports errors and returns an exit code. */
int config_read(int argc, char **argv, struct config *config);
void config_print_help(void);

#endif
