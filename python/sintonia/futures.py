"""Futures of tasks."""

from __future__ import annotations

import concurrent.futures
from concurrent.futures import as_completed, wait
from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

from .messages import EndedTask, Explanation, TaskStatus, parse_tasks
from .waits import ranges

if TYPE_CHECKING:
    from .batch import Batch
    from .client import Client

__all__ = ["Future", "as_completed", "wait"]


class Future(concurrent.futures.Future):  # type: ignore[type-arg]
    """Result of a task to come, as `concurrent.futures` has it: `result`, `exception`, `done`, `add_done_callback`, and
    with `concurrent.futures.as_completed` and `wait`.

    The result of a command is its `EndedTask`, with `stdout`; that of a function what the function returned. `result` raises
    what the function raised, `TaskFailedError` for a command that failed, `CancelledError` for a canceled task, and
    `DependencyError` for one whose inputs failed.

    Callbacks run in the client's own thread: they may submit, but must not wait for tasks.
    """

    def __init__(self, client: Client, title: str) -> None:
        super().__init__()
        self._client = client
        self._title = title
        self._batch: Optional[Batch] = None
        self._idx = 0
        self._ended: Optional[EndedTask] = None
        self._is_being_canceled = False

    def __repr__(self) -> str:
        batch = self._batch
        name = batch.name_of(self._idx) if batch is not None and batch.is_named else self._title
        return f"<sintonia.Future {name} {'done' if self.done() else 'pending'}>"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a future cannot be pickled: pass it to `submit` as an argument of its own, or within lists, tuples and "
            "dictionaries, so that its result is put in its place"
        )

    @property
    def task(self) -> str:
        """Name of the task; waits until it is safe on the daemon's disk."""
        self._client._check_may_wait(self.done() or (self._batch is not None and self._batch.is_named))
        batch = self._batch
        while batch is None:
            # It waits for its inputs. Either they end and it is handed over, or it ends without a task.
            self._client._wait_for_release(self)
            batch = self._batch
            if batch is None and self.done():
                error = None if self.cancelled() else super().exception()
                raise error or concurrent.futures.CancelledError()
        batch.named.wait()
        if batch.error is not None:
            raise batch.error
        return batch.name_of(self._idx)

    @property
    def ended(self) -> Optional[EndedTask]:
        """End of the task with node, outcome and times; `None` before."""
        return self._ended

    @property
    def output(self) -> Optional[EndedTask]:
        """The same, of which `stdout` and `stderr` are what the command or function wrote; `None` before its end."""
        return self._ended

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the result; raises `concurrent.futures.TimeoutError` after `timeout` seconds."""
        self._client._check_may_wait(self.done() or timeout == 0)
        return super().result(timeout)

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Waits for the end; returns the exception that `result` would raise."""
        self._client._check_may_wait(self.done() or timeout == 0)
        return super().exception(timeout)

    def status(self) -> TaskStatus:
        """State of the task, as the daemon tells it now."""
        batch = self._batch
        if batch is None or not batch.is_named:
            return TaskStatus("", self._title, "held" if batch is None else "submitting")
        return self._client.tasks(batch.name_of(self._idx))[0]

    def explain(self) -> Explanation:
        """Why the task is in its state, with its history."""
        return self._client.explain(self.task)

    def running(self) -> bool:
        """Whether a node has started the task or holds it to start it; asks the daemon."""
        return not self.done() and self.status().state in ("running", "leased")

    def cancel(self) -> bool:
        """Ends the task, wherever it is, also while it runs; false if it had ended before.

        Items of one chunk of `Client.map` share a task, which ends for all of them.
        """
        return self._client._cancel_future(self)

    def _set_canceled(self) -> bool:
        """Marks it as canceled, unless it is done."""
        with self._client._cancel_lock:
            if self.done() or self._is_being_canceled:
                return self.cancelled() or self._is_being_canceled
            self._is_being_canceled = True
        # Outside of the lock, since this calls the callbacks.
        if super().cancel():
            self.set_running_or_notify_cancel()
            return True
        self._is_being_canceled = False
        return False

    def _end(self, value: Any = None, error: Optional[BaseException] = None) -> None:
        """Gives it a result or an error, unless it was canceled meanwhile."""
        try:
            if error is None:
                self.set_result(value)
            else:
                self.set_exception(error)
        except concurrent.futures.InvalidStateError:
            pass


#: Tasks by name, by range, or as futures, or several of these.
Tasks = Union[str, Future, Iterable[Union[str, Future]]]


def listed(tasks: Tasks) -> list[Union[str, Future]]:
    """Each name and future."""
    return [tasks] if isinstance(tasks, (str, Future)) else [*tasks]


def named_ranges(tasks: Tasks) -> list[tuple[str, int, int]]:
    """Ranges of these tasks, as few as possible; waits for the names of futures."""
    found: list[tuple[str, int, int]] = []
    numbers: dict[str, set[int]] = {}
    for one in listed(tasks):
        home, first, last = parse_tasks(one if isinstance(one, str) else one.task)
        if first == last:
            numbers.setdefault(home, set()).add(first)
        else:
            found.append((home, first, last))
    for home, own in numbers.items():
        found += [(home, first, last) for first, last in ranges(own)]
    return found


def end_of(client: Client, future: Future) -> EndedTask:
    """End of a future that is done; of one that was canceled here, the end may be on its way."""
    batch = future._batch
    if future._ended is None and batch is not None and batch.is_named:
        future = client.attach(batch.name_of(future._idx))[0]
        concurrent.futures.wait([future])
    if future._ended is not None:
        return future._ended
    error = None if future.cancelled() else future.exception(0)
    raise error or concurrent.futures.CancelledError()
