"""Hands commands and calls over to the client's thread, once the futures among their arguments are done."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from . import calls
from .batch import Batch
from .engine import Engine
from .errors import ClientClosedError
from .futures import Future
from .graph import Hold, inputs_of, with_results
from .messages import EndedTask, tasks_name
from .options import Array, TaskOptions, array_range, words
from .pickling import dumps
from .sent_calls import DataFolder, SentCalls, python_variables

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("sintonia")

#: Most futures that are made at once, as many as an array has tasks.
_N_FUTURES_MAX = 10_000_000

#: Positional and keyword arguments.
Call = tuple[tuple[Any, ...], dict[str, Any]]
#: Futures that must have succeeded before, and futures that must have ended.
Order = tuple[Sequence[Any], Sequence[Any]]


class Submitter:
    """Makes futures and their submissions, and holds back those whose inputs are not ready."""

    def __init__(self, engine: Engine, data: DataFolder, python: str) -> None:
        self._engine, self._data, self._python = engine, data, python
        self._released = threading.Condition()
        self._held: set[Future] = set()

    def call(
        self, client: Client, function: Callable[..., Any], call: Call, options: TaskOptions, order: Order
    ) -> Future:
        """Calls a function once its inputs are ready."""
        future = Future(client, options.name or _title(function))

        def hand_over() -> None:
            self._hand_over_calls([[future]], function, [[with_results(call)]], options)

        self._when_ready([future], inputs_of(call), order, hand_over)
        return future

    def map(
        self,
        client: Client,
        function: Callable[..., Any],
        items: Sequence[Sequence[Any]],
        chunk: int,
        options: TaskOptions,
    ) -> list[Future]:
        """Calls a function for each item: all chunks that are ready as one array, each other one when it is ready."""
        title = options.name or _title(function)
        futures = [Future(client, title) for _ in items]
        groups = [futures[begin : begin + chunk] for begin in range(0, len(items), chunk)]
        all_calls: list[Any] = [(tuple(item), {}) for item in items]
        chunks = [all_calls[begin : begin + chunk] for begin in range(0, len(items), chunk)]
        inputs = [inputs_of(one) for one in chunks]
        ready = [idx for idx, needed in enumerate(inputs) if not needed]
        if ready:
            self._hand_over_calls([groups[idx] for idx in ready], function, [chunks[idx] for idx in ready], options)
        for idx, needed in enumerate(inputs):
            if needed:

                def hand_over(idx: int = idx) -> None:
                    self._hand_over_calls([groups[idx]], function, [with_results(chunks[idx])], options)

                self._when_ready(groups[idx], needed, ((), ()), hand_over)
        return futures

    def _hand_over_calls(
        self,
        groups: list[list[Future]],
        function: Callable[..., Any],
        chunks: Sequence[Sequence[Any]],
        options: TaskOptions,
    ) -> None:
        title = groups[0][0]._title
        pickled = dumps(function, f"the function `{title}`")
        packed = [dumps(chunk, f"an argument of `{title}`") for chunk in chunks]
        sent = SentCalls(self._data, pickled, packed, by_file=options.output is not None)
        variables = python_variables({**os.environ, **{k: v for k, v in options.environment.items() if v is not None}})
        submission = options.submission(
            [self._python, "-m", "sintonia.worker", sent.word],
            title=title,
            array=None if len(groups) == 1 else (0, len(groups) - 1),
            output_max=calls.OUTPUT_BYTES_MAX,
        )
        # Behind the user's variables, one of which may be the path of modules.
        submission["environment"] = [pair for pair in submission["environment"] if pair[0] not in variables]
        submission["environment"] += [[key, value] for key, value in variables.items()]
        self._engine.submit(Batch(groups, submission, sent))

    def command(
        self, client: Client, command: list[Any], options: TaskOptions, array: Optional[Array], order: Order
    ) -> Any:
        """Runs a command once its inputs are ready."""
        indices = None if array is None else array_range(array)
        n_tasks = 1 if indices is None else indices[1] - indices[0] + 1
        title = options.name or (os.path.basename(str(command[0])) if command else "")
        futures = [Future(client, title) for _ in range(n_tasks)]

        def hand_over() -> None:
            submission = options.submission(words(map(_as_word, command)), array=indices)
            self._engine.submit(Batch([[future] for future in futures], submission))

        self._when_ready(futures, inputs_of(command), order, hand_over)
        return futures[0] if array is None else futures

    def _when_ready(
        self,
        futures: list[Future],
        needed: Sequence[Any],
        order: Order,
        hand_over: Callable[[], None],
    ) -> None:
        """Hands over now, or when the inputs are ready."""
        after, after_any = order
        if not needed and not after and not after_any:
            hand_over()
            return

        def release() -> None:
            with self._released:
                self._held.difference_update(futures)
                self._released.notify_all()

        def go() -> None:
            if not all(future.cancelled() for future in futures):
                hand_over()
            release()

        def fail(error: BaseException) -> None:
            for future in futures:
                future._end(error=error)
            release()

        with self._released:
            self._held.update(futures)
        Hold([*needed, *after], after_any, go, fail)

    def wait_for_release(self, future: Future) -> None:
        """Waits until a future is no longer held back, for a while."""
        with self._released:
            self._released.wait_for(lambda: future not in self._held or future.done(), 1.0)

    def adopt(self, client: Client, home: str, first: int, last: int, sent: Optional[SentCalls]) -> list[Future]:
        """Futures of tasks that have names already."""
        if last - first >= _N_FUTURES_MAX:
            raise ValueError(f"`{tasks_name(home, first, last)}` has more than {_N_FUTURES_MAX} tasks: name fewer at once")
        futures = [Future(client, tasks_name(home, number, number)) for number in range(first, last + 1)]
        batch = Batch([[future] for future in futures], {}, sent)
        batch.name(home, first)
        self._engine.adopt(batch)
        return futures

    def close(self) -> None:
        """Ends the futures that are held back."""
        with self._released:
            held = [*self._held]
        if held:
            log.warning("%d tasks that waited for others were not submitted, because the client was closed", len(held))
        for future in held:
            future._end(error=ClientClosedError("the client was closed before its inputs were ready"))


def _title(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _as_word(word: Any) -> Any:
    """A word of a command; the result of a command is what it wrote, as in shells."""
    value = with_results(word)
    return value.stdout.rstrip("\n") if isinstance(value, EndedTask) else value
