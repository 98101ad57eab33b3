/* Zoom into the Mandelbrot set: rows differ in cost, and the library balances them.
 *
 *   cc -std=c99 mandelbrot.c -lmaster_worker -lm -o mandelbrot
 *   mpirun -n 4 ./mandelbrot 800 20 frame.pgm --progress
 */
#include <master_worker.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps after which a point counts as one of the set. */
#define N_STEPS_MAX 2000

/* Point that the frames zoom in on. */
static const double CENTER_X = -0.743643887;
static const double CENTER_Y = 0.131825904;

/* Square picture, computed frame by frame. */
struct picture {
    uint64_t width;
    uint64_t n_frames;
    uint16_t *pixels; /* on the master */
    const char *file;
};

static uint16_t n_steps(double x, double y)
{
    double a = 0.0, b = 0.0;
    for (uint16_t step = 0; step < N_STEPS_MAX; step++) {
        double real = a * a - b * b + x;
        b = 2.0 * a * b + y;
        a = real;
        if (4.0 < a * a + b * b)
            return step;
    }
    return N_STEPS_MAX;
}

static int master_init(void *state)
{
    struct picture *picture = state;
    picture->pixels = calloc((size_t)(picture->width * picture->width), sizeof *picture->pixels);
    return picture->pixels == NULL ? mw_fail("there is no memory for the picture") : 0;
}

/* The tasks of a frame are its rows; the shared data are its width in the plane. */
static int master_next(void *state, uint64_t frame, mw_plan *plan, mw_buffer *shared)
{
    const struct picture *picture = state;
    double scale = 3.0 * pow(0.7, (double)frame);
    plan->n_tasks = frame < picture->n_frames ? picture->width : 0;
    return mw_write(shared, &scale, sizeof scale);
}

static int worker_work(void *state, mw_tasks rows, mw_bytes shared, mw_bytes input, mw_buffer *result)
{
    const struct picture *picture = state;
    const double scale = *(const double *)shared.data;
    const double step = scale / (double)picture->width;
    size_t n_pixels = (size_t)((rows.end - rows.start) * picture->width);
    uint16_t *pixels = mw_reserve(result, n_pixels * sizeof *pixels);
    (void)input;
    if (pixels == NULL)
        return mw_fail("there is no memory for rows");
    for (uint64_t row = rows.start; row < rows.end; row++) {
        double y = CENTER_Y - scale / 2.0 + (double)row * step;
        for (uint64_t column = 0; column < picture->width; column++)
            *pixels++ = n_steps(CENTER_X - scale / 2.0 + (double)column * step, y);
    }
    return 0;
}

static int master_recover(void *state, mw_tasks rows, mw_bytes result)
{
    const struct picture *picture = state;
    memcpy(picture->pixels + rows.start * picture->width, result.data, result.n_bytes);
    return 0;
}

static int write_picture(const struct picture *picture)
{
    FILE *file = fopen(picture->file, "wb");
    int is_whole;
    if (file == NULL)
        return mw_fail("the picture cannot be written");
    is_whole = 0 < fprintf(file, "P5 %u %u 255\n", (unsigned)picture->width, (unsigned)picture->width);
    for (uint64_t i = 0; i < picture->width * picture->width; i++)
        is_whole &= fputc(picture->pixels[i] & 0xff, file) != EOF;
    return fclose(file) == 0 && is_whole ? 0 : mw_fail("the picture cannot be written to its end");
}

static int master_final(void *state, const mw_report *report)
{
    struct picture *picture = state;
    uint64_t sum = 0;
    int code = 0;
    for (uint64_t i = 0; i < picture->width * picture->width; i++)
        sum = 31 * sum + picture->pixels[i];
    printf("%u frames, sum %016llx\n", (unsigned)report->n_iterations, (unsigned long long)sum);
    if (picture->file != NULL)
        code = write_picture(picture);
    free(picture->pixels);
    return code;
}

int main(int argc, char **argv)
{
    struct picture picture = {400, 10, NULL, NULL};
    mw_options *options = mw_options_from_args(&argc, argv);
    mw_program program = {0};
    int code;
    if (1 < argc)
        picture.width = strtoul(argv[1], NULL, 10);
    if (2 < argc)
        picture.n_frames = strtoul(argv[2], NULL, 10);
    if (3 < argc)
        picture.file = argv[3];
    program.state = &picture;
    program.n_state_bytes = sizeof picture;
    program.n_iterations = picture.n_frames;
    program.master_init = master_init;
    program.master_next = master_next;
    program.worker_work = worker_work;
    program.master_recover = master_recover;
    program.master_final = master_final;
    code = mw_run_with(&program, options);
    if (code != MW_OK)
        fprintf(stderr, "%s: %s\n", argv[0], mw_last_error());
    mw_options_free(options);
    return code;
}
