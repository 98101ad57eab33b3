"""Commands and Python functions as tasks of Sintonia's node daemons.

    import sintonia

    with sintonia.Client() as client:
        future = client.submit(pow, 2, 10)
        print(future.result())

Names are imported when they are first used, and the worker imports little, so that a task that runs a function starts quickly.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False

__version__ = "0.1.0"

_MODULES = {
    "client": ["Client"],
    "executor": ["Executor"],
    "futures": ["Future", "as_completed", "wait"],
    "messages": ["EndedTask", "Explanation", "NodeStatus", "Outcome", "TaskStatus"],
    "errors": [
        "ClientClosedError",
        "DependencyError",
        "NoDaemonError",
        "RefusedError",
        "RemoteTraceback",
        "ResultError",
        "SerializationError",
        "SintoniaError",
        "TaskFailedError",
        "UncertainError",
        "VersionError",
    ],
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)

if TYPE_CHECKING:
    from typing import Any

    from .client import Client as Client
    from .errors import (
        ClientClosedError as ClientClosedError,
        DependencyError as DependencyError,
        NoDaemonError as NoDaemonError,
        RefusedError as RefusedError,
        RemoteTraceback as RemoteTraceback,
        ResultError as ResultError,
        SerializationError as SerializationError,
        SintoniaError as SintoniaError,
        TaskFailedError as TaskFailedError,
        UncertainError as UncertainError,
        VersionError as VersionError,
    )
    from .executor import Executor as Executor
    from .futures import Future as Future, as_completed as as_completed, wait as wait
    from .messages import (
        EndedTask as EndedTask,
        Explanation as Explanation,
        NodeStatus as NodeStatus,
        Outcome as Outcome,
        TaskStatus as TaskStatus,
    )


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module `sintonia` has no `{name}`")
    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
