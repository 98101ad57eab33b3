"""A script that ends in the way that its argument names, while calls wait."""

import os
import signal
import sys

from sintonia.mpi import Executor


def same(x):
    return x


if __name__ == "__main__":
    with Executor() as pool:
        print("sum", sum(pool.map(same, range(1000))), flush=True)
        if sys.argv[1] == "exit":
            sys.exit(5)
        if sys.argv[1] == "raise":
            raise KeyError("the script fails")
        if sys.argv[1] == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        if sys.argv[1] == "die":
            pool.submit(os._exit, 3).result()
    if sys.argv[1] == "unguarded":
        pool = Executor()
elif sys.argv[1] == "unguarded":
    pool = Executor()
