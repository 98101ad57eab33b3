"""Calls that make further calls, until none is left."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, Callable, Iterator, Optional

from .chunks import Form
from .functions import Record
from .pool import Pool
from .work import Work

#: Time after which a worker returns the items that were added and not visited, in seconds.
SLICE_S = 0.005


class Visit:
    """Function of a bag as workers call it: goes on with what it adds, for a short time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, item: Any) -> tuple[list[Any], list[Any]]:
        """Results of the item and of some that it adds, and items that are left."""
        until_s = time.perf_counter() + SLICE_S
        results: list[Any] = []
        left = [item]
        while left:
            results.append(self._function(left.pop(), left.append))
            if time.perf_counter() > until_s:
                break
        return results, left


class Visits(Work):
    """A function called for items and for those that it adds, and its results for one reader, as they come."""

    form = Form.EACH

    def __init__(self, function: tuple[int, Record], items: list[Any], pool: Pool) -> None:
        super().__init__(function, len(items))
        self._pool = pool
        self._items: Optional[dict[int, Any]] = dict(enumerate(items))
        self._arrival = threading.Condition()
        self._arrived: deque[Any] = deque()
        self._error: Optional[BaseException] = None

    def recover(self, start: int, results: list[Any], failures: dict[int, BaseException]) -> None:
        """Takes the outcome of items from `start` on; what they left becomes new calls before they count as done."""
        self._add([item for at, visited in enumerate(results) if at not in failures and visited for item in visited[1]])
        super().recover(start, results, failures)
        with self._arrival:
            self._arrival.notify_all()

    def _add(self, added: list[Any]) -> None:
        with self._arrival:
            if self._items is None or not added:
                return
            self._items.update(enumerate(added, self.n_calls))
        with self._pool.lock:
            first = self.n_calls
            self.n_calls += len(added)
            self._n_open += len(added)
            self._pool.add(self, first, self.n_calls)

    def _wanted(self, calls: range) -> Any:
        with self._arrival:
            return None if self._items is None else [self._items[at] for at in calls]

    def _take(self, start: int, results: list[Any], failures: dict[int, BaseException]) -> None:
        with self._arrival:
            if self._items is None:
                return
            for at in range(start, start + len(results)):
                del self._items[at]
            if failures:
                self._error = next(iter(failures.values()))
            self._arrived.extend(visited[0] for at, visited in enumerate(results) if at not in failures)

    def cancel(self) -> bool:
        with self._arrival:
            self._items = None
        return self._n_open == self.n_calls

    def fail(self, error: BaseException) -> None:
        with self._arrival:
            self._error = error
            self._arrival.notify_all()

    def results(self, until_s: Optional[float]) -> Iterator[Any]:
        """The results in the order in which they come; ends with the first failure."""
        try:
            while (results := self._next(until_s)) is not None:
                yield from results
        finally:
            self.cancel()

    def _next(self, until_s: Optional[float]) -> Optional[list[Any]]:
        """Some results; `None` when there are no more."""
        with self._arrival:
            while not self._arrived:
                if self._error is not None:
                    raise self._error
                if self._n_open <= 0:
                    return None
                left_s = None if until_s is None else until_s - time.monotonic()
                if (left_s is not None and left_s <= 0) or not self._arrival.wait(left_s):
                    raise TimeoutError()
            return self._arrived.popleft()  # type: ignore[no-any-return]
