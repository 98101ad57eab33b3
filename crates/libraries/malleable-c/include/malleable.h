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
 * Made from the sources in crates/libraries/malleable-c/src; a test says how. */
#ifndef MALLEABLE_H
#define MALLEABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The program continues unchanged.
#define MALLEABLE_CONTINUE 0

// The program continues with another number of ranks: its arrays, its communicator and its rows are new.
#define MALLEABLE_RESIZED 1

// This process is no longer needed: it must leave the loop, call `malleable_end`, and end.
#define MALLEABLE_LEFT 2

// An argument of a library function is not valid, such as a null pointer.
#define MALLEABLE_MISUSE 10

// The ranks cannot continue together, or the library failed.
#define MALLEABLE_FAILED 12

// Partition into blocks of equal length. Its parameter is ignored.
#define MALLEABLE_EVEN 0

// Partition into blocks with equal numbers of entries of the sparse matrix that is registered for these rows. Set
// `n_rows` of `malleable_share` yourself: any blocks will do at first.
#define MALLEABLE_WEIGHTED 1

// Partition into blocks of equal length, whose bounds are multiples of the parameter.
#define MALLEABLE_ALIGNED 2

// Partition into blocks of as many rows as the parameter, dealt round-robin.
#define MALLEABLE_CYCLIC 3

// Partition of a field into rectangles: rows are its cells, and the parameter is its number of columns.
#define MALLEABLE_BLOCKS_2D 4

// Program that changes its number of ranks while it runs, as seen by one of its processes.
typedef struct malleable malleable;

// Function that is called when a size begins or ends; it may ask for the communicator and the rows.
typedef void (*malleable_hook)(struct malleable *program, void *context);

// Rows of this rank.
typedef struct malleable_share {
  // First row.
  uint64_t first;
  // Number of rows.
  uint64_t n_rows;
} malleable_share;

// Function that writes the bounds of blocks of rows, from 0 to `n_rows` and one more than parts, for any number of
// parts.
typedef void (*malleable_bounds)(uint64_t n_rows, uint32_t n_parts, uint64_t *bounds, void *context);

// Block of the cells of a body. Axes are planes, rows and columns, in this order.
typedef struct malleable_block {
  // First cell along each axis.
  uint64_t first[3];
  // Number of cells along each axis.
  uint64_t extents[3];
  // Number of blocks along each axis.
  uint32_t n_blocks[3];
  // Number of blocks before this one along each axis; the rank is `(place[0] * n_blocks[1] + place[1]) * n_blocks[2] +
  // place[2]`.
  uint32_t place[3];
} malleable_block;

// Function that writes a row, by its position on this rank, and returns its number of bytes; where `bytes` is null it
// only returns that number.
typedef size_t (*malleable_pack)(uint64_t row, void *bytes, void *context);

// Function that makes a row of these bytes, at its new position on this rank.
typedef void (*malleable_unpack)(uint64_t row, const void *bytes, size_t n_bytes, void *context);

// Container of the program's own, such as a `std::vector`, in which it keeps an array.
typedef struct malleable_container {
  // The container, at an address that stays.
  void *container;
  // Size of an element.
  size_t element_bytes;
  // Returns the address of the first element; null where there is none.
  void *(*start)(void *container);
  // Returns the number of elements.
  size_t (*length)(void *container);
  // Gives the container so many elements, with any contents, and returns their address; null where memory is short.
  void *(*resize)(void *container, size_t n_elements);
} malleable_container;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Begins a malleable program, and initializes MPI unless the program has called `MPI_Init_thread` with
// `MPI_THREAD_MULTIPLE`; a new process joins the ones that started it. The options of the library are taken from the
// arguments of `main`, which may be null; `malleable_help` lists them. Null on failure: `malleable_message` returns
// the reason.
struct malleable *malleable_begin(int *argc, char ***argv);

// Like `malleable_begin`, with the program's own defaults of options, such as "--sizes 2:8", which the variable
// `SINTONIA_MALLEABLE` and the arguments override.
struct malleable *malleable_begin_with(const char *words, int *argc, char ***argv);

// Returns whether this process was started by other ranks, or continues from a checkpoint: then it must not create its
// data, which arrive at its first resize point.
bool malleable_is_new(const struct malleable *program);

// Point at which the size may change: at the head of the loop, before this iteration. All processes of the program
// call it. A new process gets its data here, and the number of the next iteration.
//
// Returns `MALLEABLE_CONTINUE`; `MALLEABLE_RESIZED` when arrays, rows, and the communicator are new; `MALLEABLE_LEFT`
// when this process leaves; or an error code. A resize that fails or is refused is not an error: the program
// continues.
int malleable_resize_point(struct malleable *program, uint64_t *iteration);

// Returns the communicator of the present ranks, as a number that `malleable_comm` converts to an `MPI_Comm`. A resize
// replaces it.
size_t malleable_handle(const struct malleable *program);

// Has functions called with each size: `begins` when a number of ranks begins, `ends` when it ends; either may be null.
//
// `begins` makes what depends on the present ranks, such as communicators derived from `malleable_comm`, windows, files,
// lists of neighbors, and ghost cells; `ends` frees it. All ranks call `begins` together at the first resize point, and
// after every resize with their new data, new ranks too; so the program need not make any of it before its loop. All
// ranks call `ends` together before a resize, also those that leave, and in `malleable_end`. MPI keeps a process that
// has left until its windows and files are freed.
//
// Functions that are registered later begin later and end earlier. They may call `malleable_comm` and
// `malleable_is_new`, and no other function of this library.
int malleable_each_size(struct malleable *program,
                        malleable_hook begins,
                        malleable_hook ends,
                        void *context);

