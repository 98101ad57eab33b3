/* Programs of a master and workers that deal themselves well: on the ranks of an MPI launcher, or on threads.
 *
 * You fill a `mw_program` with your functions and call `mw_run`. The library sends the tasks of an iteration out in
 * chunks whose sizes follow what was measured, computes again elsewhere what failed or whose worker died, writes
 * checkpoints, and can be watched and tuned from outside (`sintonia run`).
 *
 *   cc program.c -lmaster_worker            the shared library; or, with the static one:
 *   cc program.c libmaster_worker.a -lm
 *   ./a.out --progress                      on a thread per core
 *   mpirun -n 4 ./a.out --progress          on four ranks, with Open MPI or MPICH: the same program
 *
 * The MPI library is found when the program runs, so `cc` does as well as `mpicc`. A program that calls MPI itself
 * calls `MPI_Init_thread` before `mw_run` and `MPI_Finalize` after it; one that does not can call `mw_run` or `mw_map`
 * once.
 *
 * A function `worker_...` is called on every worker. Where ranks are threads that is several threads at once, each with
 * its own copy of the bytes of `state`: keep other memory that they write apart, made in `worker_init`. The result of
 * a task depends on the task and the shared data only; then it is the same on any number of ranks. Results arrive in
 * any order: put them where their tasks are.
 *
 * All ranks run the same program on machines of one kind: bytes are sent as they are. Pointers that a function is
 * passed are valid until it returns. C++: no exception may leave a function that the library calls; catch it there and
 * return `mw_fail(...)`, as `mw::guarded` of `master_worker.hpp` does.
 *
 * Made from the sources in crates/master-worker-c/src; a test says how. */
#ifndef MASTER_WORKER_H
#define MASTER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The run ended well; or `--help` was asked for and given.
#define MW_OK 0

// An argument of a function of this library cannot be: a null pointer, an unknown option.
#define MW_MISUSE 1

// An option of the run is wrong.
#define MW_OPTIONS 2

// The ranks cannot communicate, or the master is gone.
#define MW_COMMUNICATION 3

// The checkpoint cannot be written or read.
#define MW_CHECKPOINT 4

// Tasks failed wherever they were tried.
#define MW_TASKS 5

// The run was canceled.
#define MW_CANCELED 6

// A function of the master failed.
#define MW_PROGRAM 7

// The library failed; please report it.
#define MW_BUG 8

// What a function writes: it is passed one, empty, and it is over when the function returns.
typedef struct mw_buffer mw_buffer;

// How a run is done; for one run. Everything has a default.
typedef struct mw_options mw_options;

// Tasks: from `start` on, and before `end`.
typedef struct mw_tasks {
  // The first one.
  uint64_t start;
  // Behind the last one.
  uint64_t end;
} mw_tasks;

// Tasks that are dealt before those of a lower priority.
typedef struct mw_priority {
  // Which ones.
  struct mw_tasks tasks;
  // Their priority; that of all others is 0.
  int32_t priority;
} mw_priority;

// The next iteration.
typedef struct mw_plan {
  // How many tasks it has, counted from 0. It is 0 before: leave it so when there is no iteration any more.
  uint64_t n_tasks;
  // What comes first, or null; where they overlap, the first one counts. They stay until the function is
  // called again or the run ends.
  const struct mw_priority *priorities;
  // How many these are.
  size_t n_priorities;
} mw_plan;

// Bytes that lie somewhere; aligned for every number when the library passes them.
typedef struct mw_bytes {
  // The first one; not to be looked at when there are none.
  const void *data;
  // How many.
  size_t n_bytes;
} mw_bytes;

// One worker in one iteration.
typedef struct mw_worker_report {
  // Its rank.
  uint32_t rank;
  // Tasks that it did.
  uint64_t n_tasks;
  // In so many chunks.
  uint64_t n_chunks;
  // Time in `worker_work`.
  double compute_s;
  // How long it waited for chunks after its first one.
  double waited_s;
} mw_worker_report;

