"""The pool of a process: numbers what executors want for the master/worker library, and hands the results out.

A run of the library lasts as long as the process. One of its iterations lasts as long as there is work: what executors
want meanwhile arrives in it, so that nothing waits for what was there before. The functions that an iteration begins with are
its shared data, sent to each worker once; later ones are with their calls.

# Invariants
- All that changes is changed under one lock; futures are set outside it.
"""

from __future__ import annotations

import ctypes
import pickle
import struct
import threading
from bisect import bisect_left, bisect_right
from typing import Any, Iterable, Iterator, Optional

from . import blobs, library
from .chunks import Outcome, Segment
from .failures import unpacked
from .functions import FunctionTable, Record
from .work import Work


class Part:
    """Units `first` up to `end` of a work, as tasks of the present iteration from `start` on."""

    __slots__ = ("end", "first", "n_open", "start", "work")

    def __init__(self, work: Work, first: int, end: int, start: int) -> None:
        self.work, self.first, self.end, self.start = work, first, end, start
        self.n_open = end - first

    def calls(self, tasks: range) -> range:
        """Calls of the work that are among these tasks."""
        offset = self.first - self.start
        n_together = self.work.n_together
        first = max(tasks.start + offset, self.first) * n_together
        return range(first, min(min(tasks.stop + offset, self.end) * n_together, self.work.n_calls))


    def tasks_of(self, tasks: range) -> library.Tasks:
        """Those of these tasks that are of this part."""
        return library.Tasks(max(tasks.start, self.start), min(tasks.stop, self.start + self.end - self.first))


