"""Pickles functions, arguments and results: with `cloudpickle` where it is installed, else with `pickle`."""

from __future__ import annotations

import pickle
from typing import Any

from .errors import SerializationError

_PROTOCOL = 4  # what Python 3.9 on another node reads


def dumps(value: Any, what: str) -> bytes:
    """Pickles a value; `what` names it in the error."""
    cloud = _cloudpickle()
    try:
        if cloud is not None:
            return bytes(cloud.dumps(value, protocol=_PROTOCOL))
        _check_found_elsewhere(value)
        return pickle.dumps(value, protocol=_PROTOCOL)
    except RecursionError as error:
        raise SerializationError(f"{what} is nested too deeply to be sent: put it into a file") from error
    except Exception as error:
        remedy = "" if cloud is not None else (
            "; `pip install cloudpickle` for lambdas, closures and functions of the main script, or move it into a module"
        )
        raise SerializationError(f"{what} cannot be sent: {error}{remedy}") from error


def _cloudpickle() -> Any:
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError:
        return None
    return cloudpickle


def _check_found_elsewhere(value: Any) -> None:
    """`pickle` takes functions of the main script by name, and the task has another main script."""
    if callable(value) and getattr(value, "__module__", None) == "__main__":
        raise SerializationError(f"`{getattr(value, '__qualname__', value)}` is of the main script")
