/* Runs the program: on the ranks of the launcher that started it, else on threads. */
#include "program.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct job job = {0};
    mw_program program = program_of(&job);
    mw_options *options = mw_options_from_args(&argc, argv);
    int code = 2;
    /* YOURS: arguments of your own are left in argv; what nobody knows is a slip of the pen. */
    if (1 < argc && strcmp(argv[1], "--help") == 0) {
        code = fputs(mw_options_help(), stdout) == EOF;
    } else if (1 < argc) {
        fprintf(stderr, "%s: `%s` is no option of this program; `--help` lists them\n", argv[0], argv[1]);
    } else {
        code = mw_run_with(&program, options);
        if (code != MW_OK)
            fprintf(stderr, "%s: %s\n", argv[0], mw_last_error());
    }
    mw_options_free(options);
    return code;
}