class Pool:
    """Master's side; there is one in a process."""

    def __init__(self) -> None:
        self.functions = FunctionTable()
        self.lock = threading.Condition()
        self._parts: list[Part] = []
        #: First task of each part.
        self._starts: list[int] = []
        self._n_done_parts = 0
        #: Number of tasks in this iteration, and the same as the library sees it.
        self._n_tasks = 0
        self._n_arrived = ctypes.c_uint64(0)
        self._n_recovered = 0
        self._is_iterating = False
        #: True once the library has asked for work, so that MPI is there.
        self._is_begun = False
        self._is_closing = False
        self._error: Optional[BaseException] = None
        self._shared = SharedFunctions()

    def add(self, work: Work, first: int = 0, end: Optional[int] = None) -> None:
        """Takes units of a work, all if not told; under the lock."""
        part = Part(work, first, work.n_units() if end is None else end, self._n_tasks)
        self._starts.append(self._n_tasks)
        self._parts.append(part)
        self._n_tasks += part.n_open
        if self._is_iterating:
            self._n_arrived.value = self._n_tasks
        else:
            self.lock.notify_all()

    def check(self) -> None:
        """Raises the error that ended the pool, if one did; under the lock."""
        if self._error is not None:
            raise self._error
        if self._is_closing:
            raise RuntimeError("cannot schedule new futures after the end of the script")

    def wait_for_begin(self) -> None:
        """Waits until all ranks are there, or the run has failed."""
        with self.lock:
            self.lock.wait_for(lambda: self._is_begun or self._error is not None)

    def close(self) -> None:
        """Ends the pool once all work is done."""
        with self.lock:
            self._is_closing = True
            self.lock.notify_all()

    def fail(self, error: BaseException) -> None:
        """Ends all that is open with this error, and refuses more."""
        with self.lock:
            self._error = error
            works = {part.work for part in self._parts if part.n_open}
            self._parts, self._starts = [], []
            self.lock.notify_all()
        for work in works:
            work.fail(error)

    @property
    def error(self) -> Optional[BaseException]:
        """Error that ended the pool."""
        return self._error

    def next(self, plan: library.Plan) -> Optional[bytes]:
        """Waits for work, and plans an iteration of it, with no tasks at the end; returns new shared data, if there are."""
        with self.lock:
            # What arrived too late for the iteration that has ended.
            left = [part for part in self._parts if self._n_recovered <= part.start]
            self._is_iterating, self._is_begun = False, True
            self.lock.notify_all()
            self._parts, self._starts, self._n_tasks, self._n_recovered = [], [], 0, 0
            for part in left:
                self.add(part.work, part.first, part.end)
            self.lock.wait_for(lambda: self._parts or self._is_closing)
            self._n_done_parts = 0
            self._n_arrived.value = plan.n_tasks = self._n_tasks
            plan.n_arrived = ctypes.pointer(self._n_arrived)
            self._is_iterating = True
            return self._shared.renewed({part.work.function for part in self._parts})

    def hints(self, tasks: range) -> list[library.Hint]:
        """What is wished for these tasks."""
        with self.lock:
            parts = [part for part in self._parts_of(tasks) if part.work.priority or part.work.near]
        return [library.Hint(part.tasks_of(tasks), part.work.priority, part.work.near) for part in parts]

    def chunk(self, tasks: range) -> bytes:
        """The calls of these tasks for a worker."""
        pieces = self._pieces(tasks)
        try:
            return blobs.dumps(self._segments(pieces))
        except Exception:
            # One of them cannot be pickled: each by itself, so that the others can be computed.
            for work, _ in pieces:
                work.pack()
            return blobs.dumps(self._segments(pieces))

    def recover(self, tasks: range, outcome: Outcome) -> None:
        """Takes the outcome of these tasks; what the worker has not begun becomes new tasks."""
        pieces = self._pieces(tasks)
        failures = {at: unpacked(failure) for at, failure in outcome.failures.items()}
        results = outcome.results
        if outcome.is_unreadable:
            results, failures = _of_unreadable(pieces, failures[0])
        done = list(_divided(pieces, results, failures))
        with self.lock:
            for (work, calls), (own, _) in zip(pieces, done):
                if len(own) < len(calls):
                    self.add(work, (calls.start + len(own)) // work.n_together, -(-calls.stop // work.n_together))
            self._n_recovered += len(tasks)
            self._forget(tasks)
        for (work, calls), (own, failed) in zip(pieces, done):
            if outcome.is_pool_broken and failed:
                work.on_broken(next(iter(failed.values())))
            work.rank = outcome.rank
            if own:
                work.recover(calls.start, own, failed)

    def _pieces(self, tasks: range) -> list[Piece]:
        """The works of these tasks, with their calls."""
        with self.lock:
            return [(part.work, part.calls(tasks)) for part in self._parts_of(tasks)]

    def _parts_of(self, tasks: range) -> list[Part]:
        first = bisect_right(self._starts, tasks.start) - 1
        return self._parts[first : bisect_left(self._starts, tasks.stop)]

    def _segments(self, pieces: list[Piece]) -> list[tuple[Any, ...]]:
        segments: list[Segment] = []
        for work, calls in pieces:
            segment = work.segment(calls, self._shared.has)
            if segments and segments[-1].takes(segment):
                segments[-1].calls.extend(segment.calls)
            else:
                segments.append(segment)
        return [tuple(segment) for segment in segments]

    def _forget(self, tasks: range) -> None:
        """Counts tasks as done, and drops the parts that are, once they are many."""
        for part in self._parts_of(tasks):
            part.n_open -= min(tasks.stop, part.start + part.end - part.first) - max(tasks.start, part.start)
            self._n_done_parts += part.n_open == 0
        if self._n_done_parts > max(_N_DONE_PARTS_MIN, len(self._parts) // 2):
            self._parts = [part for part in self._parts if part.n_open]
            self._starts = [part.start for part in self._parts]
            self._n_done_parts = 0


#: Calls of a work.
Piece = tuple[Work, range]
#: Number of finished parts up to which they are kept.
_N_DONE_PARTS_MIN = 1000


class SharedFunctions:
    """Functions that are sent to each worker with the iteration."""

    def __init__(self) -> None:
        self._keys: set[int] = set()
        self._n_versions = 0

    def has(self, key: int) -> bool:
        """True for a function that each worker gets before its first chunk of this iteration."""
        return key in self._keys

    def renewed(self, functions: Iterable[tuple[int, Record]]) -> Optional[bytes]:
        """Bytes of these functions behind a number of their own; `None` where the workers have all of them."""
        records = dict(functions)
        if self._keys.issuperset(records):
            return None
        self._keys = set(records)
        self._n_versions += 1
        return struct.pack("<Q", self._n_versions) + pickle.dumps(records)


def _of_unreadable(pieces: list[Piece], error: BaseException) -> tuple[list[Any], dict[int, BaseException]]:
    """Outcome of a chunk that could not be unpickled: nothing, so that its calls come again, or failures."""
    if all(work.is_packed for work, _ in pieces):
        n_calls = sum(len(calls) for _, calls in pieces)
        return [None] * n_calls, dict.fromkeys(range(n_calls), error)
    for work, _ in pieces:
        work.pack()
    return [], {}


def _divided(
    pieces: list[Piece], results: list[Any], failures: dict[int, BaseException]
) -> Iterator[tuple[list[Any], dict[int, BaseException]]]:
    """The results and failures of each piece, by position in it."""
    at = 0
    for _, calls in pieces:
        own = results[at : at + len(calls)]
        failed = {idx: failures[at + idx] for idx in range(len(own)) if at + idx in failures} if failures else {}
        yield own, failed
        at += len(calls)
