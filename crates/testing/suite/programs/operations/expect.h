/* What a program expects an observer to have seen: calls and bytes by operation.
 *
 * The expectation stands beside each call and is written by hand from the definition of bytes in the
 * table of operations; nothing here asks the observer.
 *
 * Compiled with -DLARGE, every operation that has a large-count form is called by that form. */
#ifndef EXPECT_H
#define EXPECT_H

#include <mpi.h>

#if defined(OMPI_MAJOR_VERSION)
#define OPEN_MPI_FROM(major) (OMPI_MAJOR_VERSION >= (major))
#else
#define OPEN_MPI_FROM(major) 0
#endif

#define STANDARD_FROM(major, minor) \
    (MPI_VERSION > (major) || (MPI_VERSION == (major) && MPI_SUBVERSION >= (minor)))

/* Open MPI 5 has most of MPI-4.0 while it calls itself 3.1. The extensions `MPIX_` of Open MPI 4 are not
 * in the table of operations. */
#define HAVE_MPI_4 (STANDARD_FROM(4, 0) || OPEN_MPI_FROM(5))
#define HAVE_MPI_4_1 STANDARD_FROM(4, 1)

#ifdef LARGE
typedef MPI_Count count_t;
typedef MPI_Aint displacement_t;
#else
typedef int count_t;
typedef int displacement_t;
#endif

/* A place in the ring of all ranks. */
extern int rank, size, left, right;

/* Starts MPI with `required` threads (-1: MPI_Init), and fills the place in the ring. */
void begin(int *argc, char ***argv, int required);
/* Ends MPI and writes the expectation of this rank to `folder`, a line of JSON per operation. */
void end(const char *folder);
/* The place in the ring of `comm`, for programs that start MPI otherwise. */
void take_place(MPI_Comm comm);
/* The same in MPI_COMM_WORLD, for callers from Fortran. */
void take_place_in_world(void);
/* Writes the expectation to `folder`, under `name`. */
void write_expectation(const char *folder, const char *name);

/* One more call of `operation`, moving `bytes`. */
void expect(const char *operation, long long bytes);
/* Ends the whole job unless `condition` holds. */
void check(int condition, const char *what);

/* Calls `name` with the arguments given, and expects one call that moves `bytes`. */
#define CALL(name, bytes, ...) \
    do { \
        expect(#name, (bytes)); \
        check(name(__VA_ARGS__) == MPI_SUCCESS, #name " succeeds"); \
    } while (0)

/* The same for an operation that has a large-count form. */
#ifdef LARGE
#define CALL_C(name, bytes, ...) \
    do { \
        expect(#name "_c", (bytes)); \
        check(name##_c(__VA_ARGS__) == MPI_SUCCESS, #name "_c succeeds"); \
    } while (0)
#else
#define CALL_C CALL
#endif

#define WAIT(request) CALL(MPI_Wait, 0, (request), MPI_STATUS_IGNORE)
/* The same for a receive into which `bytes` come. */
#define WAIT_RECEIVED(request, bytes) CALL(MPI_Wait, (bytes), (request), MPI_STATUS_IGNORE)
#define BARRIER() CALL(MPI_Barrier, 0, MPI_COMM_WORLD)

/* The groups; `folder` is for files. */
void point_to_point(void);
void completion(void);
void persistent(void);
void collectives(void);
void collectives_between_groups(void);
void neighborhood(void);
void one_sided(void);
void one_sided_requests(void);
void io(const char *folder);
void communicators(void);
void sessions(void);
void processes(const char *program, const char *folder);
void processes_child(const char *folder);

#endif
