"""Errors, each with a sentence that names the thing and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .messages import EndedTask


class SintoniaError(Exception):
    """Base of all errors of this package."""


class NoDaemonError(SintoniaError, ConnectionError):
    """No daemon answers."""


class RefusedError(SintoniaError):
    """The daemon refuses a request; the message is the daemon's sentence."""


class VersionError(RefusedError):
    """Daemon and client speak different versions of the protocol."""


class UncertainError(SintoniaError):
    """The daemon ended before it said whether it has taken a submission."""


class ClientClosedError(SintoniaError):
    """The client was closed, or belongs to another process."""


class DependencyError(SintoniaError):
    """A task was not submitted because one that it was to follow did not succeed; that one's error is `__cause__`."""

    def __init__(self, sentence: str, future: Any = None) -> None:
        super().__init__(sentence)
        #: The input that did not succeed.
        self.future = future


class SerializationError(SintoniaError, TypeError):
    """A function, argument or result cannot be pickled."""


class ResultError(SintoniaError):
    """A function's task ended without a result that can be read."""


class TaskFailedError(SintoniaError):
    """A task failed: it exited with another code than 0, died by a signal, was not started, or was lost too often."""

    def __init__(self, sentence: str, ended: EndedTask) -> None:
        super().__init__(sentence)
        #: The task's end: outcome, node, output.
        self.ended = ended

    @classmethod
    def of(cls, ended: EndedTask) -> TaskFailedError:
        """Error with what became of the task, and the last lines of its standard error."""
        stderr = ended.stderr.rstrip().splitlines()[-3:]
        more = "".join(f"\n  {line}" for line in stderr) if len(stderr) > 1 else ""
        return cls(ended.sentence() + more, ended)


class RemoteTraceback(Exception):
    """Traceback of an exception on the node where it was raised; `__cause__` of that exception here."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'
