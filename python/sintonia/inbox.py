"""What other threads hand to the client's own: submissions, tasks to wait for, tasks to cancel."""

from __future__ import annotations

import socket
import threading
from collections import deque
from typing import Any, Optional

from .batch import Batch
from .errors import ClientClosedError

#: Most submissions that wait to be sent; `submit` then waits.
N_QUEUED_MAX = 10_000


class Inbox:
    """Queues with a bound, and a socket that wakes the thread that reads them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._queue: deque[Batch] = deque()
        #: Tasks to wait for that have names already.
        self._adopted: list[Batch] = []
        self._to_cancel: list[Any] = []
        self._n_unnamed = 0
        self.is_closing = False
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)

    # Of any thread.

    def put(self, batch: Batch, may_wait: bool) -> None:
        """Queues a submission; waits while very many are queued."""
        with self._lock:
            while len(self._queue) >= N_QUEUED_MAX and may_wait and not self.is_closing:
                self._changed.wait()
            self._check()
            self._queue.append(batch)
            self._n_unnamed += 1
        self._wake()

    def adopt(self, batch: Batch) -> None:
        """Queues tasks that have names already, to be waited for."""
        with self._lock:
            self._check()
            self._adopted.append(batch)
        self._wake()

    def cancel(self, future: Any) -> bool:
        """Cancels a future whose task has no name yet; false if it has one."""
        with self._lock:
            batch = future._batch
            if batch is not None and batch.named.is_set():
                return False
            if batch is not None:
                # Its task may be on its way, or is one of several.
                self._to_cancel.append(future)
        return bool(future._set_canceled())

    def flush(self, timeout: Optional[float]) -> bool:
        """Waits until each submission has names or has failed."""
        with self._lock:
            return self._changed.wait_for(lambda: self._n_unnamed == 0, timeout)

    def close(self) -> None:
        """Takes nothing more."""
        with self._lock:
            self.is_closing = True
            self._changed.notify_all()
        self._wake()

    def close_files(self) -> None:
        self._wake_in.close()
        self._wake_out.close()

    def _check(self) -> None:
        if self.is_closing:
            raise ClientClosedError("the client is closed: make another one")

    def _wake(self) -> None:
        try:
            self._wake_in.send(b"w")
        except OSError:
            # Either the thread is about to wake anyway, or it has ended.
            pass

    # Of the thread that reads.

    def fileno(self) -> int:
        return self._wake_out.fileno()

    def clear_wake(self) -> None:
        try:
            while self._wake_out.recv(4096):
                pass
        except BlockingIOError:
            pass

    @property
    def has_work(self) -> bool:
        return bool(self._queue or self._adopted)

    def take(self) -> Optional[Batch]:
        """The next submission."""
        with self._lock:
            if not self._queue:
                return None
            if len(self._queue) == N_QUEUED_MAX // 2:
                self._changed.notify_all()
            return self._queue.popleft()

    def take_queued(self) -> list[Batch]:
        """All submissions that were not taken."""
        with self._lock:
            queued = [*self._queue]
            self._queue.clear()
            return queued

    def take_adopted(self) -> list[Batch]:
        with self._lock:
            adopted, self._adopted = self._adopted, []
            return adopted

    def take_canceled(self) -> list[Any]:
        """Futures that were canceled before their tasks had names, and whose submissions have been answered since."""
        with self._lock:
            named = [future for future in self._to_cancel if future._batch.named.is_set()]
            if named:
                self._to_cancel = [future for future in self._to_cancel if not future._batch.named.is_set()]
            return named

    def put_back_canceled(self, futures: list[Any]) -> None:
        with self._lock:
            self._to_cancel += futures

    def name(self, batch: Batch, home: str, first: int) -> None:
        """Gives names to the tasks of a submission."""
        with self._lock:
            batch.name(home, first)
            self._n_unnamed -= 1
            self._changed.notify_all()

    def fail(self, batch: Batch, error: BaseException) -> None:
        """Ends the futures of a submission that has no tasks."""
        with self._lock:
            self._n_unnamed -= 1
            self._changed.notify_all()
        batch.fail(error)