// What an iteration was like.
typedef struct mw_iteration_report {
  // Its number, from 0.
  uint64_t iteration;
  // Its tasks.
  uint64_t n_tasks;
  // Chunks dealt, those that were dealt again included.
  uint64_t n_chunks;
  // Chunks taken back before they were begun.
  uint64_t n_retracted;
  // Chunks that failed and were tried again.
  uint64_t n_retried;
  // Workers lost or missed in it.
  uint64_t n_lost;
  // From its start to its last result.
  double duration_s;
  // Share of the time of all workers in which they computed.
  double efficiency;
  // Bytes of the shared data, sent to each worker.
  uint64_t shared_bytes;
  // Bytes of inputs, of all chunks together.
  uint64_t input_bytes;
  // Bytes of results, of all chunks together.
  uint64_t output_bytes;
  // Those who took part, by rank; the master when it computed something.
  const struct mw_worker_report *workers;
  // How many these are.
  size_t n_workers;
  // Why workers were idle and why there were so many, in words.
  const char *explanation;
} mw_iteration_report;

// What a run was like.
typedef struct mw_report {
  // Iterations computed by this run.
  uint64_t n_iterations;
  // The number of the first one: not 0 when the run went on from a checkpoint.
  uint64_t first_iteration;
  // Chunks of all iterations.
  uint64_t n_chunks;
  // Tasks of all iterations.
  uint64_t n_tasks;
  // Time of all iterations together.
  double iterations_s;
} mw_report;

// A program of a master and workers: its functions, in the order in which they are called.
//
// Null where a program does not need one; it needs `master_next`, `worker_work` and `master_recover`. Those that
// return a number return 0 when all is well. Anything else is a failure: that of `worker_work` or `worker_init`
// has the tasks tried on another worker, that of a function of the master ends the run. `mw_fail` says why.
typedef struct mw_program {
  // The program's own; passed to each function.
  void *state;
  // When ranks are threads, each worker gets a copy of so many bytes of `state`, made before the run begins:
  // what the master changes does not reach it, as between processes. With 0 all threads share `state`, and
  // workers must not change it.
  size_t n_state_bytes;
  // How many iterations there will be in all, or 0 where that is not known: `--progress` then says how much time
  // is left.
  uint64_t n_iterations;
  // Master, initialize: before its first iteration, or before `master_restore`.
  int (*master_init)(void *state);
  // Worker, initialize: before its first chunk; on the master too, when it computes.
  int (*worker_init)(void *state, uint32_t rank);
  // Master, partition: the tasks of the next iteration, and what all workers need for them. What is written to
  // `shared` replaces what they have; when nothing is written, they keep it.
  int (*master_next)(void *state, uint64_t iteration, struct mw_plan *plan, struct mw_buffer *shared);
  // Master: what goes with these tasks. It may be asked again for tasks that come back. Null when their
  // numbers say it all.
  int (*master_input)(void *state, struct mw_tasks tasks, struct mw_buffer *input);
  // Worker, do work: computes a chunk of tasks and writes its result. It depends on nothing but its arguments
  // and what the program was at the start: it may be called again on another rank.
  int (*worker_work)(void *state,
                     struct mw_tasks tasks,
                     struct mw_bytes shared,
                     struct mw_bytes input,
                     struct mw_buffer *result);
  // Master, recover: takes the result of a chunk, once for every task, chunks in any order.
  int (*master_recover)(void *state, struct mw_tasks tasks, struct mw_bytes result);
  // Master, after each chunk: whether the other tasks of this iteration need not be computed any more.
  bool (*master_is_settled)(void *state);
  // Master, end of iteration: all its tasks are recovered, or it is settled.
  int (*master_end_iteration)(void *state, const struct mw_iteration_report *report);
  // Master: writes what `master_restore` needs to go on after this iteration; for `--checkpoint`.
  int (*master_save)(void *state, struct mw_buffer *saved);
  // Master: goes back to what was saved; for `--resume`.
  int (*master_restore)(void *state, struct mw_bytes saved);
  // Worker, final work: there will be no more chunks.
  void (*worker_final)(void *state);
  // Master, final work: after the last iteration, when the run ended well.
  int (*master_final)(void *state, const struct mw_report *report);
} mw_program;

