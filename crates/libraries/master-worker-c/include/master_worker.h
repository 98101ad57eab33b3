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
 * Made from the sources in crates/libraries/master-worker-c/src; a test says how. */
#ifndef MASTER_WORKER_H
#define MASTER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The run ended without an error; or `--help` was given.
#define MW_OK 0

// An argument of a library function is not valid: a null pointer, an unknown option.
#define MW_MISUSE 1

// An option of the run is not valid.
#define MW_OPTIONS 2

// The ranks cannot communicate, or the master is gone.
#define MW_COMMUNICATION 3

// The checkpoint cannot be written or read.
#define MW_CHECKPOINT 4

// Tasks failed at every attempt.
#define MW_TASKS 5

// The run was canceled.
#define MW_CANCELED 6

// A function of the master failed.
#define MW_PROGRAM 7

// Bug in the library; please report it.
#define MW_BUG 8

// Tasks that a task makes; see `mw_bag_add`.
typedef struct mw_bag mw_bag;

// Output of a function: passed to it empty, and valid until it returns.
typedef struct mw_buffer mw_buffer;

// Options of a run; each has a default.
typedef struct mw_options mw_options;

// Range of tasks, from `start` up to but excluding `end`.
typedef struct mw_tasks {
  // First task.
  uint64_t start;
  // One past the last task.
  uint64_t end;
} mw_tasks;

// Priority of some tasks; higher ones are dealt first.
typedef struct mw_priority {
  // Tasks with this priority.
  struct mw_tasks tasks;
  // Priority; that of all other tasks is 0.
  int32_t priority;
} mw_priority;

// Wish for some tasks.
typedef struct mw_hint {
  // Tasks that it is for.
  struct mw_tasks tasks;
  // Priority: higher ones are dealt first; that of all other tasks is 0.
  int32_t priority;
  // Rank of a worker that has what they need, or 0: others get them only when they have nothing else to do of the same
  // priority.
  uint32_t near;
} mw_hint;

// Plan of the next iteration.
typedef struct mw_plan {
  // Number of tasks. Preset to 0: leave it so when there are no more iterations.
  uint64_t n_tasks;
  // Priorities of tasks, or null; where ranges overlap, the first one counts. The array must stay valid until
  // the function is called again or the run ends.
  const struct mw_priority *priorities;
  // Number of priorities.
  size_t n_priorities;
  // Where tasks arrive while the iteration runs: their number so far, which begins with `n_tasks`, is raised once
  // their inputs are there, from any thread, and stays valid until the function is called again or the run ends. The
  // iteration ends when all tasks that have arrived are done. Null when no more arrive.
  const uint64_t *n_arrived;
  // Returns wishes for the tasks that the iteration begins with, and for those that arrive, and sets their number; the
  // array stays valid until the next call. Null when there are no wishes.
  const struct mw_hint *(*hints)(void *state, struct mw_tasks arrived, size_t *n_hints);
  // True to give each task to the worker that did it in the iteration before, if that one set this, too; others get it
  // only when they have nothing else to do.
  bool keeps_places;
} mw_plan;

// Bytes in memory; aligned for every number when the library passes them.
typedef struct mw_bytes {
  // First byte; ignored when there are none.
  const void *data;
  // Number of bytes.
  size_t n_bytes;
} mw_bytes;

// Report of one worker in one iteration.
typedef struct mw_worker_report {
  // Rank of the worker.
  uint32_t rank;
  // Tasks computed.
  uint64_t n_tasks;
  // Chunks computed.
  uint64_t n_chunks;
  // Time in `worker_work`, in seconds.
  double compute_s;
  // Time spent waiting for chunks after the first one, in seconds.
  double waited_s;
} mw_worker_report;

// Report of one iteration.
typedef struct mw_iteration_report {
  // Number of the iteration, from 0.
  uint64_t iteration;
  // Number of its tasks.
  uint64_t n_tasks;
  // Chunks dealt, including those dealt again.
  uint64_t n_chunks;
  // Chunks taken back before they began.
  uint64_t n_retracted;
  // Chunks that failed and were retried.
  uint64_t n_retried;
  // Workers lost or missing in the iteration.
  uint64_t n_lost;
  // Time from the start of the iteration to its last result, in seconds.
  double duration_s;
  // Share of the workers' time in which they computed.
  double efficiency;
  // Bytes of the shared data, sent to each worker.
  uint64_t shared_bytes;
  // Bytes of the inputs of all chunks together.
  uint64_t input_bytes;
  // Bytes of the results of all chunks together.
  uint64_t output_bytes;
  // Ranks that took part, in order; includes the master if it computed anything.
  const struct mw_worker_report *workers;
  // Number of workers.
  size_t n_workers;
  // Reasons for idle workers and for their number, in words.
  const char *explanation;
} mw_iteration_report;

