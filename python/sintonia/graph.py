"""Futures as inputs of further tasks.

A task whose arguments hold futures is held back in the client until they are done; then their results take their places.
`Hold` tells inputs whose results are needed from those that only have to end, which a daemon can wait for by itself.
"""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Any, Callable, Iterable

from .errors import DependencyError

Input = concurrent.futures.Future


def inputs_of(value: Any) -> list[Any]:
    """Futures in a value and in its lists, tuples and dictionaries, each once."""
    found: dict[int, Any] = {}
    _collect(value, found)
    return list(found.values())


def _collect(value: Any, found: dict[int, Any]) -> None:
    if isinstance(value, Input):
        found[id(value)] = value
    elif type(value) in (list, tuple):
        for one in value:
            _collect(one, found)
    elif type(value) is dict:
        for one in value.values():
            _collect(one, found)


def with_results(value: Any) -> Any:
    """The value with results in the place of futures, which are done."""
    if isinstance(value, Input):
        return value.result(0)
    if type(value) in (list, tuple):
        return type(value)(with_results(one) for one in value)
    if type(value) is dict:
        return {key: with_results(one) for key, one in value.items()}
    return value


class Hold:
    """Calls `go` once all inputs are done, or `fail` as soon as one of `needed` has not succeeded."""

    def __init__(
        self,
        needed: Iterable[Any],
        ended: Iterable[Any],
        go: Callable[[], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._needed = {id(one): one for one in needed}
        others = {id(one): one for one in ended if id(one) not in self._needed}
        self._go, self._fail = go, fail
        self._n_left = len(self._needed) + len(others)
        self._lock = threading.Lock()
        for one in [*self._needed.values(), *others.values()]:
            one.add_done_callback(self._one_is_done)

    def _one_is_done(self, future: Any) -> None:
        error = failure_of(future) if id(future) in self._needed else None
        with self._lock:
            if self._n_left == 0:
                return
            self._n_left = 0 if error is not None else self._n_left - 1
            if self._n_left:
                return
        if error is not None:
            self._fail(error)
            return
        try:
            self._go()
        except Exception as problem:
            self._fail(problem)


def failure_of(future: Any) -> Any:
    """Error of a task that was to follow this future, if the future has not succeeded."""
    if future.cancelled():
        return DependencyError(f"it was not submitted, because its input {future!r} was canceled", future)
    cause = future.exception(0)
    if cause is None:
        return None
    error = DependencyError(f"it was not submitted, because its input {future!r} failed: {cause}", future)
    error.__cause__ = cause
    return error