// A function of many items; see `mw_map`.
typedef struct mw_function {
  // Computes a result of `n_result_bytes` from an item; 0 when all is well. It is called by several threads at
  // once.
  int (*function)(void *context, const void *item, void *result);
  // Passed to it, on the rank on which it runs.
  void *context;
  // Bytes of an item.
  size_t n_item_bytes;
  // Bytes of a result.
  size_t n_result_bytes;
} mw_function;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Room for so many more bytes, zero at first; write there. It is aligned for every number when it is the first,
// and is valid until the next call for this buffer. Null when memory is short.
void *mw_reserve(struct mw_buffer *buffer, size_t n_bytes);

// Adds a copy of these bytes. 0, or `MW_MISUSE` when a pointer is null or memory is short.
int mw_write(struct mw_buffer *buffer, const void *data, size_t n_bytes);

// As `mw_write`, without a copy when nothing else is written to this buffer: the bytes are sent from where they
// lie. They must not change until the same function is called again; those of `shared` not until others replace
// them or the run ends.
int mw_lend(struct mw_buffer *buffer, const void *data, size_t n_bytes);

// What went wrong in the last call of this thread that failed, as a sentence for a person; empty when none did.
// It stays until the next one fails.
const char *mw_last_error(void);

// For the functions of a program: says why they fail, `return mw_fail("the table is empty");`. Returns -1.
int mw_fail(const char *text);

// Options with their defaults. `mw_options_free` frees them.
struct mw_options *mw_options_new(void);

// The options among the arguments of `main`, which are taken out of there; `mw_options_help` lists them. The other
// arguments are the program's own, from `argv[1]` on. Null when `argc` or `argv` is.
struct mw_options *mw_options_from_args(int *argc, char **argv);

// Sets an option by its name as an argument, without dashes: `mw_options_set(options, "policy", "gss")`,
// `mw_options_set(options, "progress", NULL)`. 0, or `MW_MISUSE` when there is no such option; a wrong value is told
// when the run begins.
int mw_options_set(struct mw_options *options, const char *name, const char *value);

// What the options are, as `--help` prints it.
const char *mw_options_help(void);

// Stops the run that was given these options, which ends with `MW_CANCELED`. From any thread and any function, also
// one that handles a signal.
void mw_cancel(const struct mw_options *options);

// Frees options; not while a run uses them.
void mw_options_free(struct mw_options *options);

// Runs a program: on the ranks of the MPI launcher that started the process, else on threads. It returns on every
// rank, once the run is over; `master_final` is the place for results.
//
// The options of the run are taken from the arguments of `main`; other arguments are left to the program. `--help`
// prints the options and runs nothing. What goes wrong is said on standard error too. Returns `MW_OK` or what went
// wrong (`MW_...`), good as the result of `main`.
int mw_run(const struct mw_program *program, int argc, char *const *argv);

// As `mw_run`, with these options, or the usual ones when it is null. Nothing is said: `mw_last_error` has it.
int mw_run_with(const struct mw_program *program, const struct mw_options *options);

// Whether this process was the master in its last run or `mw_map`. It is on threads; of the ranks of a launcher only
// one is, and has results.
bool mw_is_master(void);

// Applies a function to every item of an array, on all ranks. Results are written in the order of the items, on the
// master only: `mw_is_master` says where that is. Options may be null. Returns as `mw_run_with`.
int mw_map(const struct mw_function *function,
           const void *items,
           size_t n_items,
           void *results,
           const struct mw_options *options);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif
