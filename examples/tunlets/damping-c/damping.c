// The tunlet `damping`: keeps an integer at the value with which steps take the least time.
//
// Measurement point: the event `step_end`, once per step. Tuning point: `sweeps`. Model: see `next_value`.

#include "sintonia_tunlet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// A cost that nobody has measured yet.
#define UNKNOWN (-1.0)
// Values that are told apart; a wider range is cut.
#define N_VALUES_MAX 1000

typedef struct {
  uint32_t event, point, rank;  // positions, and the rank whose steps count
  int n_window;                 // steps that are measured before the next decision
  int64_t low, n_values;        // values are low, low + 1, ...
  int64_t at, asked;            // value now and value asked for, counted from low
  bool is_asked;                // a decision is on its way
  int n_steps;                  // measured at this value
  double last_s, fastest_s;     // time of the last passage, fastest step at this value
  double costs[N_VALUES_MAX];   // fastest step by value
  char refusal[200];
} climb;

// The model: the neighbor that costs less, else one that is unknown, else the value itself.
static int64_t next_value(const double *costs, int64_t n_values, int64_t at) {
  int64_t best = at, unknown = at;
  for (int64_t neighbor = at - 1; neighbor <= at + 1; neighbor += 2) {
    if (neighbor < 0 || n_values <= neighbor) continue;
    if (costs[neighbor] == UNKNOWN) unknown = neighbor;
    else if (costs[neighbor] < costs[best]) best = neighbor;
  }
  return best != at ? best : unknown;
}

static void measure_anew(climb *self) {
  self->n_steps = 0;
  self->last_s = -1.0;
  self->fastest_s = INFINITY;
}

static void *create(void) { return calloc(1, sizeof(climb)); }

static void destroy(void *state) { free(state); }

// What is needed is there (`needs_events`, `needs_points`); the rest is looked up.
static const char *begin(void *state, const sintonia_host *host) {
  climb *self = state;
  self->event = host->find_event(host, "step_end");
  self->point = host->find_point(host, "sweeps");
  const sintonia_description *all = host->description;
  const sintonia_actor *actor = &all->actors[all->events[self->event].actor];
  const sintonia_point *point = &all->points[self->point];
  if (actor->n_ranks == 0) return "nobody passes `step_end`";
  if (!point->has_range || !point->has_value) return "`sweeps` needs a range and a value";
  const char *window = host->option(host, "window");
  self->n_window = window ? atoi(window) : 3;
  if (self->n_window < 1) {
    snprintf(self->refusal, sizeof self->refusal, "option `window` is `%.50s`; it must be 1 or more", window);
    return self->refusal;
  }
  self->rank = actor->ranks[0];
  self->low = (int64_t)ceil(point->low);
  self->n_values = (int64_t)fmin(floor(point->high) - (double)self->low + 1, N_VALUES_MAX);
  self->at = (int64_t)sintonia_as_double(point->value) - self->low;
  if (self->at < 0 || self->n_values <= self->at) return "the value of `sweeps` is outside its range";
  for (int64_t value = 0; value < self->n_values; value++) self->costs[value] = UNKNOWN;
  measure_anew(self);
  host->want_event(host, self->event, SINTONIA_DETAIL_EVERY);
  host->want_point(host, self->point);
  return NULL;
}

static void decide(climb *self, const sintonia_host *host) {
  double here_s = self->costs[self->at] = self->fastest_s;
  self->asked = next_value(self->costs, self->n_values, self->at);
  if (self->asked == self->at) return;
  long now = (long)(self->low + self->at), next = (long)(self->low + self->asked);
  char reason[200];
  double there_s = self->costs[self->asked];
  if (there_s == UNKNOWN) {
    snprintf(reason, sizeof reason, "steps take %.4g s at %ld; %ld was not tried", here_s, now, next);
  } else {
    snprintf(reason, sizeof reason, "steps take %.4g s at %ld, not %.4g s as at %ld", there_s, next, here_s, now);
  }
  self->is_asked = host->decide(host, self->point, sintonia_int(next), reason);
}

static void hear_step(climb *self, const sintonia_host *host, double time_s) {
  if (0.0 <= self->last_s) {
    self->fastest_s = fmin(self->fastest_s, time_s - self->last_s);
    self->n_steps++;
  }
  self->last_s = time_s;
  if (self->n_steps < self->n_window || self->is_asked) return;
  decide(self, host);
  measure_anew(self);
}

static void hear_applied(climb *self, const sintonia_applied *applied) {
  int64_t at = (int64_t)sintonia_as_double(applied->new_value) - self->low;
  if (0 <= at && at < self->n_values) self->at = at;
  self->is_asked = false;
  measure_anew(self);
}

static void hear(void *state, const sintonia_host *host, const sintonia_news *news) {
  climb *self = state;
  const sintonia_event *event = news->event;
  if (event && event->event == self->event && event->rank == self->rank) {
    hear_step(self, host, event->time_s);
  }
  if (news->applied && news->applied->point == self->point) {
    hear_applied(self, news->applied);
  }
  if (news->declined && news->declined->point == self->point) {
    self->costs[self->asked] = INFINITY;
    self->is_asked = false;
  }
}

static const char *const needs_events[] = {"step_end", NULL};
static const char *const needs_points[] = {"sweeps", NULL};
static const sintonia_setting options[] = {
    {"window", "steps measured at each value (3)"},
    {NULL, NULL},
};

static const sintonia_tunlet tunlet = {
    .version = SINTONIA_TUNLET_VERSION,
    .name = "damping",
    .problem = "too few or too many sweeps in a step",
    .needs_events = needs_events,
    .needs_points = needs_points,
    .options = options,
    .create = create,
    .begin = begin,
    .hear = hear,
    .destroy = destroy,
};

const sintonia_tunlet *sintonia_tunlet_v1(void) { return &tunlet; }
