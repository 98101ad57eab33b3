/* The interface between Sintonia and a tunlet in a shared library, version 1.
 *
 * A library exports `const sintonia_tunlet *sintonia_tunlet_v1(void)`. The host calls `create`, then `begin`,
 * then `hear` for whatever happens, then `destroy`, all from one thread. Texts are UTF-8 and end with a zero
 * byte. What a host passes is valid until the called function returns, the description until `destroy`
 * returns; what a tunlet returns in `sintonia_tunlet` stays valid for good.
 *
 * Made from crates/observe/tunlet-abi/src/abi.rs; a test says how. */
#ifndef SINTONIA_TUNLET_H
#define SINTONIA_TUNLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Version of this interface, in the `version` field of both sides.
#define SINTONIA_TUNLET_VERSION 1

// No position: the name is not described, or an optional position is not given.
#define SINTONIA_NONE UINT32_MAX

// `sintonia_value.kind`: a signed integer, or a Boolean.
#define SINTONIA_INT 1

// `sintonia_value.kind`: an unsigned integer above 2^63 - 1.
#define SINTONIA_UINT 2

// `sintonia_value.kind`: a floating-point number.
#define SINTONIA_FLOAT 3

// Level of detail of an event: not wanted.
#define SINTONIA_DETAIL_NONE 0

// Level of detail of an event: every passage, as `sintonia_event`.
#define SINTONIA_DETAIL_EVERY 1

// Level of detail of an event: sums over passages, as `sintonia_summary`.
#define SINTONIA_DETAIL_SUMMARY 2

// Place in a function: its entry.
#define SINTONIA_ENTRY 0

// Place in a function: its exit.
#define SINTONIA_EXIT 1

// Name with an associated text.
typedef struct sintonia_setting {
  // The name.
  const char *name;
  // The text.
  const char *text;
} sintonia_setting;

// Group of ranks with the same role.
typedef struct sintonia_actor {
  // Name of the actor.
  const char *name;
  // Number of ranks.
  uint32_t n_ranks;
  // Ranks in ascending order.
  const uint32_t *ranks;
} sintonia_actor;

// A measurement point.
typedef struct sintonia_event_point {
  // Name of the event.
  const char *name;
  // Position of its actor.
  uint32_t actor;
  // `SINTONIA_ENTRY` or `SINTONIA_EXIT`.
  uint32_t place;
  // Name of the function that contains it.
  const char *function;
  // Number of attributes.
  uint32_t n_attributes;
  // Names of the attributes, in the order of their values.
  const char *const *attributes;
} sintonia_event_point;

// The number in a `sintonia_value`.
typedef union sintonia_number {
  // Used with `SINTONIA_INT`.
  int64_t int_value;
  // Used with `SINTONIA_UINT`.
  uint64_t uint_value;
  // Used with `SINTONIA_FLOAT`.
  double float_value;
} sintonia_number;

// Numeric value in the program.
typedef struct sintonia_value {
  // Member of `number` in use: `SINTONIA_INT`, `SINTONIA_UINT` or `SINTONIA_FLOAT`.
  uint32_t kind;
  // The number.
  union sintonia_number number;
} sintonia_value;

// Value or behavior of the program that can be changed.
typedef struct sintonia_point {
  // Name of the tuning point.
  const char *name;
  // Position of its actor.
  uint32_t actor;
  // True if `low` and `high` are set.
  bool has_range;
  // True if `value` is set.
  bool has_value;
  // Smallest allowed value.
  double low;
  // Largest allowed value.
  double high;
  // Distance of allowed values from `low` on; 0 if every value in the range is allowed.
  double step;
  // Relative slowdown of iterations above which a change is undone.
  double limit;
  // Value when the tunlet begins.
  struct sintonia_value value;
} sintonia_point;

// Application description and initial state of the run.
typedef struct sintonia_description {
  // File name of the program.
  const char *program;
  // Number of ranks of the program.
  uint32_t n_ranks;
  // Number of actors.
  uint32_t n_actors;
  // Groups of ranks.
  const struct sintonia_actor *actors;
  // Number of events.
  uint32_t n_events;
  // Number of tuning points.
  uint32_t n_points;
  // Measurement points.
  const struct sintonia_event_point *events;
  // Tuning points.
  const struct sintonia_point *points;
  // Position of the event at the start of an iteration, or `SINTONIA_NONE`.
  uint32_t iteration_start;
  // Position of the event at the end of an iteration, or `SINTONIA_NONE`.
  uint32_t iteration_end;
  // Position of the start event's attribute with the amount of work, or `SINTONIA_NONE`.
  uint32_t iteration_work;
  // Number of options.
  uint32_t n_options;
  // Options given for this tunlet.
  const struct sintonia_setting *options;
} sintonia_description;

