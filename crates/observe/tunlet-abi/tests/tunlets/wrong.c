// Libraries that are no tunlets, one for each define.

#include "sintonia_tunlet.h"

#ifndef VERSION
#define VERSION SINTONIA_TUNLET_VERSION
#endif

static void *create(void) { return 0; }

#ifndef NO_BEGIN
static const char *begin(void *state, const sintonia_host *host) {
  (void)state;
  (void)host;
  return 0;
}
#endif

static void hear(void *state, const sintonia_host *host, const sintonia_news *news) {
  (void)state;
  (void)host;
  (void)news;
}

static const sintonia_tunlet tunlet = {
    .version = VERSION,
#ifdef SPACE_IN_NAME
    .name = "a b",
#elif !defined NO_NAME
    .name = "wrong",
#endif
    .problem = "none",
    .create = create,
#ifndef NO_BEGIN
    .begin = begin,
#endif
    .hear = hear,
};

#ifdef NO_ENTRY
#define ENTRY another_entry
const sintonia_tunlet *another_entry(void);
#else
#define ENTRY sintonia_tunlet_v1
#endif

const sintonia_tunlet *ENTRY(void) {
  const sintonia_tunlet *returned = &tunlet;
#ifdef NO_TUNLET
  returned = 0;
#endif
  return returned;
}
