/* Exit codes and the one way to report an error. */
#ifndef XFIRE_ERRORS_H
#define XFIRE_ERRORS_H

enum exit_code {
    XFIRE_OK = 0,
    XFIRE_MISMATCH = 1, /* --check found a difference */
    XFIRE_USAGE = 2,    /* an option or a key of the configuration */
    XFIRE_INPUT = 3,    /* a file that cannot be read or understood */
    XFIRE_LIMIT = 4,    /* out of memory, or more points than allowed */
    XFIRE_OUTPUT = 5    /* a result that cannot be written */
};

/* Prints `xfire: error: ...` and returns `code`. */
int xfire_error(enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
