// A static member of a class that a tunlet changes; rank 0 prints it at every iteration.
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <unistd.h>

namespace fire {
class Front {
public:
    static int width;
    __attribute__((noipa)) void advance(int iteration);
};
int Front::width = 4;

void Front::advance(int iteration)
{
    usleep(5000);
    int least, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&width, &least, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("%d width=%d\n", iteration, least);
}
} // namespace fire

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    fire::Front front;
    for (int i = 1; i <= std::atoi(argv[1]); i++) {
        front.advance(i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
