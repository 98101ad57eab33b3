/* One table of keys, used for the file, the command line and the help. */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"

enum kind { NUMBER, COUNT, INPUT_PATH, FUEL, OUTPUT_PATH, ELLIPSE, IMBALANCE, FLAG };

struct key {
    const char *name;
    enum kind kind;
    size_t offset;
    double min, max;
    const char *value, *help;
};

#define AT(field) offsetof(struct config, field)
#define MOISTURE(class) (AT(moisture_percent) + (class) * sizeof(double))

static const struct key KEYS[] = {
    {"line", INPUT_PATH, AT(line), 0, 0, "FILE", "initial fire line: point, line, open or closed"},
    {"ellipse", ELLIPSE, AT(ellipse), 0, 0, "CX,CY,A,B", "initial fire line: an ellipse (m)"},
    {"wind", INPUT_PATH, AT(wind), 0, 0, "FILE", "lines: time_min direction_deg speed_km_h [x y]"},
    {"fuel", FUEL, AT(fuel), 0, 0, "N|FILE", "fuel model 1 to 13, or an ESRI ASCII grid of them"},
    {"terrain", INPUT_PATH, AT(terrain), 0, 0, "FILE", "heights (m), ESRI ASCII grid; none: flat"},
    {"start_min", NUMBER, AT(start_min), -1e9, 1e9, "MIN", "simulated start [0]"},
    {"end_min", NUMBER, AT(end_min), -1e9, 1e9, "MIN", "simulated end [60]"},
    {"step_min", NUMBER, AT(step_min), 1e-6, 1e6, "MIN", "simulated time of an iteration [1]"},
    {"output_every_min", NUMBER, AT(output_every_min), 1e-6, 1e9, "MIN",
     "time between perimeters [10]"},
    {"out", OUTPUT_PATH, AT(out), 0, 0, "DIR", "folder for the results [xfire-out]"},
    {"points", COUNT, AT(n_points), 3, 1e8, "N", "points of the initial line; sets the spacing"},
    {"spacing_m", NUMBER, AT(spacing_m), 1e-3, 1e6, "M", "wished distance between points [10]"},
    {"max_points", COUNT, AT(n_points_max), 3, 5e8, "N", "stop when the line has more [20000000]"},
    {"substeps", COUNT, AT(n_substeps), 1, 1e6, "N", "local conditions per point and step [4]"},
    {"ignition_radius_m", NUMBER, AT(ignition_radius_m), 1e-3, 1e6, "M",
     "radius of a point, half width of a line [10]"},
    {"moisture_1h", NUMBER, MOISTURE(DEAD_1H), 0, 300, "%", "moisture of fine dead fuel [6]"},
    {"moisture_10h", NUMBER, MOISTURE(DEAD_10H), 0, 300, "%", "of medium dead fuel [7]"},
    {"moisture_100h", NUMBER, MOISTURE(DEAD_100H), 0, 300, "%", "of large dead fuel [8]"},
    {"moisture_herb", NUMBER, MOISTURE(LIVE_HERB), 0, 300, "%", "of live herbs [60]"},
    {"moisture_woody", NUMBER, MOISTURE(LIVE_WOODY), 0, 300, "%", "of live wood [90]"},
    {"wind_adjustment", NUMBER, AT(wind_adjustment), 0, 1, "X",
     "midflame over 20-ft wind [0: from the fuel]"},
    {"epsg", COUNT, AT(epsg), 0, 999999, "CODE", "coordinate system, for the GeoJSON [0: none]"},
    {"f0", NUMBER, AT(f0), -1e9, 1e9, "X", "share of the points in batch 0 [1]"},
    {"f1", NUMBER, AT(f1), -1e9, 1e9, "X", "share of the rest in batch 1 [1]"},
    {"f2", NUMBER, AT(f2), -1e9, 1e9, "X", "share of the rest in later batches [1]"},
    {"workers", COUNT, AT(n_workers), 1, 1e6, "N", "workers in use at the start [all]"},
    {"min_chunk", COUNT, AT(min_chunk), 1, 1e8, "N", "smallest chunk of a split line [32]"},
    {"imbalance", IMBALANCE, AT(imbalance_y), -1e9, 1e9, "Y",
     "points south of northing Y take twice the time (workers idle)"},
    {"wait_us", NUMBER, AT(wait_us), 0, 1e6, "US",
     "idle time per point: more workers than cores still pay off [0]"},
    {"serial", FLAG, AT(is_serial), 0, 0, "", "compute in rank 0 alone"},
    {"check", FLAG, AT(is_checked), 0, 0, "", "compare every step with a serial one, bit for bit"},
    {"no_output", FLAG, AT(no_output), 0, 0, "", "write no files"},
    {"quiet", FLAG, AT(is_quiet), 0, 0, "", "print nothing but errors"},
    {"help", FLAG, AT(is_help), 0, 0, "", "print this"},
};