// Report of a run.
typedef struct mw_report {
  // Iterations computed by this run.
  uint64_t n_iterations;
  // Number of the first iteration: not 0 when the run continued from a checkpoint.
  uint64_t first_iteration;
  // Chunks of all iterations.
  uint64_t n_chunks;
  // Tasks of all iterations.
  uint64_t n_tasks;
  // Time of all iterations together, in seconds.
  double iterations_s;
} mw_report;

// A master/worker program: its functions, in the order in which they are called.
//
// Functions that a program does not need are null; it needs `master_next`, `worker_work` and `master_recover`. A
// function that returns a number returns 0 on success. Any other value is a failure: if `worker_work` or
// `worker_init` fails, the tasks are retried on another worker; if a function of the master fails, the run ends.
// `mw_fail` sets the reason.
typedef struct mw_program {
  // State of the program, passed to each function.
  void *state;
  // Number of bytes of `state` of which each worker gets its own copy when ranks are threads, made before the run
  // begins: changes by the master do not reach it, as between processes. With 0 all threads share `state`, and
  // workers must not change it.
  size_t n_state_bytes;
  // Total number of iterations, or 0 if unknown: with it, `--progress` shows the time left.
  uint64_t n_iterations;
  // Master, initialize: called before its first iteration, or before `master_restore`.
  int (*master_init)(void *state);
  // Worker, initialize: called before its first chunk; on the master too, when it computes.
  int (*worker_init)(void *state, uint32_t rank);
  // Master, partition: sets the tasks of the next iteration, and the data that all workers need for them. Bytes
  // written to `shared` replace the workers' shared data; when nothing is written, they keep them.
  int (*master_next)(void *state, uint64_t iteration, struct mw_plan *plan, struct mw_buffer *shared);
  // Master: writes the input of these tasks. May be called again for tasks that are dealt again. Null when the
  // task numbers suffice.
  int (*master_input)(void *state, struct mw_tasks tasks, struct mw_buffer *input);
  // Worker, do work: computes a chunk of tasks and writes its result. The result must depend only on the
  // arguments and on what the program was at the start: the function may be called again on another rank.
  int (*worker_work)(void *state,
                     struct mw_tasks tasks,
                     struct mw_bytes shared,
                     struct mw_bytes input,
                     struct mw_buffer *result);
  // Master, recover: takes the result of a chunk; exactly once for every task, chunks in any order.
  int (*master_recover)(void *state, struct mw_tasks tasks, struct mw_bytes result);
  // Master, after each chunk: returns whether the other tasks of this iteration are no longer needed.
  bool (*master_is_settled)(void *state);
  // Master, end of iteration: called when all its tasks are recovered, or it is settled.
  int (*master_end_iteration)(void *state, const struct mw_iteration_report *report);
  // Master: writes the state that `master_restore` needs to continue after this iteration; for `--checkpoint`.
  int (*master_save)(void *state, struct mw_buffer *saved);
  // Master: restores the saved state; for `--resume`.
  int (*master_restore)(void *state, struct mw_bytes saved);
  // Worker, final work: called after the last chunk.
  void (*worker_final)(void *state);
  // Master, final work: called after the last iteration, when the run ended without an error.
  int (*master_final)(void *state, const struct mw_report *report);
} mw_program;

// Function applied to many items; see `mw_map`.
typedef struct mw_function {
  // Computes a result of `n_result_bytes` from an item; returns 0 on success. Several threads call it at the
  // same time.
  int (*function)(void *context, const void *item, void *result);
  // First argument of the function, on the rank on which it runs.
  void *context;
  // Size of an item, in bytes.
  size_t n_item_bytes;
  // Size of a result, in bytes.
  size_t n_result_bytes;
} mw_function;

