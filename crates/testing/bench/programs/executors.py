"""How many calls per second an executor on MPI ranks does.

Usage: mpirun -n 3 python -m MODULE executors.py MODULE CASE CALLS, where the module is `sintonia.mpi` or `mpi4py.futures`.
Prints `executor`, the case, and calls per second.
"""
import importlib
import sys
import time


def nothing(task):
    return task


def wait_a_millisecond(task):
    time.sleep(0.001)
    return task


def mapped(pool, n_calls):
    for _ in pool.map(nothing, range(n_calls), chunksize=1):
        pass


def submitted(pool, n_calls):
    for future in [pool.submit(nothing, task) for task in range(n_calls)]:
        future.result()


def one_by_one(pool, n_calls):
    for task in range(n_calls):
        pool.submit(nothing, task).result()


def milliseconds(pool, n_calls):
    for _ in pool.map(wait_a_millisecond, range(n_calls), chunksize=1):
        pass


def arrays(pool, n_calls):
    """Arrays of 8 MB, forth and back."""
    import numpy

    array = numpy.arange(1_000_000.0)
    for result in pool.map(nothing, [array] * n_calls, chunksize=1):
        assert result[-1] == array[-1]


CASES = {case.__name__: case for case in (mapped, submitted, one_by_one, milliseconds, arrays)}


if __name__ == "__main__":
    module, case, n_calls = sys.argv[1], CASES[sys.argv[2]], int(sys.argv[3])
    with importlib.import_module(module).MPIPoolExecutor() as pool:
        # Connections are made, and functions are there.
        list(pool.map(nothing, range(100)))
        case(pool, max(n_calls // 20, 2))
        begin = time.perf_counter()
        case(pool, n_calls)
        print("executor", case.__name__, n_calls / (time.perf_counter() - begin))
