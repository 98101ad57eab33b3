/* The forms of a collective operation: blocking, non-blocking, persistent. */
#ifndef FORMS_H
#define FORMS_H

#include "expect.h"

/* The blocking and the non-blocking form, each followed by `then`. */
#define TWO_FORMS(kind, blocking, nonblocking, bytes, then, ...) \
    do { \
        MPI_Request form_request; \
        kind(blocking, bytes, __VA_ARGS__); \
        then; \
        kind(nonblocking, bytes, __VA_ARGS__, &form_request); \
        WAIT(&form_request); \
        then; \
    } while (0)

/* MPICH 4.0 moves a rank's own part when the request is made, so that a second start misses it. */
#if defined(MPICH_NUMVERSION)
#define MPICH_4_0 (MPICH_NUMVERSION < 40100000)
#else
#define MPICH_4_0 0
#endif
#define N_STARTS (MPICH_4_0 ? 1 : 2)

/* The persistent form. */
#if HAVE_MPI_4
#define PERSISTENT_FORM(kind, init, bytes, then, ...) \
    do { \
        MPI_Request form_request; \
        kind(init, bytes, __VA_ARGS__, MPI_INFO_NULL, &form_request); \
        for (int form_round = 0; form_round < N_STARTS; form_round++) { \
            CALL(MPI_Start, 0, &form_request); \
            WAIT(&form_request); \
            then; \
        } \
        CALL(MPI_Request_free, 0, &form_request); \
    } while (0)
#else
#define PERSISTENT_FORM(kind, init, bytes, then, ...) (void)0
#endif

/* All forms of MPI_`Name`, MPI_I`name` and MPI_`Name`_init. */
#define ALL_FORMS(Name, name, bytes, then, ...) \
    do { \
        TWO_FORMS(CALL_C, MPI_##Name, MPI_I##name, bytes, then, __VA_ARGS__); \
        PERSISTENT_FORM(CALL_C, MPI_##Name##_init, bytes, then, __VA_ARGS__); \
    } while (0)

#endif