// Functions and data that a host offers to a tunlet; pass the host itself as the first argument.
typedef struct sintonia_host {
  // `SINTONIA_TUNLET_VERSION`.
  uint32_t version;
  // Private data of the host.
  void *context;
  // Application description, in which the functions below look things up.
  const struct sintonia_description *description;
  // Returns the position of an event, or `SINTONIA_NONE`.
  uint32_t (*find_event)(const struct sintonia_host *host, const char *name);
  // Returns the position of an attribute in an event, or `SINTONIA_NONE`.
  uint32_t (*find_attribute)(const struct sintonia_host *host, uint32_t event, const char *name);
  // Returns the position of a tuning point, or `SINTONIA_NONE`.
  uint32_t (*find_point)(const struct sintonia_host *host, const char *name);
  // Returns the actor with this name, or null.
  const struct sintonia_actor *(*find_actor)(const struct sintonia_host *host, const char *name);
  // Returns an option of this tunlet, or null if it is not given.
  const char *(*option)(const struct sintonia_host *host, const char *name);
  // In `begin`: sets the level of detail of an event (`SINTONIA_DETAIL_...`). Returns
  // false if there is no such event.
  bool (*want_event)(const struct sintonia_host *host, uint32_t event, uint32_t detail);
  // In `begin`: requests `sintonia_performance`.
  void (*want_performance)(const struct sintonia_host *host);
  // In `begin`: requests to change a tuning point. Returns false if there is no such point.
  bool (*want_point)(const struct sintonia_host *host, uint32_t point);
  // In `hear`: requests a change, with a reason that the user can check: "steps take 12 ms, not 15".
  // Returns false if the point was not requested in `begin`, or too many changes were requested at once.
  bool (*decide)(const struct sintonia_host *host,
                 uint32_t point,
                 struct sintonia_value value,
                 const char *reason);
  // Shows a line to the user who watches the run.
  void (*log)(const struct sintonia_host *host, const char *line);
} sintonia_host;

// A passage of a measurement point.
typedef struct sintonia_event {
  // Position of the event in the description.
  uint32_t event;
  // Rank that passed it.
  uint32_t rank;
  // Thread of the rank.
  uint32_t thread;
  // Number of values.
  uint32_t n_values;
  // Time in seconds since the start of the run, on a common clock of all ranks.
  double time_s;
  // Values of the attributes, in the order of the description.
  const struct sintonia_value *values;
} sintonia_event;

// Statistics of a set of numbers.
typedef struct sintonia_moments {
  // Count.
  uint64_t n;
  // Mean.
  double mean;
  // Sum of the squared deviations from the mean.
  double squares;
  // Smallest number.
  double min;
  // Largest number.
  double max;
} sintonia_moments;

// Passages of a measurement point on the ranks of a node, summed there.
typedef struct sintonia_summary {
  // Position of the event in the description.
  uint32_t event;
  // Number of ranks that passed it.
  uint32_t n_ranks;
  // Time of the first passage, in seconds since the start of the run.
  double first_s;
  // Time of the last passage, in seconds since the start of the run.
  double last_s;
  // Time in seconds from the entry to the exit of the function, if the event is an exit.
  struct sintonia_moments duration_s;
  // Number of attributes.
  uint32_t n_attributes;
  // Statistics of each attribute, in the order of the description.
  const struct sintonia_moments *attributes;
} sintonia_summary;

// End of an iteration of the program.
typedef struct sintonia_iteration {
  // Number of the iteration, from 0.
  uint64_t number;
  // Time of its end, in seconds since the start of the run.
  double end_s;
  // Duration in seconds.
  double duration_s;
  // Work as defined in the description; 1 if not defined.
  double work;
} sintonia_iteration;

