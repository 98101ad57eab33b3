// Leaves MPI calls by the exceptions and jumps of its error handler, and goes on with MPI. Calls made by
// an error handler, a reduction or a callback come from inside the library and are not the program's.
#include <mpi.h>

#include <csetjmp>
#include <cstdio>
#include <stdexcept>

static jmp_buf before_call;
static bool jumps = false;

static void leave(MPI_Comm *, int *, ...) {
    if (jumps) std::longjmp(before_call, 1);
    throw std::runtime_error("an MPI error");
}

static void fail() { MPI_Send(nullptr, 1, MPI_INT, 1 << 20, 0, MPI_COMM_WORLD); }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    int left = 0;
    for (int round = 0; round < 10; round++) {
        try {
            fail();
        } catch (const std::runtime_error &) {
            left++;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    jumps = true;
    for (volatile int round = 0; round < 10; round = round + 1) {
        if (setjmp(before_call) == 0)
            fail();
        else
            left++;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    std::printf("left %d\n", left);
    MPI_Finalize();
}
