/* A tunlet that always has something to change, for `killed.c`: `sweeps` goes up and down.
 *
 * With -DDEAF it stops at the third event that it hears of, and never goes on. */
#include "sintonia_tunlet.h"
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    uint32_t event, point;
    long n_heard;
} restless;

static void *create(void)
{
    return calloc(1, sizeof(restless));
}

static const char *begin(void *state, const sintonia_host *host)
{
    restless *self = state;
    self->event = host->find_event(host, "noted");
    self->point = host->find_point(host, "sweeps");
    host->want_event(host, self->event, SINTONIA_DETAIL_EVERY);
    host->want_point(host, self->point);
    return NULL;
}

static void hear(void *state, const sintonia_host *host, const sintonia_news *news)
{
    restless *self = state;
    if (!news->event || news->event->event != self->event || news->event->rank != 0)
        return;
    self->n_heard++;
#ifdef DEAF
    while (3 <= self->n_heard)
        pause();
#endif
    if (self->n_heard % 100 == 0)
        host->decide(host, self->point, sintonia_int(4 + self->n_heard / 100 % 3), "it is time");
}

static const char *const needs_events[] = {"noted", NULL};
static const char *const needs_points[] = {"sweeps", NULL};
static const sintonia_setting options[] = {{NULL, NULL}};

static const sintonia_tunlet tunlet = {
    .version = SINTONIA_TUNLET_VERSION,
    .name = "restless",
    .problem = "nothing stays as it is",
    .needs_events = needs_events,
    .needs_points = needs_points,
    .options = options,
    .create = create,
    .begin = begin,
    .hear = hear,
    .destroy = free,
};

const sintonia_tunlet *sintonia_tunlet_v1(void)
{
    return &tunlet;
}
