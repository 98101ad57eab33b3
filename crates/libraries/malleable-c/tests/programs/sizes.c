/* What depends on the ranks is made and freed with each size: communicators, and with a name a file and a window.
 *
 *   sizes [FILE] [--schedule ...]     exits with 1 on an error
 */
#include <malleable.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_ROWS = 100, N_ITERATIONS = 80 };

struct state {
    const char *path;
    int n_begun, n_ended, n_wrong, rank, size;
    malleable_share share;
    uint64_t *numbers;
    /* What depends on the ranks. */
    MPI_Comm all, halves;
    MPI_File file;
    MPI_Win window;
    int *room;
};

static void begins(malleable *m, void *context)
{
    struct state *state = context;
    MPI_Comm_dup(malleable_comm(m), &state->all);
    MPI_Comm_rank(state->all, &state->rank);
    MPI_Comm_size(state->all, &state->size);
    MPI_Comm_split(state->all, state->rank % 2, 0, &state->halves);
    state->room = malloc(sizeof(int));
    if (state->path != NULL) {
        MPI_File_open(state->all, state->path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &state->file);
        MPI_Win_create(state->room, sizeof(int), sizeof(int), MPI_INFO_NULL, state->all, &state->window);
    }
    state->n_begun++;
    /* The data are here already, and the library may not be called but for the communicator. */
    uint64_t iteration = 0;
    if (state->share.n_rows == 0 || state->numbers[0] < state->share.first ||
        malleable_resize_point(m, &iteration) != MALLEABLE_MISUSE || malleable_end(m) != MALLEABLE_MISUSE)
        state->n_wrong++;
}

static void ends(malleable *m, void *context)
{
    struct state *state = context;
    int result = MPI_UNEQUAL;
    MPI_Comm_compare(state->all, malleable_comm(m), &result);
    state->n_wrong += result != MPI_CONGRUENT;
    if (state->path != NULL) {
        MPI_Win_free(&state->window);
        MPI_File_close(&state->file);
    }
    free(state->room);
    MPI_Comm_free(&state->halves);
    MPI_Comm_free(&state->all);
    state->n_ended++;
}

static void step(struct state *state, uint64_t iteration)
{
    int sum = 1, half = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, state->all);
    MPI_Allreduce(MPI_IN_PLACE, &half, 1, MPI_INT, MPI_SUM, state->halves);
    state->n_wrong += sum != state->size || half != (state->size + 1 - state->rank % 2) / 2;
    if (state->path != NULL) {
        int next = (state->rank + 1) % state->size;
        MPI_Win_fence(0, state->window);
        MPI_Put(&state->rank, 1, MPI_INT, next, 0, 1, MPI_INT, state->window);
        MPI_Win_fence(0, state->window);
        state->n_wrong += *state->room != (state->rank + state->size - 1) % state->size;
    }
    for (uint64_t row = 0; row < state->share.n_rows; row++)
        state->n_wrong += state->numbers[row]++ != state->share.first + row + iteration;
}

int main(int argc, char **argv)
{
    struct state state = {0};
    int code = MALLEABLE_CONTINUE;
    malleable *m = malleable_begin_with("--foreground --check-every 1 --redistribution sync", &argc, &argv);
    if (m == NULL)
        return fprintf(stderr, "sizes: %s\n", malleable_message()), 1;
    state.path = argc == 2 ? argv[1] : NULL;
    malleable_rows_of(m, N_ROWS, MALLEABLE_EVEN, 0, &state.share);
    malleable_rows(m, "numbers", &state.numbers, sizeof *state.numbers);
    malleable_each_size(m, begins, ends, &state);
    if (!malleable_is_new(m)) {
        state.numbers = malloc((size_t)state.share.n_rows * sizeof *state.numbers);
        for (uint64_t row = 0; row < state.share.n_rows; row++)
            state.numbers[row] = state.share.first + row;
    }
    for (uint64_t i = 0; i < N_ITERATIONS; i++) {
        code = malleable_resize_point(m, &i);
        if (code != MALLEABLE_CONTINUE && code != MALLEABLE_RESIZED)
            break;
        step(&state, i);
    }
    int all_wrong = state.n_wrong;
    if (code <= MALLEABLE_RESIZED)
        MPI_Reduce(&state.n_wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, malleable_comm(m));
    int is_first = code <= MALLEABLE_RESIZED && state.rank == 0;
    if (malleable_end(m) != 0 || code > MALLEABLE_LEFT)
        return fprintf(stderr, "sizes: %s\n", malleable_message()), 1;
    if (is_first)
        printf("%d sizes begun, %d ended, %d wrong\n", state.n_begun, state.n_ended, all_wrong);
    free(state.numbers);
    return state.n_wrong != 0 || state.n_begun != state.n_ended;
}
