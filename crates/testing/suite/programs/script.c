/* A tunlet that does what its option `plan` says: `POINT=VALUE@N ...`, at the Nth passage of the event
 * `passed` on the lowest rank; it says which values it knew at the start. */
#include "sintonia_tunlet.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t event;
    long n_passed;
    const char *plan;
} script;

static void *create(void)
{
    return calloc(1, sizeof(script));
}

static const char *begin(void *state, const sintonia_host *host)
{
    script *self = state;
    const sintonia_description *all = host->description;
    self->event = host->find_event(host, "passed");
    self->plan = host->option(host, "plan");
    if (self->plan == NULL)
        return "there is no plan";
    host->want_event(host, self->event, SINTONIA_DETAIL_EVERY);
    for (uint32_t i = 0; i < all->n_points; i++) {
        char line[200];
        if (all->points[i].has_value)
            snprintf(line, sizeof line, "%s=%g", all->points[i].name, sintonia_as_double(all->points[i].value));
        else
            snprintf(line, sizeof line, "%s=?", all->points[i].name);
        host->log(host, line);
        host->want_point(host, i);
    }
    return NULL;
}

/* Decides what stands in the plan for this passage. */
static void follow(const script *self, const sintonia_host *host)
{
    for (const char *at = self->plan; at != NULL && *at != 0; at = strchr(at, ' '), at += at != NULL) {
        char name[50], reason[100];
        double value;
        long n;
        if (sscanf(at, "%49[^=]=%lf@%ld", name, &value, &n) != 3 || n != self->n_passed)
            continue;
        snprintf(reason, sizeof reason, "the plan says so at %ld", n);
        sintonia_value number = value == (double)(long)value ? sintonia_int((long)value) : sintonia_float(value);
        host->decide(host, host->find_point(host, name), number, reason);
    }
}

static void hear(void *state, const sintonia_host *host, const sintonia_news *news)
{
    script *self = state;
    if (!news->event || news->event->event != self->event || news->event->rank != 0)
        return;
    self->n_passed++;
    follow(self, host);
}

static const char *const needs_events[] = {"passed", NULL};
static const sintonia_setting options[] = {{"plan", "what is changed and when"}, {NULL, NULL}};

static const sintonia_tunlet tunlet = {
    .version = SINTONIA_TUNLET_VERSION,
    .name = "script",
    .problem = "something has to be tried",
    .needs_events = needs_events,
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
