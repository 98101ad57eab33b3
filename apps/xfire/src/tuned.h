/*
 * The functions and variables through which tools tune Xfire. A tool stops the program at the
 * entry or exit of a function, reads variables, and writes F0, F1, F2 and NW while the program
 * runs: hence external linkage, `volatile`, and functions that the compiler must not inline,
 * clone or merge. Written values are brought into range where they are used, so that a bad one
 * costs time but never a result.
 */
#ifndef XFIRE_TUNED_H
#define XFIRE_TUNED_H

#if defined(__GNUC__) && !defined(__clang__)
#define XFIRE_PROBED __attribute__((noinline, noclone, noipa))
#else
#define XFIRE_PROBED __attribute__((noinline))
#endif

/* Share of the remaining points that goes into batch 0, batch 1 and each later batch (master). */
extern volatile double F0, F1, F2;

/* Workers in use; read when an iteration starts (master). */
extern volatile int NW;

extern volatile int TheTotalWork;         /* points of the fire line (master) */
extern volatile int TheWorkSizeUnitBytes; /* bytes of a point in a message (master) */
extern volatile int iterId;               /* iteration, from 0 (all) */
extern volatile int batchId;              /* batch of the current message or computation (all) */
extern volatile int workerId;             /* rank of the worker of the current message (all) */
extern volatile int NTareas;              /* points in the current message or computation (all) */
extern volatile int numChunk;             /* chunks of the newest batch (master) */

#endif
