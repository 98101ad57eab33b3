"""The executor."""

from __future__ import annotations

import concurrent.futures
import itertools
import pickle
import time
from typing import Any, Callable, Iterable, Iterator, Optional

from . import engine, functions
from .bag import Visit, Visits
from .chunks import Form
from .failures import BrokenPool
from .work import RANK, Call, Mapping, Work

_numbers = itertools.count(1)


class Executor(concurrent.futures.Executor):
    """Calls functions on the ranks of the launcher that started the script, or on threads without one.

    `max_workers` is the number of threads; ranks are as many as the launcher started. `initializer(*initargs)` is called once
    on each worker before its first call for this executor. Executors of a script share its workers.
    """

    def __init__(
        self,
        max_workers: Optional[int] = None,
        initializer: Optional[Callable[..., Any]] = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("`max_workers` must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("`initializer` must be callable")
        self._number = next(_numbers)
        self._initializer = None if initializer is None else _pickled(initializer, initargs)
        self._max_workers = max_workers
        self._pool = engine.get(max_workers).pool
        self._open: set[Work] = set()
        self._is_shut_down = False
        self._broken: Optional[BrokenPool] = None

    @property
    def num_workers(self) -> int:
        """Number of workers that calls are shared among."""
        return engine.n_workers(self._max_workers)

    def bootup(self, wait: bool = True) -> Executor:
        """Does nothing: the workers are there; for programs that were written for `mpi4py.futures`."""
        return self

    def submit(
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        priority: int = 0,
        near: Optional[concurrent.futures.Future[Any]] = None,
        **kwargs: Any,
    ) -> concurrent.futures.Future[Any]:
        """Calls `fn(*args, **kwargs)` on a worker.

        Of the calls that wait, those of higher `priority` come first. `near` is a call that is done: this one goes to the same
        worker, which has what belongs to it, unless others have nothing else to do. A function with arguments of these
        names gets them by `functools.partial`.
        """
        with self._pool.lock:
            work = Call(self._function(fn), (args, kwargs))
            work.priority, work.near = priority, getattr(near, RANK, 0)
            self._add(work)
        return work.future

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: Optional[float] = None,
        chunksize: int = 1,
        unordered: bool = False,
        priority: int = 0,
    ) -> Iterator[Any]:
        """Results of `fn` for the items, in their order, or as they come.

        Several items are sent at once as it pays; at least `chunksize` of them. Those of higher `priority` come first.
        """
        if len(iterables) == 1:
            only = iterables[0]
            items = only if isinstance(only, range) else list(only)
            return self._map(fn, Form.EACH, items, timeout, (chunksize, unordered, priority))
        return self._map(fn, Form.STAR, list(zip(*iterables)), timeout, (chunksize, unordered, priority))

    def starmap(
        self,
        fn: Callable[..., Any],
        iterable: Iterable[Iterable[Any]],
        timeout: Optional[float] = None,
        chunksize: int = 1,
        unordered: bool = False,
        priority: int = 0,
    ) -> Iterator[Any]:
        """Like `map`, where each item has all arguments of a call."""
        return self._map(fn, Form.STAR, [tuple(item) for item in iterable], timeout, (chunksize, unordered, priority))

    def bag(self, fn: Callable[..., Any], items: Iterable[Any], timeout: Optional[float] = None) -> Iterator[Any]:
        """Results of `fn(item, add)` for the items, and for those that the calls pass to `add`, until none is left.

        They come in any order, for searches of trees and for refinement where it is needed. A worker that has done its
        items goes on with those that they added, for a short time; the others are dealt to all.
        """
        until_s = None if timeout is None else time.monotonic() + timeout
        with self._pool.lock:
            work = Visits(self._function(Visit(fn)), list(items), self._pool)
            if work.n_calls:
                self._add(work)
        return work.results(until_s)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; waits for those that it has, after giving up what has not begun where that is asked for."""
        with self._pool.lock:
            self._is_shut_down = True
            unfinished = list(self._open)
        if cancel_futures:
            for work in unfinished:
                work.cancel()
        if wait:
            with self._pool.lock:
                self._pool.lock.wait_for(lambda: not self._open or self._pool.error is not None)

    def __exit__(self, kind: Any, value: Any, frames: Any) -> Optional[bool]:
        is_interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        self.shutdown(wait=not is_interrupted, cancel_futures=is_interrupted)
        return False

    def _map(
        self, fn: Callable[..., Any], form: int, items: Any, timeout: Optional[float], how: tuple[int, bool, int]
    ) -> Iterator[Any]:
        chunksize, is_unordered, priority = how
        if chunksize < 1:
            raise ValueError("`chunksize` must be at least 1")
        until_s = None if timeout is None else time.monotonic() + timeout
        with self._pool.lock:
            work = Mapping(self._function(fn), form, items, chunksize)
            work.priority = priority
            if work.n_calls:
                self._add(work)
        return work.results(not is_unordered, until_s)

    def _function(self, fn: Callable[..., Any]) -> tuple[int, functions.Record]:
        self._pool.check()
        if self._broken is not None:
            raise self._broken
        if self._is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        return self._pool.functions.add(self._number, self._initializer, fn)

    def _add(self, work: Work) -> None:
        work.on_end, work.on_broken = self._ended, self._break
        self._open.add(work)
        self._pool.add(work)

    def _ended(self, work: Work) -> None:
        with self._pool.lock:
            self._open.discard(work)
            self._pool.lock.notify_all()

    def _break(self, error: BaseException) -> None:
        """Ends all that is open: the initializer failed."""
        with self._pool.lock:
            if self._broken is None:
                self._broken = BrokenPool("the initializer of the executor failed")
                self._broken.__cause__ = error
            unfinished = list(self._open)
        for work in unfinished:
            work.fail(self._broken)


def _pickled(initializer: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    return functions.dumps((initializer, arguments))[0]