// Function applied to tasks that make tasks; see `mw_run_bag`.
typedef struct mw_bag_function {
  // Computes a result of `n_result_bytes` from a task, and adds further tasks with `mw_bag_add`; returns 0 on success.
  // Several threads call it at the same time.
  int (*function)(void *context, const void *task, struct mw_bag *bag, void *result);
  // Master: takes the results, one after the other, once all tasks are done; returns 0 on success. Depth first: a
  // task's own result, then those of the tasks that it added, so in the same order on any number of ranks.
  int (*take)(void *context, const void *result);
  // First argument of the functions, on the rank on which they run.
  void *context;
  // Size of a task, in bytes.
  size_t n_task_bytes;
  // Size of a result, in bytes.
  size_t n_result_bytes;
} mw_bag_function;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Appends `n_bytes` zero bytes, and returns where to write them. The first such block is aligned for every
// number; the pointer is valid until the next call for this buffer. Null when memory is short.
void *mw_reserve(struct mw_buffer *buffer, size_t n_bytes);

// Appends a copy of these bytes. Returns 0, or `MW_MISUSE` when a pointer is null or memory is short.
int mw_write(struct mw_buffer *buffer, const void *data, size_t n_bytes);

// Like `mw_write`, without a copy when nothing else is written to this buffer: the bytes are sent from where
// they lie. They must not change until the same function is called again; those of `shared` not until others
// replace them or the run ends.
int mw_lend(struct mw_buffer *buffer, const void *data, size_t n_bytes);

// Keeps the `input` of the running `worker_work` or the `result` of the running `master_recover`: its bytes stay where
// they are, may be changed, and belong to the program until `mw_release`. Returns `data`, or null when the bytes cannot
// be kept, as those of short messages may not; then copy them.
void *mw_keep(const void *data);

// Gives back what `mw_keep` returned; null is ignored. May be called from any thread.
void mw_release(void *data);

// Returns the reason of the last failed call in this thread, as a sentence for the user; empty when none
// failed. Valid until the next call fails.
const char *mw_last_error(void);

// Sets the reason why a function of the program fails: `return mw_fail("the table is empty");`. Returns -1.
int mw_fail(const char *text);

// Returns new options with their defaults. Free them with `mw_options_free`.
struct mw_options *mw_options_new(void);

// Returns the options among the arguments of `main`, and removes them from `argv`; `mw_options_help` lists them. The
// other arguments remain for the program, from `argv[1]` on. Null when `argc` or `argv` is.
struct mw_options *mw_options_from_args(int *argc, char **argv);

// Sets an option by its argument's name, without dashes: `mw_options_set(options, "policy", "gss")`,
// `mw_options_set(options, "progress", NULL)`. Returns 0, or `MW_MISUSE` when there is no such option; the run
// reports a wrong value.
int mw_options_set(struct mw_options *options, const char *name, const char *value);

// Returns the description of all options, as `--help` prints it.
const char *mw_options_help(void);

// Stops the run that uses these options, which then returns `MW_CANCELED`. May be called from any thread and any
// function, including signal handlers.
void mw_cancel(const struct mw_options *options);

// Frees options; not while a run uses them.
void mw_options_free(struct mw_options *options);

// Runs a program: on the ranks of the MPI launcher that started the process, else on threads. Returns on every rank,
// once the run is over; use the results in `master_final`.
//
// The options of the run are taken from the arguments of `main`; other arguments are left to the program. `--help`
// prints the options and runs nothing. Errors are also printed to standard error. Returns `MW_OK` or an error code
// (`MW_...`), suitable as the result of `main`.
int mw_run(const struct mw_program *program, int argc, char *const *argv);

// Like `mw_run`, with these options, or the defaults when null. Prints nothing: `mw_last_error` returns the error.
int mw_run_with(const struct mw_program *program, const struct mw_options *options);

// Returns whether this process was the master in its last run or `mw_map`. True on threads; of the ranks of a
// launcher, one is the master and has the results.
bool mw_is_master(void);

// Applies a function to every item of an array, on all ranks. Results are written in the order of the items, on the
// master only, which `mw_is_master` identifies. Options may be null. Returns the same codes as `mw_run_with`.
int mw_map(const struct mw_function *function,
           const void *items,
           size_t n_items,
           void *results,
           const struct mw_options *options);

// Adds a copy of this task to the bag. Of the tasks that wait, those of higher priority come first; 0 is usual. Returns 0,
// or `MW_MISUSE` when a pointer is null.
int mw_bag_add(struct mw_bag *bag,
               const void *task,
               int32_t priority);

// Applies a function to tasks, and to those that it adds to its bag, on all ranks, until none is left. Results are taken on
// the master only, which `mw_is_master` identifies. Options may be null. Returns the same codes as `mw_run_with`.
//
// The master keeps a result of every task until the end: where only a sum is wanted, let a task do all that is small
// itself.
int mw_run_bag(const struct mw_bag_function *function,
               const void *tasks,
               size_t n_tasks,
               const struct mw_options *options);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif
