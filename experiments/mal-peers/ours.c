/* The program of `program.h`, resized by Sintonia's library. */
#include "program.h"

#include "malleable.h"

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, malleable_message());
    return 1;
}

int main(int argc, char **argv) {
    malleable *program = malleable_begin(&argc, &argv);
    if (!program)
        return failed("begin");
    struct settings settings = settings_of(argv);
    struct rows rows = {0};
    malleable_share share;
    appear(&settings);
    malleable_rows_of(program, settings.n_rows, MALLEABLE_EVEN, 0, &share);
    malleable_constant_rows(program, "weights", &rows.weights, N_WEIGHTS * sizeof(double));
    malleable_rows(program, "heat", &rows.heat, sizeof(double));
    if (!malleable_is_new(program)) {
        rows.first = share.first;
        rows.n = share.n_rows;
        make_rows(&rows);
    }
    int state;
    uint64_t iteration = 0;
    for (;; iteration++) {
        state = malleable_resize_point(program, &iteration);
        if (state != MALLEABLE_CONTINUE && state != MALLEABLE_RESIZED)
            break;
        rows.first = share.first;
        rows.n = share.n_rows;
        if (!step(&settings, &rows, iteration, malleable_comm(program)))
            break;
    }
    if (MALLEABLE_LEFT < state)
        return failed("resize point");
    if (state != MALLEABLE_LEFT)
        print_check(&settings, &rows, iteration + 1, malleable_comm(program));
    leave_notes(&settings, state == MALLEABLE_LEFT ? "left" : "done");
    return malleable_end(program) ? failed("end") : 0;
}