// Ends the program when the loop is done, or this process leaves: all processes call it. Arrays belong to the program
// again. MPI is finalized at the end of the process: call `MPI_Finalize` only if the program initialized MPI itself.
// Returns 0 or an error code.
int malleable_end(struct malleable *program);

// Returns the communicator of the present ranks as the integer that Fortran uses. A resize replaces it.
int malleable_fortran_comm(const struct malleable *program);

// Registers bytes that are the same on every rank and never change: they move while the program computes.
//
// All functions that register return 0 or `MALLEABLE_MISUSE`. Every process registers the same objects, in the same
// order, before its first resize point; a new process registers places that are still empty. Names are for messages.
int malleable_constant(struct malleable *program, const char *called, void *place, size_t n_bytes);

// Registers bytes that are the same on every rank and change between iterations.
int malleable_variable(struct malleable *program, const char *called, void *place, size_t n_bytes);

// Sets the partition of the rows of the arrays that are registered next: `MALLEABLE_EVEN` and so on, with its
// parameter. `share` receives the rows of this rank: here, except for `MALLEABLE_WEIGHTED`, and after every resize. A
// new rank need not know `n_rows`.
int malleable_rows_of(struct malleable *program,
                      uint64_t n_rows,
                      int cut,
                      uint64_t with,
                      struct malleable_share *share);

// Like `malleable_rows_of`, for blocks whose bounds a function of the program writes; at most four such functions.
int malleable_rows_given(struct malleable *program,
                         uint64_t n_rows,
                         malleable_bounds bounds,
                         void *context,
                         struct malleable_share *share);

// Like `malleable_rows_of`, for blocks of a body: rows are its cells, column by column, row by row, plane by plane.
// `extents` are its numbers of planes, of rows in a plane, and of columns, less than 2^32 each. Of all grids of blocks it is
// the one with the smallest borders; `malleable_block_of` describes it.
int malleable_blocks_3d(struct malleable *program,
                        const uint64_t *extents,
                        struct malleable_share *share);

// Writes the block that a rank has of a body with these extents, as `malleable_blocks_3d` cuts it among `n_ranks`. Needs no
// program, so functions of `malleable_each_size` may call it.
int malleable_block_of(const uint64_t *extents,
                       uint32_t n_ranks,
                       uint32_t rank,
                       struct malleable_block *block);

// Registers a constant array with an element of `row_bytes` for each row: `place` is the address of the program's
// pointer to it. The array must come from `malloc`: a resize frees it and puts a new one in its place, which the
// program frees in the end. Constant arrays move while the program computes, so it must not write to them after its
// first resize point.
int malleable_constant_rows(struct malleable *program, const char *called, void *place, size_t row_bytes);

// Registers a variable array with an element of `row_bytes` for each row: `place` is the address of the program's
// pointer to it, which may point to another array from `malloc` at each resize point. A resize frees the array and
// puts a new one in its place, which the program frees in the end.
int malleable_rows(struct malleable *program, const char *called, void *place, size_t row_bytes);

// Registers the rows of a constant sparse matrix: addresses of the program's pointers to the number of entries of each
// row, and to the columns and values of all entries, row by row. The arrays must come from `malloc`, as for
// `malleable_constant_rows`. With `MALLEABLE_WEIGHTED` each part gets an equal number of entries.
int malleable_constant_csr(struct malleable *program,
                           const char *called,
                           uint32_t **lengths,
                           uint32_t **columns,
                           void *values,
                           size_t value_bytes);

// Like `malleable_constant_csr`, with columns of 64 bits.
int malleable_constant_csr64(struct malleable *program,
                             const char *called,
                             uint32_t **lengths,
                             uint64_t **columns,
                             void *values,
                             size_t value_bytes);

// Registers a variable array whose rows have different numbers of elements, such as the particles of cells: addresses of
// the program's pointers to the number of elements of each row, and to the elements, row by row. The arrays must come
// from `malloc`, as for `malleable_rows`; both may be others at each resize point. With `MALLEABLE_WEIGHTED` each part
// gets an equal number of elements.
int malleable_uneven_rows(struct malleable *program,
                          const char *called,
                          uint32_t **lengths,
                          void *place,
                          size_t element_bytes);

// Registers rows that are structures of the program, such as lists or trees: `pack` writes one of them as bytes, and
// `unpack` makes it of them. At a resize and at a checkpoint `pack` is called for each row, first for its size. After a
// resize `unpack` is called for each row that this rank has then; the share has the number of them before.
int malleable_packed_rows(struct malleable *program,
                          const char *called,
                          malleable_pack pack,
                          malleable_unpack unpack,
                          void *context);

// Registers an array in a container with an element for each row: a resize gives the container another number of
// elements. Constant arrays move while the program computes, so it must not change them after its first resize point.
int malleable_contained_rows(struct malleable *program,
                             const char *called,
                             bool is_constant,
                             const struct malleable_container *rows);

// Registers arrays in containers whose rows have different numbers of elements: `lengths` has the number of each row, as
// 32 bits, and each of the `n_entries` containers at `entries` so many elements, row by row; the columns and the values
// of a sparse matrix are two. With `MALLEABLE_WEIGHTED` each part gets an equal number of elements.
int malleable_contained_uneven(struct malleable *program,
                               const char *called,
                               bool is_constant,
                               const struct malleable_container *lengths,
                               const struct malleable_container *entries,
                               size_t n_entries);

// Returns the reason of the last failed call in this thread, as a sentence for the user; empty when none failed. Valid
// until the next call fails.
const char *malleable_message(void);

// Returns the description of all options, as a program's `--help` may print it.
const char *malleable_help(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

// The communicator of the present ranks, for programs that include `mpi.h`; a change of the size replaces it.
#define malleable_comm(program) ((MPI_Comm)malleable_handle(program))

#endif
