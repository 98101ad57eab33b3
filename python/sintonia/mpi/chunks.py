"""Chunks of calls as they are sent, and their outcomes.

A chunk is a list of segments, each of calls of one function. Its outcome has one result for each call in order, as far as the
worker came: after some time it hands back what it has not begun, so that calls which take longer than those before them are
divided anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from .failures import Failure
from .functions import Record


class Form:
    """What the calls of a segment are."""

    #: An argument each.
    EACH = 0
    #: A tuple of arguments each.
    STAR = 1
    #: A tuple of arguments and a dictionary each.
    CALL = 2
    #: Number of calls that are not wanted any more.
    SKIP = 3


class Segment(NamedTuple):
    """Calls of one function."""

    function: int
    #: Function itself, where the worker may not have it.
    record: Optional[Record]
    #: One of `Form`.
    form: int
    #: True where each call is pickled by itself; `None` stands for one that could not be.
    is_packed: bool
    #: Number of calls that stay together.
    n_together: int
    calls: Any

    def takes(self, other: Segment) -> bool:
        """True where the calls of the other one can be appended."""
        is_list = self.form == Form.CALL and not self.is_packed
        return is_list and self[:5] == other[:5]

    def n_calls(self) -> int:
        """Number of calls."""
        return self.calls if self.form == Form.SKIP else len(self.calls)


class Outcome(NamedTuple):
    """Results of the first calls of a chunk, in order."""

    results: list[Any]
    #: Failures of some of them, by position.
    failures: dict[int, Failure]
    #: True if a failure is that of an initializer.
    is_pool_broken: bool = False
    #: True if the chunk cannot be unpickled: its calls come again, each pickled by itself.
    is_unreadable: bool = False
    #: Rank of the worker.
    rank: int = 0
