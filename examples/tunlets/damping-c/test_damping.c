// The tunlet in a simulated program whose steps are fastest at one value.

#include "sintonia_tunlet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the host below was told.
static int64_t decided = -1;
static bool wants_steps;

static uint32_t find_event(const sintonia_host *host, const char *name) {
  (void)host;
  return strcmp(name, "step_end") == 0 ? 0 : SINTONIA_NONE;
}

static uint32_t find_point(const sintonia_host *host, const char *name) {
  (void)host;
  return strcmp(name, "sweeps") == 0 ? 0 : SINTONIA_NONE;
}

static const char *option(const sintonia_host *host, const char *name) {
  (void)host;
  return strcmp(name, "window") == 0 ? host->context : NULL;
}

static bool want_event(const sintonia_host *host, uint32_t event, uint32_t detail) {
  (void)host;
  return wants_steps = event == 0 && detail == SINTONIA_DETAIL_EVERY;
}

static bool want_point(const sintonia_host *host, uint32_t point) {
  (void)host;
  return point == 0;
}

static bool decide(const sintonia_host *host, uint32_t point, sintonia_value value, const char *reason) {
  (void)host;
  decided = (int64_t)sintonia_as_double(value);
  printf("  sweeps -> %ld: %s\n", (long)decided, reason);
  return point == 0;
}

static const uint32_t ranks[] = {0, 1};
static const sintonia_actor actors[] = {{"all", 2, ranks}};
static const sintonia_event_point events[] = {{.name = "step_end", .place = SINTONIA_EXIT, .function = "step"}};

static double step_s(int64_t sweeps, int64_t best) { return 0.010 + 0.001 * fabs((double)(sweeps - best)); }

// The value at the end of a program that starts with `first` and is fastest with `best`; -1 when the
// tunlet cannot begin.
static int64_t tuned(int64_t first, int64_t best, const char *window) {
  sintonia_point point = {.name = "sweeps", .has_range = true, .has_value = true, .low = 1, .high = 9,
                          .step = 1, .value = sintonia_int(first)};
  sintonia_description description = {.program = "solver", .n_ranks = 2, .n_actors = 1, .actors = actors,
                                      .n_events = 1, .n_points = 1, .events = events, .points = &point};
  sintonia_host host = {.version = SINTONIA_TUNLET_VERSION, .context = (void *)window,
                        .description = &description, .find_event = find_event, .find_point = find_point,
                        .option = option, .want_event = want_event, .want_point = want_point, .decide = decide};
  const sintonia_tunlet *tunlet = sintonia_tunlet_v1();
  void *state = tunlet->create();
  const char *refusal = tunlet->begin(state, &host);
  if (refusal) {
    printf("  cannot begin: %s\n", refusal);
    first = -1;
  }
  double now_s = 0.0;
  for (int step = 0; !refusal && step < 500; step++) {
    now_s += step_s(first, best);
    sintonia_event event = {.event = 0, .rank = 0, .time_s = now_s};
    sintonia_news news = {.event = &event};
    decided = -1;
    tunlet->hear(state, &host, &news);
    if (decided < 0) continue;
    sintonia_applied applied = {.point = 0, .old_value = sintonia_int(first), .new_value = sintonia_int(decided),
                                .time_s = now_s, .is_own = true};
    sintonia_news change = {.applied = &applied};
    tunlet->hear(state, &host, &change);
    first = decided;
  }
  tunlet->destroy(state);
  return first;
}

static void check(int64_t first, int64_t best, const char *window, int64_t expected) {
  printf("from %ld, fastest at %ld\n", (long)first, (long)best);
  int64_t found = tuned(first, best, window);
  if (found != expected) {
    printf("the tunlet ends at %ld, not at %ld\n", (long)found, (long)expected);
    exit(EXIT_FAILURE);
  }
}

int main(void) {
  check(2, 6, NULL, 6);
  check(9, 1, "5", 1);
  check(4, 4, "1", 4);
  check(4, 20, NULL, 9);
  check(4, 4, "none", -1);
  if (!wants_steps) {
    printf("the tunlet did not ask for the event\n");
    return EXIT_FAILURE;
  }
  printf("passed\n");
  return EXIT_SUCCESS;
}
