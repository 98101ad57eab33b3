"""`concurrent.futures.Executor` whose calls run on the nodes of a cluster."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from typing import Any, Callable, Iterable, Iterator, Optional

from .client import Client
from .futures import Future
from .options import TaskOptions


class Executor(concurrent.futures.Executor):
    """Takes the place of `ProcessPoolExecutor`. `options` are those of `Client.submit` for all tasks, such as `retry`.

    Without a client it has its own, which `shutdown` closes. Leaving a `with` block waits for all tasks.
    """

    def __init__(self, client: Optional[Client] = None, **options: Any) -> None:
        self._options = TaskOptions(**options)
        self._own = Client() if client is None else None
        self._client = client if client is not None else self._own
        self._open: set[Future] = set()
        self._lock = threading.Lock()
        self._is_shut_down = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Calls `fn(*args, **kwargs)` on a node."""
        return self._kept([self._usable()._submit_call(fn, args, kwargs, self._options)])[0]

    def map(
        self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """Results of `fn` for the items, in order; each task takes `chunksize` of them."""
        until = None if timeout is None else time.monotonic() + timeout
        futures = self._kept(self._usable()._map(fn, [*zip(*iterables)], max(chunksize, 1), self._options))
        return _results(futures, until)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; waits for those that it has, and ends them first where that is asked for."""
        with self._lock:
            self._is_shut_down = True
            unfinished = list(self._open)
        if cancel_futures and self._client is not None:
            self._client.cancel(unfinished)
        if wait:
            concurrent.futures.wait(unfinished)
            if self._own is not None:
                self._own.close()

    def _usable(self) -> Client:
        if self._is_shut_down or self._client is None:
            raise RuntimeError("cannot schedule new futures after shutdown")
        return self._client

    def _kept(self, futures: list[Future]) -> list[Future]:
        with self._lock:
            self._open.update(futures)
        for future in futures:
            future.add_done_callback(self._forget)
        return futures

    def _forget(self, future: Any) -> None:
        with self._lock:
            self._open.discard(future)


def _results(futures: list[Future], until: Optional[float]) -> Iterator[Any]:
    try:
        for future in futures:
            yield future.result(None if until is None else max(0.0, until - time.monotonic()))
    finally:
        for future in futures:
            if not future.done():
                future.cancel()
