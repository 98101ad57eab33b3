/* The interface between Sintonia and a tunlet in a shared library, version 1.
 *
 * A library exports `const sintonia_tunlet *sintonia_tunlet_v1(void)`. The host calls `create`, then `begin`,
 * then `hear` for whatever happens, then `destroy`, all from one thread. Texts are UTF-8 and end with a zero
 * byte. What a host passes is valid until the called function returns, the description until `destroy`
 * returns; what a tunlet returns in `sintonia_tunlet` stays valid for good.
 *
 * Made from crates/tunlet-abi/src/abi.rs; a test says how. */
#ifndef SINTONIA_TUNLET_H
#define SINTONIA_TUNLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Version of this interface: what both sides have in `version`.
#define SINTONIA_TUNLET_VERSION 1

// No position: what is looked up is not described, or an optional position is not given.
#define SINTONIA_NONE UINT32_MAX

// `sintonia_value.kind`: a signed integer, or a truth value.
#define SINTONIA_INT 1

// `sintonia_value.kind`: an unsigned integer above 2^63 - 1.
#define SINTONIA_UINT 2

// `sintonia_value.kind`: a floating-point number.
#define SINTONIA_FLOAT 3

// How an event is wanted: not at all.
#define SINTONIA_DETAIL_NONE 0

// How an event is wanted: every passage, as `sintonia_event`.
#define SINTONIA_DETAIL_EVERY 1

// How an event is wanted: passages added up on the way, as `sintonia_summary`.
#define SINTONIA_DETAIL_SUMMARY 2

// Place in a function: its entry.
#define SINTONIA_ENTRY 0

// Place in a function: its exit.
#define SINTONIA_EXIT 1

// A name and a text that belongs to it.
typedef struct sintonia_setting {
  // The name.
  const char *name;
  // The text.
  const char *text;
} sintonia_setting;

// A kind of ranks.
typedef struct sintonia_actor {
  // Its name.
  const char *name;
  // How many ranks.
  uint32_t n_ranks;
  // The ranks, ascending.
  const uint32_t *ranks;
} sintonia_actor;

// A measurement point.
typedef struct sintonia_event_point {
  // Its name.
  const char *name;
  // Position of its actor.
  uint32_t actor;
  // `SINTONIA_ENTRY` or `SINTONIA_EXIT`.
  uint32_t place;
  // The function it is in.
  const char *function;
  // How many attributes.
  uint32_t n_attributes;
  // Their names, in the order of their values.
  const char *const *attributes;
} sintonia_event_point;

// The number in a `sintonia_value`.
typedef union sintonia_number {
  // With `SINTONIA_INT`.
  int64_t int_value;
  // With `SINTONIA_UINT`.
  uint64_t uint_value;
  // With `SINTONIA_FLOAT`.
  double float_value;
} sintonia_number;

// A number of the program.
typedef struct sintonia_value {
  // `SINTONIA_INT`, `SINTONIA_UINT` or `SINTONIA_FLOAT`: which of the others holds it.
  uint32_t kind;
  // The number.
  union sintonia_number number;
} sintonia_value;

// Something that may be changed.
typedef struct sintonia_point {
  // Its name.
  const char *name;
  // Position of its actor.
  uint32_t actor;
  // Whether `low` and `high` say something.
  bool has_range;
  // Whether `value` says something.
  bool has_value;
  // Smallest value allowed.
  double low;
  // Largest value allowed.
  double high;
  // Only `low`, `low + step`, ...; 0 where every value between is allowed.
  double step;
  // A change that makes iterations slower by more than this share is undone.
  double limit;
  // Its value when the tunlet begins.
  struct sintonia_value value;
} sintonia_point;

// What the application description and the run say.
typedef struct sintonia_description {
  // File name of the program.
  const char *program;
  // Ranks of the program.
  uint32_t n_ranks;
  // How many actors.
  uint32_t n_actors;
  // Kinds of ranks.
  const struct sintonia_actor *actors;
  // How many events.
  uint32_t n_events;
  // How many tuning points.
  uint32_t n_points;
  // Measurement points.
  const struct sintonia_event_point *events;
  // Tuning points.
  const struct sintonia_point *points;
  // Position of the event at the start of an iteration, or `SINTONIA_NONE`.
  uint32_t iteration_start;
  // Position of the event at the end of an iteration, or `SINTONIA_NONE`.
  uint32_t iteration_end;
  // Position of the attribute of the start event that says how much work it is, or `SINTONIA_NONE`.
  uint32_t iteration_work;
  // How many options are given.
  uint32_t n_options;
  // Options of this tunlet.
  const struct sintonia_setting *options;
} sintonia_description;

// What a tunlet may ask of its host; pass the host itself as the first argument.
typedef struct sintonia_host {
  // `SINTONIA_TUNLET_VERSION`.
  uint32_t version;
  // The host's own.
  void *context;
  // All that is described; what follows looks things up in it.
  const struct sintonia_description *description;
  // Position of an event, or `SINTONIA_NONE`.
  uint32_t (*find_event)(const struct sintonia_host *host, const char *name);
  // Position of an attribute among those of an event, or `SINTONIA_NONE`.
  uint32_t (*find_attribute)(const struct sintonia_host *host, uint32_t event, const char *name);
  // Position of a tuning point, or `SINTONIA_NONE`.
  uint32_t (*find_point)(const struct sintonia_host *host, const char *name);
  // The actor of this name, or null.
  const struct sintonia_actor *(*find_actor)(const struct sintonia_host *host, const char *name);
  // An option of this tunlet, or null where it is not given.
  const char *(*option)(const struct sintonia_host *host, const char *name);
  // In `begin`: how to hear of an event (`SINTONIA_DETAIL_...`). False: there is no such event.
  bool (*want_event)(const struct sintonia_host *host, uint32_t event, uint32_t detail);
  // In `begin`: to hear `sintonia_performance`.
  void (*want_performance)(const struct sintonia_host *host);
  // In `begin`: to change a tuning point. False: there is no such point.
  bool (*want_point)(const struct sintonia_host *host, uint32_t point);
  // In `hear`: asks for a change, with a reason that a person can check: "steps take 12 ms, not 15".
  // False: the point was not asked for in `begin`, or too much was decided at once.
  bool (*decide)(const struct sintonia_host *host,
                 uint32_t point,
                 struct sintonia_value value,
                 const char *reason);
  // Says something to the person who watches the run.
  void (*log)(const struct sintonia_host *host, const char *line);
} sintonia_host;

