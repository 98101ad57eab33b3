"""Tasks of one submission, and the futures of each."""

from __future__ import annotations

import threading
from typing import Any, Optional

from .errors import TaskFailedError
from .futures import Future
from .messages import EndedTask
from .sent_calls import SentCalls


class Batch:
    """Tasks of one submission. Only the client's thread changes it once it was handed over."""

    def __init__(
        self, futures: list[list[Future]], submission: dict[str, Any], calls: Optional[SentCalls] = None
    ) -> None:
        #: Futures of each task: several where a task has a chunk of calls.
        self.futures = futures
        self.submission = submission
        self.calls = calls
        #: Set when the tasks have names, or have none because of `error`.
        self.named = threading.Event()
        self.error: Optional[BaseException] = None
        self.home = ""
        self.first = 0
        for idx, group in enumerate(futures):
            for future in group:
                future._batch, future._idx = self, idx

    @property
    def is_named(self) -> bool:
        return self.named.is_set() and self.error is None

    @property
    def last(self) -> int:
        return self.first + len(self.futures) - 1

    @property
    def is_canceled(self) -> bool:
        """True if nobody wants any of its tasks any more."""
        return all(future.cancelled() for group in self.futures for future in group)

    def name_of(self, idx: int) -> str:
        return f"{self.home}.{self.first + idx}"

    def name(self, home: str, first: int) -> None:
        self.home, self.first = home, first
        self.named.set()

    def fail(self, error: BaseException) -> None:
        """Ends the futures of tasks that have none."""
        self.error = error
        self.named.set()
        if self.calls is not None:
            self.calls.remove()
        for idx in range(len(self.futures)):
            self.fail_task(idx, error)

    def fail_task(self, idx: int, error: BaseException) -> None:
        """Ends the futures of a task of which nothing more is known."""
        for future in self.futures[idx]:
            future._end(error=error)

    def end(self, idx: int, ended: EndedTask) -> None:
        """Gives the futures of a task their results."""
        group = self.futures[idx]
        outcomes: list[tuple[bool, Any]]
        if self.calls is not None:
            ended, outcomes = self.calls.take(ended)
        elif ended.outcome.ok:
            outcomes = [(True, ended)]
        else:
            outcomes = [(False, TaskFailedError.of(ended))]
        if len(outcomes) != len(group):
            # Either all fail for one reason, or one future stands for the whole chunk.
            outcomes = outcomes * len(group) if len(outcomes) == 1 else [_whole(outcomes)]
        for future, (is_value, value) in zip(group, outcomes):
            future._ended = ended
            if ended.outcome.kind == "canceled":
                future._set_canceled()
            elif is_value:
                future._end(value)
            else:
                future._end(error=value)


def _whole(outcomes: list[tuple[bool, Any]]) -> tuple[bool, Any]:
    failed = [value for is_value, value in outcomes if not is_value]
    return (False, failed[0]) if failed else (True, [value for _, value in outcomes])
