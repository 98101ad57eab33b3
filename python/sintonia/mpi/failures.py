"""Exceptions of tasks, as they travel back: pickled where that can be, with their traceback."""

from __future__ import annotations

import pickle
import traceback
from concurrent.futures import BrokenExecutor
from typing import Any, Optional

from ..errors import RemoteTraceback, SintoniaError


class BrokenPool(SintoniaError, BrokenExecutor):
    """The workers are gone, or the initializer of an executor failed: no task can be done any more."""


class TaskError(SintoniaError):
    """Takes the place of an exception that cannot be pickled."""


#: Pickled exception if it can be, its name and text, traceback.
Failure = tuple[Optional[bytes], str, str]


def packed(error: BaseException, n_own_frames: int = 1) -> Failure:
    """An exception for its way back; the first frames, of this package, say nothing about the task."""
    frames = error.__traceback__
    for _ in range(n_own_frames):
        frames = frames and frames.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    try:
        pickled = pickle.dumps(error)
        # Exceptions whose constructor takes other arguments are pickled, and cannot be read again.
        pickle.loads(pickled)
    except Exception:
        return None, f"{type(error).__name__}: {error}", text
    return pickled, f"{type(error).__name__}: {error}", text


def unpacked(failure: Failure) -> BaseException:
    """The exception again, with the traceback of the worker as its cause."""
    pickled, name, text = failure
    error: Any = TaskError(name)
    if pickled is not None:
        try:
            error = pickle.loads(pickled)
        except Exception:
            pass
    error.__cause__ = RemoteTraceback(text)
    return error
