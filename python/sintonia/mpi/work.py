"""What an executor was asked for, as the pool deals it: one call with its future, or a function mapped over many items.

Calls are grouped in *units* of `n_together`, which are the tasks of the master/worker library.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Callable, Iterator, Optional

from .chunks import Form, Segment
from .functions import Record


#: Attribute of a future: rank of the worker that made its result.
RANK = "_sintonia_rank"


class Work:
    """Calls of one function."""

    #: Number of calls that stay together.
    n_together = 1
    #: Higher ones are dealt first.
    priority = 0
    #: Rank of the worker that is to have it if it can; 0 for any.
    near = 0
    #: Rank of the worker whose results came last.
    rank = 0
    form = Form.CALL

    def __init__(self, function: tuple[int, Record], n_calls: int) -> None:
        self.function = function
        self.n_calls = n_calls
        #: True where each call is pickled by itself.
        self.is_packed = False
        #: Called when nothing is open any more.
        self.on_end: Callable[[Work], None] = lambda _: None
        #: Called when the initializer failed.
        self.on_broken: Callable[[BaseException], None] = lambda _: None
        self._n_open = n_calls
        self._unsent: dict[int, BaseException] = {}

    def n_units(self) -> int:
        """Number of tasks of the library."""
        return -(-self.n_calls // self.n_together)

    def pack(self) -> None:
        """From now on each call is pickled by itself."""
        self.is_packed = True

    def segment(self, calls: range, is_known: Callable[[int], bool]) -> Segment:
        """These calls for a worker; the function is with them unless the worker knows it."""
        key, record = self.function
        wanted = self._wanted(calls)
        if wanted is None:
            return Segment(key, None, Form.SKIP, False, self.n_together, len(calls))
        if self.is_packed:
            wanted = [self._packed(position, call) for position, call in zip(calls, wanted)]
        carried = None if is_known(key) else record
        return Segment(key, carried, self.form, self.is_packed, self.n_together, wanted)

    def _packed(self, position: int, call: Any) -> Optional[bytes]:
        try:
            return pickle.dumps(call, protocol=5)
        except Exception as error:
            self._unsent[position] = error
            return None

    def recover(self, start: int, results: list[Any], failures: dict[int, BaseException]) -> None:
        """Takes the results of calls from `start` on; some failed, by position in `results`."""
        if self._unsent:
            unsent = {at - start: error for at, error in self._unsent.items() if start <= at < start + len(results)}
            failures = {**failures, **unsent}
        self._take(start, results, failures)
        self._n_open -= len(results)
        if self._n_open <= 0:
            self.on_end(self)

    def fail(self, error: BaseException) -> None:
        """Ends all that is open with this error."""
        raise NotImplementedError

    def cancel(self) -> bool:
        """Gives up what has not begun; returns whether all of it is."""
        raise NotImplementedError

    def _wanted(self, calls: range) -> Any:
        raise NotImplementedError

    def _take(self, start: int, results: list[Any], failures: dict[int, BaseException]) -> None:
        raise NotImplementedError


class Call(Work):
    """A call with a future."""

    def __init__(self, function: tuple[int, Record], call: tuple[Any, Any]) -> None:
        super().__init__(function, 1)
        self.future: Future[Any] = Future()
        self._call = call
        #: True once the call has begun, false once it was canceled before that.
        self._is_begun: Optional[bool] = None

    def cancel(self) -> bool:
        return self.future.cancel()

    def fail(self, error: BaseException) -> None:
        if self._begin() and not self.future.done():
            self.future.set_exception(error)

    def _wanted(self, calls: range) -> Any:
        return [self._call] if self._begin() else None

    def _begin(self) -> bool:
        if self._is_begun is None:
            self._is_begun = self.future.set_running_or_notify_cancel()
        return self._is_begun

    def _take(self, start: int, results: list[Any], failures: dict[int, BaseException]) -> None:
        if not self._is_begun or self.future.done():
            return
        setattr(self.future, RANK, self.rank)
        if failures:
            self.future.set_exception(failures[0])
        else:
            self.future.set_result(results[0])


class Mapping(Work):
    """A function mapped over items, and its results for one reader."""

    def __init__(self, function: tuple[int, Record], form: Form, items: Any, n_together: int) -> None:
        super().__init__(function, len(items))
        self.form = form
        self.n_together = n_together
        self._items = items
        self._arrival = threading.Condition()
        self._arrived: dict[int, tuple[list[Any], dict[int, BaseException]]] = {}
        self._order: deque[int] = deque()
        self._error: Optional[BaseException] = None

    def cancel(self) -> bool:
        self._items = None
        return self._n_open == self.n_calls

    def fail(self, error: BaseException) -> None:
        with self._arrival:
            self._error = error
            self._arrival.notify_all()

    def results(self, is_ordered: bool, until_s: Optional[float]) -> Iterator[Any]:
        """The results, in order or as they come; ends with the first failure."""
        at = 0
        n_left = self.n_calls
        try:
            while n_left > 0:
                results, failures = self._next(at if is_ordered else None, until_s)
                n_fine = min(failures, default=len(results))
                yield from results if n_fine == len(results) else results[:n_fine]
                if failures:
                    raise failures[n_fine]
                at += len(results)
                n_left -= len(results)
        finally:
            self.cancel()

    def _next(self, at: Optional[int], until_s: Optional[float]) -> tuple[list[Any], dict[int, BaseException]]:
        """Results that begin at this call, or some results."""
        with self._arrival:
            while True:
                start = at if at is not None else (self._order[0] if self._order else None)
                if start in self._arrived:
                    if at is None:
                        self._order.popleft()
                    return self._arrived.pop(start)
                if self._error is not None:
                    raise self._error
                left_s = None if until_s is None else until_s - time.monotonic()
                if (left_s is not None and left_s <= 0) or not self._arrival.wait(left_s):
                    raise FutureTimeoutError()

    def _wanted(self, calls: range) -> Any:
        items = self._items
        return None if items is None else items[calls.start : calls.stop]

    def _take(self, start: int, results: list[Any], failures: dict[int, BaseException]) -> None:
        with self._arrival:
            if self._items is None:
                return
            self._arrived[start] = (results, failures)
            self._order.append(start)
            self._arrival.notify_all()
