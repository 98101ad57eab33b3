// A tunlet that does what its option `how` says, each time it hears of an event.

#include "sintonia_tunlet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The compiler must not know where it points.
static int *volatile nowhere = 0;

static void crash(void) { *nowhere = 1; }

static void loop(void) {
  for (;;) {
    __asm__ volatile("");
  }
}

static void write_everywhere(void) {
  char garbage[100];
  memset(garbage, 0xee, sizeof garbage);
  for (int descriptor = 3; descriptor < 64; descriptor++) {
    ssize_t written = write(descriptor, garbage, sizeof garbage);
    (void)written;
  }
}

static void print_much(void) {
  for (int line = 0; line < 100; line++) {
    printf("noise on standard output, line %d\n", line);
  }
  fflush(stdout);
  char byte;
  if (read(0, &byte, 1) != 0) {
    abort();
  }
}

// A process that survives it and holds its pipes.
static void leave_child(void) {
  if (fork() == 0) {
    for (;;) {
      pause();
    }
  }
  _exit(5);
}

static void act(const char *how) {
  if (strcmp(how, "crash") == 0) crash();
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "loop") == 0) loop();
  if (strcmp(how, "garbage") == 0) write_everywhere();
  if (strcmp(how, "print") == 0) print_much();
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "child") == 0) leave_child();
}

static void *create(void) {
#ifdef CRASH_ON_LOAD
  crash();
#endif
#ifdef LOOP_ON_LOAD
  loop();
#endif
  return 0;
}

static const char *begin(void *state, const sintonia_host *host) {
  (void)state;
  const char *when_beginning = host->option(host, "beginning");
  act(when_beginning ? when_beginning : "");
  uint32_t start = host->find_event(host, "start");
  const sintonia_actor *workers = host->find_actor(host, "worker");
  bool is_as_described = host->find_attribute(host, start, "rows") == 1 &&
                         host->find_attribute(host, 7, "rows") == SINTONIA_NONE &&
                         host->find_event(host, "other") == SINTONIA_NONE &&
                         host->find_point(host, "sweeps") == 1 && workers && workers->n_ranks == 2 &&
                         workers->ranks[1] == 2 && !host->find_actor(host, "other") &&
                         !host->option(host, "other") && host->description->n_ranks == 3 &&
                         !host->want_point(host, 2) && !host->want_event(host, 2, SINTONIA_DETAIL_EVERY) &&
                         !host->decide(host, 0, sintonia_int(1), "too early");
  if (!is_as_described) {
    return "the description is not what it was";
  }
  host->want_event(host, start, SINTONIA_DETAIL_EVERY);
  host->want_point(host, 0);
  return 0;
}

static void hear(void *state, const sintonia_host *host, const sintonia_news *news) {
  (void)state;
  if (!news->event) {
    return;
  }
  act(host->option(host, "how"));
  if (host->decide(host, 1, sintonia_int(2), "not asked for in begin")) {
    abort();
  }
  host->log(host, "it goes on");
  host->decide(host, 0, sintonia_int((int64_t)news->event->time_s), "as late as it is");
}

static const char *const needs_events[] = {"start", 0};
static const sintonia_setting options[] = {
    {"how", "what it does"}, {"beginning", "what it does when it begins"}, {0, 0}};

static const sintonia_tunlet tunlet = {
    .version = SINTONIA_TUNLET_VERSION,
    .name = "wild",
    .problem = "all is well",
    .needs_events = needs_events,
    .options = options,
    .create = create,
    .begin = begin,
    .hear = hear,
};

const sintonia_tunlet *sintonia_tunlet_v1(void) { return &tunlet; }
