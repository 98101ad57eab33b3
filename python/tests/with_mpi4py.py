"""A script whose ranks import mpi4py, which begins MPI where it is not begun."""

from mpi4py import MPI

from sintonia.mpi import Executor


def size_at(_):
    return MPI.COMM_WORLD.size


if __name__ == "__main__":
    with Executor() as pool:
        print("sizes", {MPI.COMM_WORLD.size, *pool.map(size_at, range(10))})
