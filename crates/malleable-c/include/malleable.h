/* Programs that change their number of ranks while they run, in C and C++.
 *
 * An iterative program registers its data once, and calls `malleable_resize_point` at the head of its loop. Whoever wants
 * another number of ranks says so from outside (`sintonia resize JOB N`, a policy of Slurm, a schedule, a model): processes
 * are started while the program computes, its data move, and the loop goes on with the next iteration.
 *
 *   mpicc program.c -lsintonia_malleable
 *   mpirun -n 2 ./a.out --schedule 100:4,200:1
 *
 *   malleable *m = malleable_begin(&argc, &argv);
 *   malleable_rows_of(m, n_rows, MALLEABLE_EVEN, 0, &share);
 *   malleable_rows(m, "heat", &heat, sizeof *heat);
 *   if (!malleable_is_new(m))
 *       heat = make(share);
 *   for (uint64_t i = 0; i < n; i++) {
 *       if (malleable_resize_point(m, &i) == MALLEABLE_LEFT)
 *           break;
 *       step(heat, share, malleable_comm(m));
 *   }
 *   malleable_end(m);
 *
 * The library never ends the process: it returns codes, and `malleable_message` says in words what went wrong. MPI is begun
 * here, so that several threads may call it. One thread calls the functions here.
 *
 * Made from the sources in crates/malleable-c/src; a test says how. */
#ifndef MALLEABLE_H
#define MALLEABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The program goes on as it was.
#define MALLEABLE_CONTINUE 0

// The program goes on with another number of ranks: its arrays, its communicator and its rows are new.
#define MALLEABLE_RESIZED 1

// This process is no longer needed: it leaves the loop, calls `malleable_end`, and ends.
#define MALLEABLE_LEFT 2

// An argument of a function of this library cannot be, such as a null pointer.
#define MALLEABLE_MISUSE 10

// An option is wrong.
#define MALLEABLE_OPTIONS 11

// The ranks cannot go on together, or the library failed.
#define MALLEABLE_FAILED 12

// Rows in blocks of equal length. The number that goes with it is not looked at.
#define MALLEABLE_EVEN 0

// Rows in blocks of as many entries of the sparse matrix that is registered for them. Set `n_rows` of
// `malleable_share` yourself: any blocks will do at first.
#define MALLEABLE_WEIGHTED 1

// Rows in blocks of equal length, whose bounds are multiples of a number.
#define MALLEABLE_ALIGNED 2

// Rows in blocks of so many, dealt in turns.
#define MALLEABLE_CYCLIC 3

// Rows are the cells of a field with so many columns, which is cut into rectangles.
#define MALLEABLE_BLOCKS_2D 4

// A program that changes its number of ranks while it runs, as one of its processes sees it.
typedef struct malleable malleable;

// The rows of this rank.
typedef struct malleable_share {
  // Its first row.
  uint64_t first;
  // How many it has.
  uint64_t n_rows;
} malleable_share;

// Writes the bounds of blocks of rows, from 0 to `n_rows` and one more than there are parts, for any number of parts.
typedef void (*malleable_bounds)(uint64_t n_rows, uint32_t n_parts, uint64_t *bounds, void *context);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Begins MPI, unless the program has called `MPI_Init_thread` with `MPI_THREAD_MULTIPLE`, and a malleable program; a
// process that others started joins them. The options of the library are taken from the arguments of `main`, which may be
// null; `malleable_help` lists them. Null when it cannot: `malleable_message` says why.
struct malleable *malleable_begin(int *argc,
                                  char ***argv);

// As `malleable_begin`, with options of the program's own, such as "--sizes 2:8", which count less than the variable
// `SINTONIA_MALLEABLE` and the arguments.
struct malleable *malleable_begin_with(const char *words, int *argc, char ***argv);

// Whether this process was started by the others, or goes on from a checkpoint: it does not make its data, which come at
// its first resize point.
bool malleable_is_new(const struct malleable *program);

// A place where the size may change: at the head of the loop, before this iteration. All processes of the program call it.
// A process that is new gets its data here, and the iteration that comes next.
//
// `MALLEABLE_CONTINUE`; `MALLEABLE_RESIZED` when arrays, rows, and the communicator are new; `MALLEABLE_LEFT` when this
// process leaves; or what went wrong. A change that fails or is refused is nothing that goes wrong: the program goes on.
int malleable_resize_point(struct malleable *program,
                           uint64_t *iteration);

// The communicator of the present ranks, as a number that `malleable_comm` makes an `MPI_Comm` of. A change of the size
// replaces it.
size_t malleable_handle(const struct malleable *program);

// Ends it, when the loop is done, or this process leaves: all processes call it. Arrays are the program's again. MPI ends
// with the process, unless the program began it: do not call `MPI_Finalize` then. 0, or what went wrong.
int malleable_end(struct malleable *program);

// Registers bytes that are the same on every rank and stay as they are: they travel while the program computes.
//
// All functions that register return 0 or `MALLEABLE_MISUSE`. Every process registers the same, in the same order, before
// its first resize point; one that is new does so with places that are empty yet. Names are for messages.
int malleable_constant(struct malleable *program,
                       const char *called,
                       void *place,
                       size_t n_bytes);

// Registers bytes that are the same on every rank and change from iteration to iteration.
int malleable_variable(struct malleable *program, const char *called, void *place, size_t n_bytes);

// Says how rows are cut, for the arrays that are registered next: `MALLEABLE_EVEN` and so on, with the number that goes
// with it. `share` says which rows this rank has: it is set here, except for `MALLEABLE_WEIGHTED`, and after every change of
// the size. A new rank need not know `n_rows`.
int malleable_rows_of(struct malleable *program,
                      uint64_t n_rows,
                      int cut,
                      uint64_t with,
                      struct malleable_share *share);

// As `malleable_rows_of`, with blocks whose bounds the program's function writes; four such functions at most.
int malleable_rows_given(struct malleable *program,
                         uint64_t n_rows,
                         malleable_bounds bounds,
                         void *context,
                         struct malleable_share *share);

// Registers an array with an element of `row_bytes` for each row that does not change: `place` is the address of the
// program's pointer to it. The array comes from `malloc`: a change of the size frees it and puts another one in its place,
// which the program frees in the end. Constant arrays travel while the program computes, so it must not write to them
// after its first resize point.
int malleable_constant_rows(struct malleable *program,
                            const char *called,
                            void *place,
                            size_t row_bytes);

// Registers an array with an element of `row_bytes` for each row that changes from iteration to iteration: `place` is the
// address of the program's pointer to it, which may point to another array from `malloc` at each resize point. A change of
// the size frees the array and puts another one in its place, which the program frees in the end.
int malleable_rows(struct malleable *program,
                   const char *called,
                   void *place,
                   size_t row_bytes);

// Registers the rows of a sparse matrix that does not change: addresses of the program's pointers to the number of entries
// of each row, and to the columns and values of all entries, row by row. The arrays come from `malloc`, as of
// `malleable_constant_rows`. For `MALLEABLE_WEIGHTED` each part gets as many entries.
int malleable_constant_csr(struct malleable *program,
                           const char *called,
                           uint32_t **lengths,
                           uint32_t **columns,
                           void *values,
                           size_t value_bytes);

// What went wrong in the last call of this thread that failed, as a sentence for a person; empty when none did. It stays
// until the next one fails.
const char *malleable_message(void);

// What the options are, as a program's `--help` may print it.
const char *malleable_help(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

// The communicator of the present ranks, for programs that include `mpi.h`; a change of the size replaces it.
#define malleable_comm(program) ((MPI_Comm)malleable_handle(program))

#endif
