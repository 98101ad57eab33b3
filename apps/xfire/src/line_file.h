/* The initial fire line: from a file or as an ellipse. */
#ifndef XFIRE_LINE_FILE_H
#define XFIRE_LINE_FILE_H

#include "config.h"
#include "fire_line.h"

/*
 * A file starts with `point`, `line`, `open` or `closed`, then one `x y` per line. A point and a
 * line burn to all sides: they become closed curves at a distance of `ignition_radius_m`.
 */
int line_file_read(const char *path, double ignition_radius_m, struct fire_line *line);

int line_ellipse(const double center_and_half_axes[4], struct fire_line *line);

#endif
