"""Finds the socket of a node's daemon, as the command `sintonia` does."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Mapping, Optional, Union

from .errors import NoDaemonError

#: Name of the socket in the folder of a daemon's state.
SOCKET = "node.sock"

#: Variables with the number of a rank on its host, and how many there are: Open MPI, MPICH.
_RANKS = [
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
]


def state_folder(
    node: Union[str, "os.PathLike[str]", None] = None, variables: Optional[Mapping[str, str]] = None
) -> Path:
    """Folder of the daemon's state: `node` (the folder or its socket), else what `SINTONIA_NODE` names, in a task the
    node that it runs on, else `sintonia/HOST` in `$XDG_STATE_HOME` or `~/.local/state`."""
    variables = os.environ if variables is None else variables
    named = os.fspath(node) if node is not None else ""
    named = named or variables.get("SINTONIA_NODE") or variables.get("SINTONIA_KEEPER") or ""
    if not named:
        return _default_state(variables)
    path = Path(os.path.abspath(named))
    return path.parent if _is_socket(path) else path


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False


def _default_state(variables: Mapping[str, str]) -> Path:
    state = variables.get("XDG_STATE_HOME", "")
    home = variables.get("HOME", "")
    if not state.startswith("/"):
        if not home.startswith("/"):
            raise NoDaemonError(
                "neither `XDG_STATE_HOME` nor `HOME` is set: name the daemon's folder by `Client(node=...)`"
            )
        state = os.path.join(home, ".local/state")
    return Path(state) / "sintonia" / own_name(variables)


def own_name(variables: Mapping[str, str]) -> str:
    """Default name of a daemon: the host's, up to its first dot; a launcher may have started several on a host."""
    host = socket.gethostname().split(".")[0]
    for rank, n_ranks in _RANKS:
        n = variables.get(n_ranks, "")
        if variables.get(rank) and n.isdigit() and int(n) != 1:
            return f"{host}-{variables[rank]}"
    return host