enum { N_KEYS = sizeof KEYS / sizeof KEYS[0] };

static const struct config DEFAULTS = {
    .out = "xfire-out", .end_min = 60.0, .step_min = 1.0, .output_every_min = 10.0,
    .spacing_m = 10.0, .n_points_max = 20000000, .n_substeps = 4, .ignition_radius_m = 10.0,
    .moisture_percent = {6.0, 7.0, 8.0, 60.0, 90.0}, .f0 = 1.0, .f1 = 1.0, .f2 = 1.0,
    .min_chunk = 32,
};

void config_print_help(void)
{
    puts("usage: mpirun -np RANKS xfire [OPTIONS] [CONFIG]\n\n"
         "Simulates the spread of a forest fire. Rank 0 is the master, the others are workers.\n"
         "CONFIG has one `key = value` per line; every option below is also a key, and an option\n"
         "on the command line wins. Input paths in CONFIG are relative to its folder.\n");
    for (int i = 0; i < N_KEYS; i++) {
        char option[40];
        snprintf(option, sizeof option, "--%s %s", KEYS[i].name, KEYS[i].value);
        printf("  %-28s %s\n", option, KEYS[i].help);
    }
    puts("\nexamples:\n"
         "  mpirun -np 4 xfire data/demo.conf\n"
         "  mpirun -np 4 xfire data/demo.conf --check --f0 0.5 --f1 0.5 --f2 0.5\n"
         "  mpirun -np 8 xfire data/ellipse.conf --points 786420 --imbalance 4640000 --no_output\n"
         "  xfire --serial data/test.conf --out /tmp/fire\n\n"
         "exit codes: 0 fine, 1 --check found a difference, 2 usage, 3 input,\n"
         "4 memory or too many points, 5 output");
}

static const struct key *find_key(const char *name, size_t length)
{
    for (int i = 0; i < N_KEYS; i++) {
        bool is_same = strlen(KEYS[i].name) == length;
        for (size_t c = 0; is_same && c < length; c++)
            is_same = KEYS[i].name[c] == (name[c] == '-' ? '_' : name[c]);
        if (is_same)
            return &KEYS[i];
    }
    return NULL;
}

static int set_number(const struct key *key, const char *text, void *target)
{
    char *end;
    double value = strtod(text, &end);
    bool is_whole = key->kind != COUNT || value == (double)(long)value;
    if (end == text || *end != '\0' || !(key->min <= value && value <= key->max) || !is_whole)
        return xfire_error(XFIRE_USAGE, "`%s` is `%s`; give a %snumber from %g to %g", key->name,
                           text, key->kind == COUNT ? "whole " : "", key->min, key->max);
    if (key->kind == COUNT)
        *(int *)target = (int)value;
    else
        *(double *)target = value;
    return XFIRE_OK;
}

/* Relative paths in a configuration file are relative to `folder`. */
static int set_path(const struct key *key, const char *text, const char *folder, char *target)
{
    bool is_relative = text[0] != '/' && key->kind != OUTPUT_PATH;
    int length = snprintf(target, PATH_SIZE, "%s%s", is_relative ? folder : "", text);
    if (length <= 0 || length >= PATH_SIZE)
        return xfire_error(XFIRE_USAGE, "`%s` needs a path of at most %d characters", key->name,
                           PATH_SIZE - 1);
    return XFIRE_OK;
}

static int set_ellipse(const char *text, struct config *config)
{
    double *e = config->ellipse;
    char rest;
    int n = sscanf(text, "%lf,%lf,%lf,%lf%c", &e[0], &e[1], &e[2], &e[3], &rest);
    if (n != 4 || !(e[2] > 0.0) || !(e[3] > 0.0))
        return xfire_error(XFIRE_USAGE, "`ellipse` is `%s`; give CX,CY,A,B with A, B > 0", text);
    config->has_ellipse = true;
    return XFIRE_OK;
}

static int set_flag(const struct key *key, const char *text, bool *target)
{
    bool is_yes = strcmp(text, "yes") == 0;
    if (!is_yes && strcmp(text, "no") != 0)
        return xfire_error(XFIRE_USAGE, "`%s` is `%s`; give yes or no", key->name, text);
    *target = is_yes;
    return XFIRE_OK;
}

