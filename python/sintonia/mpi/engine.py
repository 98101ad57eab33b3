"""The run of the master/worker library in this process: its functions call the pool and the workers.

On the ranks of a launcher rank 0 is the master, whose run has a thread of its own beside the script; other ranks work in their
main thread. Without a launcher the workers are threads.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import traceback
from typing import Any, Callable, Optional

from . import blobs, launched, library
from .chunks import Outcome
from .failures import BrokenPool
from .pool import Pool
from .worker import Worker

#: A call may take as long as it likes, and its effects are wanted once: no worker is silent for too long.
_PATIENT = [("deadline", str(10**8)), ("overdue", "never")]
#: Longest wait for the run after it was canceled, in seconds.
_CANCELED_S = 5.0

#: Options of the library, as its command lines have them.
Options = list[tuple[str, Optional[str]]]


class OptionError(ValueError):
    """An option of the run is not known."""


class Run:
    """A run of the library with a pool, and as many workers as this process has; `prepare` is called once MPI has begun."""

    def __init__(self, pool: Pool, options: Options, prepare: Callable[[], None] = lambda: None) -> None:
        self._pool = pool
        self._library = library.load()
        self._workers: dict[int, Worker] = {}
        self._hints = library.HINTS(self._hint)
        self._hinted: Any = None
        #: Bytes that the library reads until the next call of the same function.
        self._lent: dict[str, bytes] = {}
        self._options = self._library.mw_options_new()
        for name, value in [*_PATIENT, *options]:
            text = None if value is None else value.encode()
            if self._library.mw_options_set(self._options, name.encode(), text) != 0:
                raise OptionError(self._last_error())
        self._program = library.Program(
            worker_init=library.INIT(self._guarded(lambda rank: self._begin_worker(rank, prepare))),
            master_next=library.NEXT(self._guarded(self._next)),
            master_input=library.INPUT(self._guarded(self._input)),
            worker_work=library.WORK(self._guarded(self._work)),
            master_recover=library.RECOVER(self._guarded(self._recover)),
        )

    def run(self) -> Optional[str]:
        """Runs until the pool is closed, on a worker until the master ends; returns why it failed, if it did."""
        code = self._library.mw_run_with(ctypes.byref(self._program), self._options)
        return None if code == 0 else self._last_error()

    def cancel(self) -> None:
        """Ends the run as soon as can be."""
        self._library.mw_cancel(self._options)

    def _last_error(self) -> str:
        text: bytes = self._library.mw_last_error()
        return text.decode(errors="replace")

    def _guarded(self, function: Callable[..., Optional[int]]) -> Callable[..., int]:
        """No exception may pass through C: one is a bug here, and ends the run."""

        def guarded(_state: Any, *arguments: Any) -> int:
            try:
                return function(*arguments) or 0
            except BaseException:
                return int(self._library.mw_fail(traceback.format_exc().encode()))

        return guarded

    def _begin_worker(self, rank: int, prepare: Callable[[], None]) -> None:
        # A thread of the library is a new one for Python at each call, but keeps its number.
        self._workers[threading.get_ident()] = Worker(self._library, rank)
        prepare()

    def _hint(self, _state: Any, tasks: library.Tasks, n_hints: Any) -> Optional[int]:
        hints = self._pool.hints(range(tasks.start, tasks.end))
        if not hints:
            return None
        n_hints.contents.value = len(hints)
        self._hinted = (library.Hint * len(hints))(*hints)
        return ctypes.addressof(self._hinted)

    def _next(self, _iteration: int, plan: Any, shared: int) -> None:
        functions = self._pool.next(plan.contents)
        plan.contents.hints = self._hints
        if functions is not None:
            self._lend("shared", functions, shared)

    def _input(self, tasks: library.Tasks, chunk: int) -> None:
        self._lend("input", self._pool.chunk(range(tasks.start, tasks.end)), chunk)

    def _work(self, _tasks: library.Tasks, shared: library.Bytes, chunk: library.Bytes, result: int) -> int:
        return self._workers[threading.get_ident()].work(shared, chunk, result)

    def _recover(self, tasks: library.Tasks, result: library.Bytes) -> None:
        outcome = blobs.loads(result.data, result.n_bytes, self._library.mw_keep, self._library.mw_release)
        self._pool.recover(range(tasks.start, tasks.end), Outcome(*outcome))

    def _lend(self, name: str, data: bytes, buffer: int) -> None:
        self._lent[name] = data
        self._library.mw_lend(buffer, data, len(data))


class Engine:
    """A pool whose run has a thread; the script of rank 0 has one, made when it is first asked for."""

    def __init__(self, options: Options) -> None:
        self.pool = Pool()
        self._run = Run(self.pool, options)
        self._thread = threading.Thread(target=self._lead, name="sintonia master", daemon=True)
        self._thread.start()

    def close(self, is_wanted: bool) -> Optional[str]:
        """Ends the run after all work, or at once if that is not wanted any more; returns why the run failed, if it did."""
        self.pool.close()
        if is_wanted:
            self._thread.join()
            return None if self.pool.error is None else str(self.pool.error)
        self._run.cancel()
        self._thread.join(_CANCELED_S)
        return None

    def is_ended(self) -> bool:
        """True once the run is over."""
        return not self._thread.is_alive()

    def _lead(self) -> None:
        failed = self._run.run()
        if failed is not None:
            self.pool.fail(BrokenPool(f"the workers are gone: {failed}"))


_engine: Optional[Engine] = None
_starting = threading.Lock()
#: Options for the run, set before the first executor.
options: Options = []


def get(max_workers: Optional[int]) -> Engine:
    """The engine of this process; `max_workers` counts where its workers will be threads."""
    global _engine
    with _starting:
        if _engine is None:
            launched.check_may_lead()
            given = [*options]
            if not launched.is_launched() and max_workers is not None:
                given.append(("threads", str(max_workers + 1)))
            _engine = Engine(given)
            atexit.register(_at_exit)
        return _engine


def close(is_wanted: bool = True) -> Optional[str]:
    """Ends the engine, if there is one; returns why its run failed, if it did."""
    return None if _engine is None else _engine.close(is_wanted)


def _at_exit() -> None:
    """Ends the process where calls go on that nobody wants: threads in C must not see the interpreter end."""
    if _engine is None or launched.is_by_module and _engine.is_ended():
        return
    if launched.is_by_module:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    _engine.close(True)


def n_workers(max_workers: Optional[int]) -> int:
    """Number of workers of this process's engine."""
    n_ranks = launched.n_ranks()
    if n_ranks is not None:
        return max(n_ranks - 1, 1)
    return max_workers or len(os.sched_getaffinity(0))
