"""Calls of functions that were handed over: their file, and the results that come back."""

from __future__ import annotations

import fcntl
import os
import pickle
import secrets
import shutil
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, Optional, Sequence

from . import calls
from .errors import RemoteTraceback, ResultError, SintoniaError, TaskFailedError
from .messages import EndedTask

#: Age in seconds after which folders are removed that a client left behind with tasks that had not ended.
LEFT_BEHIND_S = 7 * 24 * 3600.0


class DataFolder:
    """Folder for calls and results that are too long for messages: one for each client, made when it is needed."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._path: Optional[str] = None
        self._lock_file: Any = None
        self._making = threading.Lock()

    @property
    def parent(self) -> str:
        return str(self._parent)

    def path(self) -> str:
        """The folder, which is made now if need be."""
        with self._making:
            if self._path is None:
                host = socket.gethostname().split(".")[0]
                path = self._parent / f"{host}-{os.getpid()}-{secrets.token_hex(4)}"
                path.mkdir(mode=0o700, parents=True)
                # The lock tells other clients that this one lives.
                self._lock_file = open(path / "lock", "w")
                fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._path = os.path.realpath(path)
                self._remove_left_behind()
            return self._path

    def close(self, is_used: bool) -> None:
        """Removes the folder, unless tasks still use it."""
        with self._making:
            if self._path is not None and not is_used:
                shutil.rmtree(self._path, ignore_errors=True)
            if self._lock_file is not None:
                self._lock_file.close()
            self._path = None

    def forget_in_child(self) -> None:
        """Closes this process's copy of the lock after a fork; the other process still holds it."""
        if self._lock_file is not None:
            self._lock_file.close()

    def _remove_left_behind(self) -> None:
        until = time.time() - LEFT_BEHIND_S
        for lock in self._parent.glob("*-*-*/lock"):
            try:
                if lock.stat().st_mtime < until:
                    with open(lock) as file:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        shutil.rmtree(lock.parent, ignore_errors=True)
            except OSError:
                continue


class SentCalls:
    """Calls of one submission."""

    def __init__(self, folder: DataFolder, function: bytes, packed: Sequence[bytes], by_file: bool) -> None:
        self._token: Optional[str] = secrets.token_hex(16)
        self._folder: Optional[str]
        self._file: Optional[str] = None
        self._n_left = len(packed)
        # A short call may have a long result, for which the worker needs the folder.
        self._folder = folder.path()
        header = calls.Header(self._token, _module_path(), self._folder, by_file)
        piece = calls.pack(header, function, list(packed))
        if len(piece) <= calls.INLINE_CALLS_BYTES_MAX:
            self.word = calls.inline(piece)
        else:
            self._file = os.path.join(self._folder, f"{self._token}.calls")
            calls.write_file(self._file, piece)
            self.word = f"file:{self._file}"

    @classmethod
    def unknown(cls) -> SentCalls:
        """Calls that another client handed over."""
        own = cls.__new__(cls)
        own._token, own._folder, own._file, own._n_left, own.word = None, None, None, 0, ""
        return own

    def run_again(self, n_tasks: int) -> None:
        """Notes that further tasks use the file."""
        self._n_left += n_tasks

    def take(self, ended: EndedTask) -> tuple[EndedTask, list[tuple[bool, Any]]]:
        """The end of a task without the result in its output, and the outcome of each of its calls; removes its files."""
        found = calls.find(ended.stdout_bytes, self._token)
        ended = EndedTask(**{**ended.__dict__, "stdout_bytes": found.stdout})
        path = found.path
        if path is None and not ended.has_output and self._folder is not None:
            path = os.path.join(self._folder, f"{ended.task}.result")
            path = path if os.path.exists(path) else None
        try:
            result = found.result if path is None else _taken(path)
            if result is None:
                # Its file stays until the client is closed, for `rerun`.
                return ended, [(False, _without_result(ended))]
            self._n_left -= 1
            if self._n_left == 0:
                self.remove()
            return ended, [_outcome(*one) for one in pickle.loads(result)]
        except Exception as error:
            sentence = f"the result of `{ended.task}` cannot be read: {type(error).__name__}: {error}"
            failed = ResultError(sentence)
            failed.__cause__ = error
            return ended, [(False, failed)]

    def remove(self) -> None:
        """Removes the file of the calls."""
        if self._file is not None:
            _unlink(self._file)


def python_variables(environment: dict[str, str]) -> dict[str, str]:
    """Variables with which another Python finds this package, where it is not installed."""
    parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.basename(parent) in ("site-packages", "dist-packages"):
        return {}
    before = environment.get("PYTHONPATH")
    return {"PYTHONPATH": f"{parent}:{before}" if before else parent}


def _module_path() -> list[str]:
    return [os.path.abspath(entry) for entry in sys.path]


def _taken(path: str) -> bytes:
    with open(path, "rb") as file:
        content = file.read()
    _unlink(path)
    return content


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _without_result(ended: EndedTask) -> SintoniaError:
    if not ended.outcome.ok:
        return TaskFailedError.of(ended)
    if ended.json.get("is_brief"):
        return ResultError(f"`{ended.task}` ended so long ago that its output is no longer kept")
    return ResultError(
        f"`{ended.task}` exited with code 0 and without a result: the function ended the process, or its output was dropped"
    )


def _outcome(is_value: bool, value: Any) -> tuple[bool, Any]:
    if is_value:
        return True, value
    pickled, sentence, traceback = value
    error: BaseException
    try:
        error = pickle.loads(pickled)
    except Exception:
        error = ResultError(f"the function raised an exception that cannot be pickled: {sentence}")
    error.__cause__ = RemoteTraceback(traceback)
    return False, error