// A passage of a measurement point.
typedef struct sintonia_event {
  // Position of the event in the description.
  uint32_t event;
  // Who passed it.
  uint32_t rank;
  // Which of its threads.
  uint32_t thread;
  // How many values.
  uint32_t n_values;
  // When, in seconds since the start of the run, on one clock for all ranks.
  double time_s;
  // Values of the attributes, in the order of the description.
  const struct sintonia_value *values;
} sintonia_event;

// Numbers added up.
typedef struct sintonia_moments {
  // How many.
  uint64_t n;
  // Their mean.
  double mean;
  // Sum of the squares of their distances from the mean.
  double squares;
  // Smallest.
  double min;
  // Largest.
  double max;
} sintonia_moments;

// Passages of a measurement point on the ranks of a node, added up there.
typedef struct sintonia_summary {
  // Position of the event in the description.
  uint32_t event;
  // Ranks that passed it.
  uint32_t n_ranks;
  // First passage, in seconds since the start of the run.
  double first_s;
  // Last passage.
  double last_s;
  // Time from the entry to the exit of the function, when the event is an exit.
  struct sintonia_moments duration_s;
  // How many attributes.
  uint32_t n_attributes;
  // Each attribute, in the order of the description.
  const struct sintonia_moments *attributes;
} sintonia_summary;

// An iteration of the program ended.
typedef struct sintonia_iteration {
  // Number, from 0.
  uint64_t number;
  // When it ended, in seconds since the start of the run.
  double end_s;
  // How long it took.
  double duration_s;
  // Its work as the description defines it; 1 where it does not.
  double work;
} sintonia_iteration;

// Where the rank with the longest useful time loses most.
typedef struct sintonia_culprit {
  // The rank.
  uint32_t rank;
  // Name of the region.
  const char *region;
  // Seconds above the mean of the others.
  double above_s;
} sintonia_culprit;

// Efficiencies of the last seconds.
typedef struct sintonia_performance {
  // From when, in seconds since the start of the run.
  double first_s;
  // Until when.
  double last_s;
  // Average over longest useful time.
  double load_balance;
  // Longest useful time over elapsed time.
  double communication_efficiency;
  // Average useful time over elapsed time.
  double parallel_efficiency;
  // How many ranks.
  uint32_t n_ranks;
  // Useful seconds by rank.
  const double *useful_s;
  // The worst place, or null.
  const struct sintonia_culprit *culprit;
} sintonia_performance;

// A change was made on all ranks of its actor.
typedef struct sintonia_applied {
  // Position of the tuning point.
  uint32_t point;
  // Passages of its sync point so far.
  uint32_t hit;
  // Value before.
  struct sintonia_value old_value;
  // Value now.
  struct sintonia_value new_value;
  // When, in seconds since the start of the run.
  double time_s;
  // Whether this tunlet asked for it.
  bool is_own;
} sintonia_applied;

// A decision of this tunlet was not carried out, or was taken back.
typedef struct sintonia_declined {
  // Position of the tuning point.
  uint32_t point;
  // The sentence why.
  const char *reason;
} sintonia_declined;

// Something that happened: the pointer of its kind is set, the others are null.
typedef struct sintonia_news {
  // A rank passed a measurement point.
  const struct sintonia_event *event;
  // Many passages of a measurement point.
  const struct sintonia_summary *summary;
  // An iteration ended.
  const struct sintonia_iteration *iteration;
  // Efficiencies of the last seconds.
  const struct sintonia_performance *performance;
  // A change was made.
  const struct sintonia_applied *applied;
  // A decision of this tunlet was not carried out, or was taken back.
  const struct sintonia_declined *declined;
} sintonia_news;

// A tunlet, as its library describes it.
typedef struct sintonia_tunlet {
  // `SINTONIA_TUNLET_VERSION`.
  uint32_t version;
  // Its name: letters, digits, `-` and `_`.
  const char *name;
  // The performance problem it is about, as half a sentence.
  const char *problem;
  // Names of the events it has to have, up to a null; null for none.
  const char *const *needs_events;
  // Names of the tuning points it changes, up to a null; null for none.
  const char *const *needs_points;
  // Its options and what they mean, up to one whose name is null; null for none.
  const struct sintonia_setting *options;
  // Makes one; what it returns is passed to the others as `state`.
  void *(*create)(void);
  // The run begins: looks up what it needs and says what it wants. Null when it can begin, else a
  // sentence why not, which stays valid until `destroy`.
  const char *(*begin)(void *state, const struct sintonia_host *host);
  // Something happened.
  void (*hear)(void *state, const struct sintonia_host *host, const struct sintonia_news *news);
  // The run is over; may be null.
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