static int set_key(const struct key *key, const char *text, const char *folder,
                   struct config *config)
{
    void *target = (char *)config + key->offset;
    bool is_digits = text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
    switch (key->kind) {
    case FUEL:
        return set_path(key, text, is_digits ? "" : folder, target);
    case INPUT_PATH:
        if (key->offset == AT(line))
            config->has_ellipse = false;
        return set_path(key, text, folder, target);
    case OUTPUT_PATH:
        return set_path(key, text, folder, target);
    case ELLIPSE:
        return set_ellipse(text, config);
    case FLAG:
        return set_flag(key, text, target);
    case IMBALANCE:
        config->has_imbalance = true;
        return set_number(key, text, target);
    default:
        return set_number(key, text, target);
    }
}

/* Removes a comment, and blanks at both ends. */
static char *trim(char *text)
{
    text[strcspn(text, "#\r\n")] = '\0';
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]) != NULL)
        text[--length] = '\0';
    return text;
}

static int read_assignment(char *text, const char *folder, const char *path, int line,
                           struct config *config)
{
    text = trim(text);
    if (text[0] == '\0')
        return XFIRE_OK;
    char *equals = strchr(text, '=');
    if (equals == NULL)
        return xfire_error(XFIRE_USAGE, "`%s` line %d: expected `key = value`", path, line);
    *equals = '\0';
    char *name = trim(text);
    const struct key *key = find_key(name, strlen(name));
    if (key == NULL)
        return xfire_error(XFIRE_USAGE, "`%s` line %d: unknown key `%s`; see --help", path, line,
                           name);
    return set_key(key, trim(equals + 1), folder, config);
}

static int read_file(const char *path, struct config *config)
{
    char folder[PATH_SIZE] = "", text[2 * PATH_SIZE];
    const char *slash = strrchr(path, '/');
    if (strlen(path) >= PATH_SIZE)
        return xfire_error(XFIRE_USAGE, "the path of the configuration is too long");
    if (slash != NULL)
        memcpy(folder, path, (size_t)(slash - path) + 1);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return xfire_error(XFIRE_INPUT, "cannot open the configuration `%s`: %s", path,
                           strerror(errno));
    int code = XFIRE_OK;
    for (int line = 1; code == XFIRE_OK && fgets(text, sizeof text, file) != NULL; line++)
        code = read_assignment(text, folder, path, line, config);
    fclose(file);
    return code;
}

/* Reads argv[*idx], and its value if it has one after a blank. */
static int read_option(int argc, char **argv, int *idx, struct config *config)
{
    const char *name = argv[*idx] + 2;
    size_t length = strcspn(name, "=");
    const struct key *key = find_key(name, length);
    if (key == NULL)
        return xfire_error(XFIRE_USAGE, "unknown option `%s`; see --help", argv[*idx]);
    if (name[length] == '=')
        return set_key(key, name + length + 1, "", config);
    if (key->kind == FLAG)
        return set_key(key, "yes", "", config);
    if (*idx + 1 >= argc)
        return xfire_error(XFIRE_USAGE, "`%s` needs a value: %s", argv[*idx], key->value);
    return set_key(key, argv[++*idx], "", config);
}

static bool is_option(const char *argument)
{
    return argument[0] == '-' && argument[1] == '-';
}

/* Reads the file first, wherever it is among the arguments, then the options. */
static int read_arguments(int argc, char **argv, struct config *config)
{
    int code = XFIRE_OK;
    struct config scratch = *config;
    for (int i = 1; code == XFIRE_OK && i < argc; i++)
        code = is_option(argv[i]) ? read_option(argc, argv, &i, &scratch)
                                  : read_file(argv[i], config);
    for (int i = 1; code == XFIRE_OK && i < argc; i++)
        if (is_option(argv[i]))
            code = read_option(argc, argv, &i, config);
    return code;
}

static int check_config(const struct config *c)
{
    if (c->line[0] == '\0' && !c->has_ellipse)
        return xfire_error(XFIRE_USAGE, "no fire: give `line` or `ellipse`; see --help");
    if (c->wind[0] == '\0')
        return xfire_error(XFIRE_USAGE, "no `wind`; see --help");
    if (c->fuel[0] == '\0')
        return xfire_error(XFIRE_USAGE, "no `fuel`; see --help");
    if (c->end_min < c->start_min)
        return xfire_error(XFIRE_USAGE, "`end_min` is before `start_min`");
    return XFIRE_OK;
}

int config_read(int argc, char **argv, struct config *config)
{
    *config = DEFAULTS;
    int code = read_arguments(argc, argv, config);
    return code == XFIRE_OK && !config->is_help ? check_config(config) : code;
}
