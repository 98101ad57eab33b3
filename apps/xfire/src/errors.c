/* Reports an error on stderr. */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

int xfire_error(enum exit_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("xfire: error: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}
