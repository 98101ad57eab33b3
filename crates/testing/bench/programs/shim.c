/* The least that watching MPI calls can cost: two time stamps and one 64-byte record per call.
 *
 * Preloaded like Sintonia's probe, for the calls that the programs beside this file make. No
 * statistics, no reader: a bound to compare with, not a tool.
 */
#include <mpi.h>
#include <stdint.h>
#include <x86intrin.h>

struct record {
    uint64_t enter_ticks, exit_ticks, caller, operation, unused[4];
};

enum { N_RECORDS = 1 << 12 };

static __thread struct record ring[N_RECORDS] __attribute__((aligned(64)));
static __thread uint64_t n_written;

static inline int keep(uint64_t enter_ticks, void *caller, uint64_t operation, int result) {
    struct record *slot = &ring[n_written++ & (N_RECORDS - 1)];
    *slot = (struct record){enter_ticks, __rdtsc(), (uint64_t)caller, operation, {0}};
    return result;
}

#define WATCH(number, name, parameters, arguments)                                       \
    int MPI_##name parameters {                                                          \
        uint64_t enter_ticks = __rdtsc();                                                \
        int result = PMPI_##name arguments;                                              \
        return keep(enter_ticks, __builtin_return_address(0), number, result);           \
    }

WATCH(1, Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
      (source, tag, comm, flag, status))
WATCH(2, Isend,
      (const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
       MPI_Request *request),
      (buf, count, type, dest, tag, comm, request))
WATCH(3, Recv,
      (void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
       MPI_Status *status),
      (buf, count, type, source, tag, comm, status))
WATCH(4, Wait, (MPI_Request *request, MPI_Status *status), (request, status))
WATCH(5, Sendrecv,
      (const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
       void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
       MPI_Status *status),
      (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
       comm, status))
WATCH(6, Barrier, (MPI_Comm comm), (comm))
WATCH(7, Test, (MPI_Request *request, int *flag, MPI_Status *status), (request, flag, status))
WATCH(8, Send,
      (const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),
      (buf, count, type, dest, tag, comm))
