"""How fast `mpi4py.futures` deals tasks of nothing.

Usage: mpirun -n 3 python -m mpi4py.futures futures.py TASKS
Prints `dealing`, a 1, and tasks per second.
"""
import sys
import time

from mpi4py.futures import MPIPoolExecutor


def nothing(task):
    return task


if __name__ == "__main__":
    n_tasks = int(sys.argv[1])
    with MPIPoolExecutor() as pool:
        list(pool.map(nothing, range(100)))
        begin = time.perf_counter()
        list(pool.map(nothing, range(n_tasks)))
        print("dealing", 1, round(n_tasks / (time.perf_counter() - begin)))
