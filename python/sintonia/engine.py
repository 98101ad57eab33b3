"""The client's own thread: hands submissions over, waits for the ends of tasks, and comes back when the daemon does.

# Invariants
- Only this thread uses its connections. Others put submissions into a queue, which has a bound.
- A submission whose answer did not arrive is not repeated: the daemon may have taken it.
- Every future ends: with its task, with the refusal of the daemon, or when the daemon stays away for too long.
"""

from __future__ import annotations

import logging
import selectors
import threading
import time
from collections import deque
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, Callable, Iterable, Optional

from .asking import BACK_OFF_S
from .batch import Batch
from .connection import Connection, ConnectionEnded, Line, Message, frame
from .errors import ClientClosedError, NoDaemonError, RefusedError, SintoniaError, UncertainError
from .inbox import Inbox
from .messages import EndedTask, tasks_name
from .waits import MORE, Wait, ranges

log = logging.getLogger("sintonia")

#: Most submissions on their way at once: the daemon keeps 16 answers for a client.
N_ON_THEIR_WAY_MAX = 12


class Engine:
    """Thread that serves the futures of one client."""

    def __init__(self, path: Path, node: str, reconnect_s: float) -> None:
        self._path, self._node, self._reconnect_s = path, node, reconnect_s
        self._inbox = Inbox()
        self._starting = threading.Lock()
        self._thread: Optional[threading.Thread] = None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._inbox, selectors.EVENT_READ)
        # What follows belongs to the thread.
        self._submitting: Optional[Line] = None
        self._on_their_way: deque[Batch] = deque()
        self._waits: list[Wait] = []
        self._open: dict[tuple[str, int], Batch] = {}
        self._back_off_s = BACK_OFF_S[0]
        self._lost_since: Optional[float] = None
        self._try_at = 0.0

    # Of any thread.

    def submit(self, batch: Batch) -> None:
        """Queues a submission; waits while very many are queued."""
        self._inbox.put(batch, may_wait=not self.is_own_thread)
        self._start()

    def adopt(self, batch: Batch) -> None:
        """Waits for tasks that have names already."""
        self._inbox.adopt(batch)
        self._start()

    def cancel_before_sending(self, future: Any) -> bool:
        """Cancels a future whose task has no name yet; false if it has one."""
        return self._inbox.cancel(future)

    @property
    def is_own_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def flush(self, timeout: Optional[float] = None) -> bool:
        """Waits until all that was submitted is on the daemon's disk, or refused."""
        return self._inbox.flush(0.0 if self.is_own_thread else timeout)

    def close(self) -> None:
        """Ends the thread; futures of tasks that go on end with an error."""
        self._inbox.close()
        with self._starting:
            thread = self._thread
        if thread is None:
            self._close_files()
        elif not self.is_own_thread:
            thread.join()

    @property
    def has_open_calls(self) -> bool:
        """True if functions have not ended."""
        return any(batch.calls is not None for batch in list(self._open.values()))

    def forget_in_child(self) -> None:
        """Closes this process's copies of the files after a fork."""
        self._close_files()

    def _close_files(self) -> None:
        for line in [self._submitting, *(wait.line for wait in self._waits)]:
            if line is not None:
                line.close()
        self._inbox.close_files()
        self._selector.close()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sintonia", daemon=True)
                self._thread.start()

    # Of the thread.

    def _run(self) -> None:
        try:
            while not self._inbox.is_closing:
                try:
                    self._turn()
                except ConnectionEnded:
                    self._lose()
            self._end_all(
                lambda name: ClientClosedError(
                    f"the client was closed; `{name}` goes on: `Client().attach` waits for it"
                    if name
                    else "the client was closed before the daemon had taken the task"
                )
            )
        except BaseException as error:
            log.exception("the thread of the client failed")
            failed = SintoniaError(f"the thread of the client failed: {error!r}")
            self._inbox.close()
            self._end_all(lambda _: failed)
        finally:
            self._close_files()

    def _turn(self) -> None:
        """Sends what there is to send, and handles what arrives until there is more to send."""
        if self._has_work and not self._is_connected:
            self._connect()
        if self._is_connected:
            self._send_submissions()
            self._cancel_named()
            self._open_tasks(self._inbox.take_adopted())
            for wait in self._waits:
                wait.send_new()
        for line in [self._submitting, *(wait.line for wait in self._waits)]:
            if line is not None:
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if line.has_unsent else 0)
                self._selector.modify(line, events)
        for key, events in self._selector.select(self._pause_s()):
            self._handle(key.fileobj, events)

    @property
    def _has_work(self) -> bool:
        return bool(self._on_their_way or self._open or self._inbox.has_work)

    @property
    def _is_connected(self) -> bool:
        return self._submitting is not None

    def _pause_s(self) -> Optional[float]:
        if self._is_connected or not self._has_work:
            return None
        return max(0.0, self._try_at - time.monotonic())

    def _handle(self, source: Any, events: int) -> None:
        if source is self._inbox:
            self._inbox.clear_wake()
            return
        if events & selectors.EVENT_WRITE:
            source.flush()
        if not events & selectors.EVENT_READ:
            return
        for message in source.receive():
            if source is self._submitting:
                self._on_submitted(message)
            else:
                for wait in self._waits:
                    if wait.line is source:
                        self._on_wait_answer(wait, message)
                        break

    # Connections.

    def _connect(self) -> None:
        if time.monotonic() < self._try_at:
            return
        try:
            self._submitting = self._line()
            by_home: dict[str, list[int]] = {}
            for home, number in self._open:
                by_home.setdefault(home, []).append(number)
            for home, numbers in by_home.items():
                self._wait_for(home, numbers)
        except ConnectionEnded as error:
            self._drop_all()
            self._is_away(error.__cause__ or NoDaemonError("the daemon ended"))
            return
        if self._submitting.node != self._node:
            name = self._submitting.node
            self._drop_all()
            self._fail_all(
                SintoniaError(f"the daemon at `{self._path}` is now `{name}`, and not `{self._node}`: make a new client")
            )
            return
        if self._lost_since is not None:
            log.warning("the daemon is back after %.1f s", time.monotonic() - self._lost_since)
        self._lost_since, self._back_off_s, self._try_at = None, BACK_OFF_S[0], 0.0

    def _line(self) -> Line:
        try:
            line = Line(self._path)
        except (NoDaemonError, RefusedError) as error:
            raise ConnectionEnded from error
        self._selector.register(line, selectors.EVENT_READ)
        return line

    def _ask(self, message: Message) -> Message:
        """Asks over a connection of its own, which is seldom needed."""
        try:
            connection = Connection(self._path)
        except (NoDaemonError, RefusedError) as error:
            raise ConnectionEnded from error
        try:
            return connection.ask(message)
        finally:
            connection.close()

    def _is_away(self, error: BaseException) -> None:
        """Tries again later, up to a time."""
        lost_since, now = self._note_absence("no daemon answers"), time.monotonic()
        if now - lost_since >= self._reconnect_s:
            # Tasks that have a name are safe, and can be waited for again.
            self._fail_all(error)
            self._lost_since, self._back_off_s = None, BACK_OFF_S[0]
            return
        self._try_at = now + self._back_off_s
        self._back_off_s = min(2 * self._back_off_s, BACK_OFF_S[1])

    def _lose(self) -> None:
        """The daemon has closed a connection."""
        if self._has_work:
            self._note_absence("the daemon ended")
        self._drop_all()
        while self._on_their_way:
            self._inbox.fail(
                self._on_their_way.popleft(),
                UncertainError(
                    "the daemon ended before it said whether it has taken the submission: `sintonia tasks` lists it if so"
                ),
            )

    def _note_absence(self, what: str) -> float:
        """Says that the daemon is away, once; returns since when."""
        if self._lost_since is None:
            self._lost_since = time.monotonic()
            log.warning("%s; waiting up to %.1f s for it to come back (`sintonia node start`)", what, self._reconnect_s)
        return self._lost_since

    def _drop_all(self) -> None:
        if self._submitting is not None:
            self._drop(self._submitting)
            self._submitting = None
        while self._waits:
            self._drop(self._waits.pop().line)

    def _drop(self, line: Line) -> None:
        self._selector.unregister(line)
        line.close()

    def _fail_all(self, error: BaseException) -> None:
        def named(name: str) -> BaseException:
            if not name:
                return error
            return NoDaemonError(f"{error}; `{name}` goes on when the daemon is back: `Client().attach` waits for it again")

        self._end_all(named)

    def _end_all(self, error_of: Callable[[str], BaseException]) -> None:
        """Ends all futures with errors."""
        adopted = self._inbox.take_adopted()
        for batch in [*self._on_their_way, *self._inbox.take_queued()]:
            self._inbox.fail(batch, error_of(""))
        self._on_their_way.clear()
        while self._open:
            (home, number), batch = self._open.popitem()
            batch.fail_task(number - batch.first, error_of(f"{home}.{number}"))
        for batch in adopted:
            for idx in range(len(batch.futures)):
                batch.fail_task(idx, error_of(batch.name_of(idx)))

    # Submissions.

    def _send_submissions(self) -> None:
        line = self._submitting
        while line is not None and len(self._on_their_way) < N_ON_THEIR_WAY_MAX:
            batch = self._inbox.take()
            if batch is None:
                return
            if batch.is_canceled:
                self._inbox.fail(batch, CancelledError())
                continue
            try:
                framed = frame({"request": "submit", "submission": batch.submission})
            except (RefusedError, TypeError, ValueError) as error:
                self._inbox.fail(batch, error)
                continue
            batch.submission = {}
            self._on_their_way.append(batch)
            line.send(framed)

    def _on_submitted(self, message: Message) -> None:
        batch = self._on_their_way.popleft()
        if message["answer"] != "submitted":
            self._inbox.fail(batch, RefusedError(message.get("sentence", f"unexpected answer `{message['answer']}`")))
            return
        home, _, numbers = message["tasks"].rpartition(".")
        self._inbox.name(batch, home, int(numbers.partition("-")[0]))
        self._open_tasks([batch])

    def _open_tasks(self, batches: list[Batch]) -> None:
        # All are noted before the first wait, which may find that the daemon has ended.
        for batch in batches:
            for number in range(batch.first, batch.last + 1):
                self._open[batch.home, number] = batch
        for batch in batches:
            self._wait_for(batch.home, range(batch.first, batch.last + 1))

    def _cancel_named(self) -> None:
        """Cancels tasks that were canceled while they had no name yet."""
        named = self._inbox.take_canceled()
        numbers = {future._batch.first + future._idx for future in named if future._batch.is_named}
        try:
            for first, last in ranges(numbers):
                self._ask({"request": "cancel", "tasks": tasks_name(self._node, first, last)})
        except ConnectionEnded:
            self._inbox.put_back_canceled(named)
            raise

    # Ends.

    def _wait_for(self, home: str, numbers: Iterable[int]) -> None:
        """Waits for these tasks: those of the own node over one connection, each range of others over its own."""
        is_own = home == self._node
        for first, last in ranges(numbers):
            wait = next((wait for wait in self._waits if is_own and wait.home == home), None)
            if wait is None:
                wait = Wait(home, self._line())
                self._waits.append(wait)
            wait.add(first, last)

    def _on_wait_answer(self, wait: Wait, message: Message) -> None:
        if message["answer"] != "ended":
            self._end_wait(wait)
            self._ask_for_each(wait.home, wait.take_all(self._open))
            return
        wait.n_answers += 1
        ended = [EndedTask.of(wait.home, task) for task in message["tasks"]]
        n_left = message["n_left"]
        if n_left:
            # The next answer is on its way while this one is handled.
            wait.line.send(MORE)
        for task, json in zip(ended, message["tasks"]):
            batch = self._open.pop((wait.home, json["number"]), None)
            if batch is not None:
                batch.end(json["number"] - batch.first, task)
        if not n_left:
            forgotten = wait.take_told(self._open)
            if wait.home != self._node:
                self._end_wait(wait)
            if forgotten:
                self._ask_for_each(wait.home, forgotten)

    def _end_wait(self, wait: Wait) -> None:
        self._waits.remove(wait)
        self._drop(wait.line)

    def _ask_for_each(self, home: str, numbers: list[int]) -> None:
        """Asks for tasks one by one that a wait refused or left out, and waits for the others again."""
        open_still = []
        for number in numbers:
            name = f"{home}.{number}"
            answer = self._ask({"request": "result", "task": name})
            if answer["answer"] == "ended" and not answer["tasks"]:
                open_still.append(number)
                continue
            batch = self._open.pop((home, number))
            if answer["answer"] == "ended":
                batch.end(number - batch.first, EndedTask.of(home, answer["tasks"][0]))
            else:
                sentence = answer.get("sentence", "unexpected answer")
                batch.fail_task(number - batch.first, RefusedError(f"nothing is known about `{name}`: {sentence}"))
        self._wait_for(home, open_still)
