"""What a worker does with a chunk."""

from __future__ import annotations

import ctypes
import pickle
import time
from itertools import starmap
from typing import Any, Callable, Iterator

from . import blobs
from .chunks import Form, Outcome, Segment
from .failures import Failure, packed
from .functions import InitializerError, LoadedFunctions, Record
from .library import Bytes

#: Time after which a worker hands back the calls of a chunk that it has not begun, in seconds.
SLICE_S = 0.05


class Worker:
    """Computes chunks, one after the other; each thread that works has its own."""

    def __init__(self, library: ctypes.CDLL, rank: int) -> None:
        self._rank = rank
        self._library = library
        self._functions = LoadedFunctions()
        self._shared: dict[int, Record] = {}
        self._n_shared = 0
        #: Bytes of the last outcome, which the library reads until the next call.
        self._lent = b""

    def work(self, shared: Bytes, chunk: Bytes, result: int) -> int:
        """Computes a chunk, and lends the library the bytes of its outcome."""
        self._take_shared(shared)
        outcome = self._outcome(chunk)._replace(rank=self._rank)
        self._lent = _dumps(outcome)
        return int(self._library.mw_lend(result, self._lent, len(self._lent)))

    def _take_shared(self, shared: Bytes) -> None:
        """Reads the functions that this iteration begins with; they are numbered by a number before them."""
        n_shared = ctypes.c_uint64.from_address(shared.data).value
        if n_shared != self._n_shared:
            self._shared = pickle.loads(ctypes.string_at(shared.data + 8, shared.n_bytes - 8))
            self._n_shared = n_shared

    def _outcome(self, chunk: Bytes) -> Outcome:
        try:
            loaded = blobs.loads(chunk.data, chunk.n_bytes, self._library.mw_keep, self._library.mw_release)
        except BaseException as error:
            return Outcome([], {0: packed(error)}, is_unreadable=True)
        return Run(self._get_function).run([Segment(*segment) for segment in loaded])

    def _get_function(self, segment: Segment) -> Callable[..., Any]:
        record = segment.record or self._shared.get(segment.function)
        return self._functions.get(segment.function, record)


class Run:
    """Computation of one chunk."""

    def __init__(self, get_function: Callable[[Segment], Callable[..., Any]]) -> None:
        self._get_function = get_function
        self._results: list[Any] = []
        self._failures: dict[int, Failure] = {}
        self._is_pool_broken = False
        self._until_s = time.perf_counter() + SLICE_S

    def run(self, segments: list[Segment]) -> Outcome:
        """Computes segments until all are done, or the time is over."""
        for segment in segments:
            if not self._run_segment(segment):
                break
        return Outcome(self._results, self._failures, self._is_pool_broken)

    def _run_segment(self, segment: Segment) -> bool:
        """Computes calls in blocks of growing length; returns whether there is time left."""
        n_calls = segment.n_calls()
        if segment.form == Form.SKIP:
            self._results.extend([None] * n_calls)
            return True
        try:
            function = self._get_function(segment)
        except BaseException as error:
            self._fail_all(n_calls, error)
            return True
        start, n_block = 0, segment.n_together
        while start < n_calls:
            block = segment.calls[start : start + n_block]
            self._run_block(_results(function, segment, block), len(block))
            start += n_block
            n_block *= 2
            if time.perf_counter() > self._until_s:
                return False
        return True

    def _run_block(self, results: Iterator[Any], n_calls: int) -> None:
        expected = len(self._results) + n_calls
        while len(self._results) < expected:
            try:
                # When a call raises, the results before it are there, and the iterator stands behind it.
                self._results.extend(results)
                if len(self._results) < expected:
                    raise RuntimeError("the function raised `StopIteration`")
            except BaseException as error:
                self._failures[len(self._results)] = packed(error)
                self._results.append(None)

    def _fail_all(self, n_calls: int, error: BaseException) -> None:
        is_initializer = isinstance(error, InitializerError)
        cause = error.__cause__ if is_initializer else error
        failure = packed(cause or error, 2)
        start = len(self._results)
        self._failures.update(dict.fromkeys(range(start, start + n_calls), failure))
        self._results.extend([None] * n_calls)
        self._is_pool_broken |= is_initializer


def _results(function: Callable[..., Any], segment: Segment, calls: Any) -> Iterator[Any]:
    """Results of the calls, each computed when it is asked for; goes on behind a call that raises."""
    if segment.is_packed:
        return map(lambda call: call and _call(function, segment.form, pickle.loads(call)), calls)
    if segment.form == Form.EACH:
        return map(function, calls)
    if segment.form == Form.STAR:
        return starmap(function, calls)
    return map(lambda call: function(*call[0], **call[1]), calls)


def _call(function: Callable[..., Any], form: int, call: Any) -> Any:
    if form == Form.EACH:
        return function(call)
    return function(*call) if form == Form.STAR else function(*call[0], **call[1])


def _dumps(outcome: Outcome) -> bytes:
    try:
        return blobs.dumps(tuple(outcome))
    except Exception:
        for position, result in enumerate(outcome.results):
            try:
                pickle.dumps(result, protocol=5)
            except Exception as error:
                outcome.results[position] = None
                outcome.failures[position] = packed(error, 1)
        return blobs.dumps(tuple(outcome))
