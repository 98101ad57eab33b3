"""What launchers tell their ranks in the environment."""

from __future__ import annotations

import os
from typing import Optional

_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
#: True in a process that `python -m sintonia.mpi` has started as a rank with the script or as a worker.
is_by_module = False


def rank() -> int:
    """Number of this rank; 0 without a launcher."""
    return next((int(os.environ[name]) for name in _RANKS if name in os.environ), 0)


def is_launched() -> bool:
    """True for a rank of a launcher."""
    return any(name in os.environ for name in _RANKS)


def n_ranks() -> Optional[int]:
    """Number of ranks, where it is known."""
    if not is_launched():
        return None
    return next((int(os.environ[name]) for name in _SIZES if name in os.environ), None)


def check_may_lead() -> None:
    """Raises where an executor cannot be made: on a worker, or on every rank at once."""
    if is_by_module and rank() != 0:
        raise RuntimeError(
            "an executor is made on a worker, which imports the script: put what the script does below "
            '`if __name__ == "__main__":`'
        )
    if not is_by_module and is_launched() and n_ranks() != 1:
        raise RuntimeError(
            "every rank runs this script: start it with `python -m sintonia.mpi` between launcher and script, as in "
            "`mpirun -n 4 python -m sintonia.mpi script.py`"
        )
