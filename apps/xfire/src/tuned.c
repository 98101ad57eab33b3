/* The variables that tuning tools read and write; see tuned.h. */
#include "tuned.h"

volatile double F0 = 1.0, F1 = 1.0, F2 = 1.0;
volatile int NW;
volatile int TheTotalWork;
volatile int TheWorkSizeUnitBytes;
volatile int iterId;
volatile int batchId;
volatile int workerId;
volatile int NTareas;
volatile int numChunk;
