"""An executor on MPI ranks: `concurrent.futures` on the master/worker library.

    from sintonia.mpi import Executor

    def square(x):
        return x * x

    if __name__ == "__main__":
        with Executor() as pool:
            print(sum(pool.map(square, range(1_000_000))))

`mpirun -n 4 python -m sintonia.mpi script.py` runs the script on rank 0 and the calls on the others, with Open MPI or
MPICH; `python script.py` runs them on threads.
"""

from .executor import Executor
from .failures import BrokenPool, TaskError
from .library import LibraryError

#: Name of the class in programs that were written for `mpi4py.futures`.
MPIPoolExecutor = Executor

__all__ = ["BrokenPool", "Executor", "LibraryError", "MPIPoolExecutor", "TaskError"]
