"""Client of a node's daemon."""

from __future__ import annotations

import atexit
import concurrent.futures
import logging
import os
import sys
import threading
import weakref
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from .asking import Asker
from .connection import Message
from .engine import Engine
from .errors import ClientClosedError, SintoniaError
from .futures import Future, Tasks, end_of, listed, named_ranges
from .location import SOCKET, state_folder
from .messages import EndedTask, Explanation, NodeStatus, TaskStatus, parse_tasks, tasks_name
from .options import OUTPUT_MAX_DEFAULT, Array, TaskOptions, check_names, with_wishes
from .options import Path as AnyPath
from .sent_calls import DataFolder, SentCalls
from .submitting import Submitter

log = logging.getLogger("sintonia")

#: What is submitted: a function, or the words of a command.
Command = Sequence[Any]

#: Most tasks that are asked for at once.
_N_AT_ONCE = 1000
#: Longest time in seconds to hand over what is left when the process ends.
_AT_EXIT_S = 10.0

_clients: weakref.WeakSet[Client] = weakref.WeakSet()


class Client:
    """Connection to the daemon of a node, found as the command `sintonia` finds it: `node` (the daemon's folder or
    socket), else `SINTONIA_NODE`, in a task the node that it runs on, else the default folder.

    Leaving a `with` block hands over what was submitted, and leaves the tasks running; futures of those end with
    `ClientClosedError`.

    All methods may be called from any thread. After a fork the child has to make a client of its own: this one raises
    `ClientClosedError` there. If the daemon ends, calls and futures wait for it to come back, up to `reconnect` seconds;
    the logger `sintonia` says so.

    Calls of functions and results that are too long for a message go through files in `data_folder`, which all nodes
    must reach by that path; by default it is in the daemon's own folder. The files are removed when results have been taken.
    `python` is the interpreter that runs functions, and has to be there on all nodes.
    """

    def __init__(
        self,
        node: Optional[AnyPath] = None,
        *,
        data_folder: Optional[AnyPath] = None,
        reconnect: float = 60.0,
        python: str = sys.executable,
    ) -> None:
        state = state_folder(node)
        self._path = state / SOCKET
        self._pid = os.getpid()
        self._asker = Asker(self._path, reconnect)
        #: Name of the node.
        self.node: str = self._asker.node
        self._cancel_lock = threading.Lock()
        self._is_closed = False
        data = Path(os.path.abspath(data_folder)) if data_folder is not None else state.resolve() / "python"
        self._data = DataFolder(data)
        self._engine = Engine(self._path, self.node, reconnect)
        self._submitter = Submitter(self._engine, self._data, python)
        _clients.add(self)

    def __repr__(self) -> str:
        return f"<sintonia.Client of {self.node}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.close(within=None if kind is None else _AT_EXIT_S)

    def __del__(self) -> None:
        # No future refers to it any more, so nothing is left to hand over.
        if not getattr(self, "_is_closed", True):
            self.close(within=0)

    def __reduce__(self) -> Any:
        raise TypeError("a client cannot be pickled: make one where it is needed; in a task `Client()` finds its node")

    # Submission.

    def submit(
        self,
        what: Union[Callable[..., Any], Command],
        /,
        *args: Any,
        name: Optional[str] = None,
        folder: Optional[AnyPath] = None,
        environment: Optional[Mapping[str, Optional[str]]] = None,
        array: Optional[Array] = None,
        retry: int = 0,
        retry_delay: float = 1.0,
        restarts: int = 9,
        max_fails: Optional[int] = None,
        output: Optional[AnyPath] = None,
        output_max: int = OUTPUT_MAX_DEFAULT,
        after: Iterable[Any] = (),
        after_any: Iterable[Any] = (),
        resources: Optional[Mapping[str, Any]] = None,
        priority: int = 0,
        job: Optional[str] = None,
        fields: Optional[Mapping[str, Any]] = None,
        **kwargs: Any,
    ) -> Any:
        """Submits a function with its arguments, or a command as a list of words; returns a `Future`, for an array of
        commands a list of them.

        Returns at once; `Future.task` waits until the task is safe on disk. Futures among the arguments or words, also in
        lists, tuples and dictionaries, are waited for, and their results take their places: for a command what it wrote,
        without the last line end.

        Args:
            what: function or command.
            args: positional arguments of the function.
            name: title of the tasks in lists.
            folder: working folder; by default this process's.
            environment: variables in addition to this process's; `None` as value removes one.
            array: `range(1, 11)`, `(1, 10)` or `"1-10"`: a task for each index, in `SINTONIA_ARRAY_INDEX`.
            retry: most times that a task is tried again after it failed.
            retry_delay: time in seconds before that; it doubles each time.
            restarts: most times that a task is started again because its node was lost.
            max_fails: cancel the rest of the array when more than so many of its tasks failed.
            output: folder for files with all output, `TASK.out` and `TASK.err`.
            output_max: most bytes kept of each of the two outputs.
            after: futures that must have succeeded before; their results are not used.
            after_any: futures that must have ended before, whatever came of them.
            resources: what each task asks of its node: `{"cpus": 4, "memory": "8G", "gpus": 1, "nodes": 2, "time_limit": 3600}`,
                with times in seconds; other names are resources that nodes were started with.
            priority: tasks with a higher number go first.
            job: name of a job that several submissions may share.
            fields: further fields of the submission, as `docs/client-protocol.md` names them.
            kwargs: keyword arguments of the function; `functools.partial` binds those that have the names above.
        """
        wishes = with_wishes(fields or {}, resources or {}, priority, job)
        options = TaskOptions(
            name, folder, environment or {}, retry, retry_delay, restarts, max_fails, output, output_max, wishes
        )
        after, after_any = [*after], [*after_any]
        if callable(what):
            if array is not None:
                raise TypeError("an array is of commands: `Client.map` calls a function for each item")
            check_names(what, options)
            return self._submit_call(what, args, kwargs, options, after, after_any)
        if isinstance(what, (str, bytes)) or args or kwargs:
            raise TypeError('a command is one list of words: `["echo", "hello"]`, or `["sh", "-c", "echo hello"]`')
        self._check()
        return self._submitter.command(self, [*what], options, array, (after, after_any))

    def map(
        self,
        function: Callable[..., Any],
        *iterables: Iterable[Any],
        chunk: int = 1,
        name: Optional[str] = None,
        folder: Optional[AnyPath] = None,
        environment: Optional[Mapping[str, Optional[str]]] = None,
        retry: int = 0,
        retry_delay: float = 1.0,
        restarts: int = 9,
        max_fails: Optional[int] = None,
        output: Optional[AnyPath] = None,
        output_max: int = OUTPUT_MAX_DEFAULT,
        resources: Optional[Mapping[str, Any]] = None,
        priority: int = 0,
        job: Optional[str] = None,
        fields: Optional[Mapping[str, Any]] = None,
    ) -> list[Future]:
        """Calls the function for the items of the iterables, as `map` does; returns a future for each, in order.

        The calls are one array, of which each task takes `chunk` items one after the other. A task starts an interpreter,
        which takes about 0.05 s: choose the chunk so that a task computes much longer. Options are those of `submit`; with
        `retry` all items of a chunk are called again if one raised.
        """
        if chunk < 1:
            raise ValueError(f"`chunk` is {chunk}: use 1 or more")
        wishes = with_wishes(fields or {}, resources or {}, priority, job)
        options = TaskOptions(
            name, folder, environment or {}, retry, retry_delay, restarts, max_fails, output, output_max, wishes
        )
        return self._map(function, [*zip(*iterables)], chunk, options)

    def attach(self, tasks: Tasks, *, functions: bool = False) -> list[Future]:
        """Futures of tasks that were submitted before, by this or another client. With `functions`, of functions: their
        results are unpickled, so use it for your own tasks only."""
        self._check()
        futures: list[Future] = []
        for home, first, last in named_ranges(tasks):
            futures += self._adopt(home, first, last, SentCalls.unknown() if functions else None)
        return futures

    # Requests.

    def tasks(
        self,
        tasks: Optional[Tasks] = None,
        *,
        state: Optional[str] = None,
        outcome: Optional[str] = None,
        name: Optional[str] = None,
        home: Optional[str] = None,
    ) -> list[TaskStatus]:
        """Status of tasks: of these, or of all that were submitted to this node or to `home`.

        `state` is `queued`, `offered`, `leased`, `running` or `ended`; `outcome` is `succeeded`, `failed`, `canceled` or
        `lost`. Of tasks that ended long ago, only the outcome is kept: they are left out.
        """
        chosen = [None] if tasks is None else [tasks_name(*one) for one in named_ranges(tasks)]
        found: list[TaskStatus] = []
        for one in chosen:
            given = {"tasks": one, "state": state, "outcome": outcome, "title": name, "home": home}
            wanted = {key: value for key, value in given.items() if value is not None}
            request: Message = {"request": "tasks", "filter": wanted, "after": None, "n_max": _N_AT_ONCE}
            while "after" in request:
                answer = self._ask(request, "tasks")
                found += map(TaskStatus.of, answer["tasks"])
                request = {**request, "after": answer["next"]} if answer.get("next") is not None else {}
        return found

    def nodes(self) -> list[NodeStatus]:
        """Status of all nodes that this one knows."""
        return [*map(NodeStatus.of, self._ask({"request": "nodes"}, "nodes")["nodes"])]

    def explain(self, task: Union[str, Future]) -> Explanation:
        """Why a task is in its state, with its history."""
        name = task.task if isinstance(task, Future) else task
        return Explanation.of(self._ask({"request": "explain", "task": name}, "explained")["explanation"])

    def cancel(self, tasks: Tasks) -> int:
        """Ends tasks, wherever they are; returns how many had not ended."""
        several = listed(tasks)
        self._check()
        n_canceled, named = 0, [one for one in several if isinstance(one, str)]
        for future in several:
            if isinstance(future, str) or future.done():
                continue
            # Those without a name are canceled here, the others by as few requests as possible.
            if self._engine.cancel_before_sending(future):
                n_canceled += 1
            else:
                named.append(future.task)
        for home, first, last in named_ranges(named):
            request = {"request": "cancel", "tasks": tasks_name(home, first, last)}
            n_canceled += int(self._ask(request, "canceled")["n_tasks"])
        return n_canceled

    def rerun(self, tasks: Tasks, which: str = "failed") -> list[Future]:
        """Submits ended tasks again, as new ones: those that `failed`, the `unsuccessful` ones (failed or canceled), or
        `all`. Returns a future for each; of a chunk of `map`, for the list of its results.

        Functions can be run again whose results have not been taken: those that were canceled, or lost with their process.
        """
        several = listed(tasks)
        by_calls: dict[int, tuple[Optional[SentCalls], list[Union[str, Future]]]] = {}
        for one in several:
            sent = one._batch.calls if isinstance(one, Future) and one._batch is not None else None
            by_calls.setdefault(id(sent), (sent, []))[1].append(one)
        futures = []
        for sent, group in by_calls.values():
            for home, first, last in named_ranges(group):
                request = {"request": "rerun", "tasks": tasks_name(home, first, last), "which": which}
                answer = self._ask(request, "submitted", may_repeat=False)
                new_home, new_first, new_last = parse_tasks(answer["tasks"])
                if sent is not None:
                    sent.run_again(new_last - new_first + 1)
                futures += self._adopt(new_home, new_first, new_last, sent)
        return futures

    def wait(self, tasks: Tasks, timeout: Optional[float] = None) -> list[EndedTask]:
        """Waits until all of these tasks have ended; returns their ends, with what they wrote.

        Raises `concurrent.futures.TimeoutError` after `timeout` seconds, and if nothing is known of a task the daemon's
        refusal. A task that failed is no error here: see `EndedTask.outcome`.
        """
        several = listed(tasks)
        futures: list[Future] = []
        for one in several:
            futures += [one] if isinstance(one, Future) else self.attach(one)
        self._check_may_wait(False)
        _, not_done = concurrent.futures.wait(futures, timeout)
        if not_done:
            raise concurrent.futures.TimeoutError(f"{len(not_done)} of {len(futures)} tasks have not ended")
        return [end_of(self, future) for future in futures]

    def flush(self, timeout: Optional[float] = None) -> bool:
        """Waits until all that was submitted is safe on the daemon's disk, or refused; false after `timeout` seconds. Tasks
        that wait for futures are not submitted yet."""
        self._check()
        return self._engine.flush(timeout)

    def close(self, within: Optional[float] = None) -> None:
        """Hands over what was submitted, for at most `within` seconds, and closes the connections. Tasks go on."""
        if self._is_closed or os.getpid() != self._pid:
            return
        self._is_closed = True
        if not self._engine.flush(within):
            log.warning("the daemon has not taken all submissions; `sintonia tasks` lists those that it has")
        self._submitter.close()
        is_used = self._engine.has_open_calls
        self._engine.close()
        self._data.close(is_used)
        self._asker.close()

    # What futures and the executor use.

    def _submit_call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        options: TaskOptions,
        after: Sequence[Any] = (),
        after_any: Sequence[Any] = (),
    ) -> Future:
        self._check()
        return self._submitter.call(self, function, (tuple(args), dict(kwargs)), options, (after, after_any))

    def _map(
        self, function: Callable[..., Any], items: Sequence[Sequence[Any]], chunk: int, options: TaskOptions
    ) -> list[Future]:
        self._check()
        return self._submitter.map(self, function, items, chunk, options)

    def _wait_for_release(self, future: Future) -> None:
        self._submitter.wait_for_release(future)

    def _adopt(self, home: str, first: int, last: int, sent: Optional[SentCalls]) -> list[Future]:
        return self._submitter.adopt(self, home, first, last, sent)

    def _cancel_future(self, future: Future) -> bool:
        self._check()
        if future.done():
            return future.cancelled()
        if self._engine.cancel_before_sending(future):
            return True
        batch = future._batch
        if batch is None or not batch.is_named:
            return future.cancelled()
        answer = self._ask({"request": "cancel", "tasks": batch.name_of(future._idx)}, "canceled")
        return bool(answer["n_tasks"]) and future._set_canceled()

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise ClientClosedError(
                f"the client belongs to process {self._pid}, of which this is a fork: make one with `sintonia.Client()` here"
            )
        if self._is_closed:
            raise ClientClosedError("the client is closed: make another one")

    def _check_may_wait(self, is_ready: bool) -> None:
        if is_ready:
            return
        if os.getpid() != self._pid:
            self._check()
        if self._engine.is_own_thread:
            raise SintoniaError("a callback must not wait for a task: only the thread that it would hold up can end it")

    def _ask(self, message: Message, expected: str, may_repeat: bool = True) -> Message:
        self._check()
        return self._asker.ask(message, expected, may_repeat)

    def _after_fork(self) -> None:
        self._engine.forget_in_child()
        self._asker.forget_in_child()
        self._data.forget_in_child()


def _close_all() -> None:
    for client in list(_clients):
        client.close(within=_AT_EXIT_S)


def _after_fork_in_child() -> None:
    for client in list(_clients):
        client._after_fork()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork_in_child)