// Region in which the rank with the longest useful time exceeds the others most.
typedef struct sintonia_culprit {
  // Rank with the longest useful time.
  uint32_t rank;
  // Name of the region.
  const char *region;
  // Seconds above the mean of the others.
  double above_s;
} sintonia_culprit;

// Efficiencies of the last few seconds.
typedef struct sintonia_performance {
  // Start of the time span, in seconds since the start of the run.
  double first_s;
  // End of the time span, in seconds since the start of the run.
  double last_s;
  // Average divided by longest useful time.
  double load_balance;
  // Longest useful time divided by elapsed time.
  double communication_efficiency;
  // Average useful time divided by elapsed time.
  double parallel_efficiency;
  // Number of ranks.
  uint32_t n_ranks;
  // Useful seconds by rank.
  const double *useful_s;
  // Main cause of imbalance, or null.
  const struct sintonia_culprit *culprit;
} sintonia_performance;

// Change that was carried out on all ranks of its actor.
typedef struct sintonia_applied {
  // Position of the tuning point.
  uint32_t point;
  // Number of passages of its sync point so far.
  uint32_t hit;
  // Old value.
  struct sintonia_value old_value;
  // New value.
  struct sintonia_value new_value;
  // Time in seconds since the start of the run.
  double time_s;
  // True if this tunlet requested the change.
  bool is_own;
} sintonia_applied;

// Decision of this tunlet that was not carried out, or was undone.
typedef struct sintonia_declined {
  // Position of the tuning point.
  uint32_t point;
  // Reason, as a sentence.
  const char *reason;
} sintonia_declined;

// News: the pointer of its kind is set, the others are null.
typedef struct sintonia_news {
  // A rank passed a measurement point.
  const struct sintonia_event *event;
  // Sums over many passages of a measurement point.
  const struct sintonia_summary *summary;
  // An iteration ended.
  const struct sintonia_iteration *iteration;
  // Efficiencies of the last few seconds.
  const struct sintonia_performance *performance;
  // A change was carried out.
  const struct sintonia_applied *applied;
  // A decision of this tunlet was not carried out, or was undone.
  const struct sintonia_declined *declined;
} sintonia_news;

// Description and functions of a tunlet, as defined by its library.
typedef struct sintonia_tunlet {
  // `SINTONIA_TUNLET_VERSION`.
  uint32_t version;
  // Name of the tunlet: letters, digits, `-` and `_`.
  const char *name;
  // Performance problem it addresses, as half a sentence.
  const char *problem;
  // Names of the required events, terminated by null; null for none.
  const char *const *needs_events;
  // Names of the tuning points it changes, terminated by null; null for none.
  const char *const *needs_points;
  // Names and meanings of its options, terminated by an entry whose name is null; null for none.
  const struct sintonia_setting *options;
  // Creates a tunlet; its result is passed to the other functions as `state`.
  void *(*create)(void);
  // Begins a run: looks up what the tunlet needs and requests what it wants. Returns null if it can begin,
  // otherwise the reason as a sentence, which stays valid until `destroy`.
  const char *(*begin)(void *state, const struct sintonia_host *host);
  // Processes news.
  void (*hear)(void *state, const struct sintonia_host *host, const struct sintonia_news *news);
  // Destroys the tunlet at the end of the run; may be null.
  void (*destroy)(void *state);
} sintonia_tunlet;


#ifdef __cplusplus
extern "C" {
#endif

/* What a library has to define: the description of its tunlet. */
__attribute__((visibility("default"))) const sintonia_tunlet *sintonia_tunlet_v1(void);

/* An integer as a value. */
static inline sintonia_value sintonia_int(int64_t number) {
  sintonia_value value;
  value.kind = SINTONIA_INT;
  value.number.int_value = number;
  return value;
}

/* A floating-point number as a value. */
static inline sintonia_value sintonia_float(double number) {
  sintonia_value value;
  value.kind = SINTONIA_FLOAT;
  value.number.float_value = number;
  return value;
}

/* A value as a floating-point number, rounded where it has to be. */
static inline double sintonia_as_double(sintonia_value value) {
  switch (value.kind) {
    case SINTONIA_INT: return (double)value.number.int_value;
    case SINTONIA_UINT: return (double)value.number.uint_value;
    default: return value.number.float_value;
  }
}

#ifdef __cplusplus
}
#endif

#endif
