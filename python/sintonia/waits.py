"""Waits for ends of tasks, each over a connection of its own."""

from __future__ import annotations

from typing import Any, Iterable

from .connection import Line, frame
from .messages import tasks_name

MORE = frame({"request": "more"})


class Wait:
    """Connection over which the ends of tasks of one home arrive. Tasks are added while it waits."""

    def __init__(self, home: str, line: Line) -> None:
        self.home, self.line = home, line
        self.n_answers = 0
        self._new: list[tuple[int, int]] = []
        #: Ranges with the number of answers that had arrived when they were asked for.
        self._asked: list[tuple[int, int, int]] = []

    def add(self, first: int, last: int) -> None:
        if self._new and self._new[-1][1] + 1 == first:
            self._new[-1] = (self._new[-1][0], last)
        else:
            self._new.append((first, last))

    def send_new(self) -> None:
        for first, last in self._new:
            tasks = tasks_name(self.home, first, last)
            self._asked.append((first, last, self.n_answers))
            self.line.send(frame({"request": "wait", "tasks": tasks, "with_output": True}))
        self._new.clear()

    def take_told(self, open_tasks: dict[tuple[str, int], Any]) -> list[int]:
        """Open tasks of which this wait should have told, now that it has ended. One that was asked for after the last but one
        answer may be in a wait that has begun since."""
        told = [one for one in self._asked if one[2] < self.n_answers - 1]
        self._asked = [one for one in self._asked if one[2] >= self.n_answers - 1]
        return self._numbers_in(open_tasks, [(first, last) for first, last, _ in told])

    def take_all(self, open_tasks: dict[tuple[str, int], Any]) -> list[int]:
        """All open tasks of this wait."""
        asked = [(first, last) for first, last, _ in self._asked]
        return self._numbers_in(open_tasks, [*asked, *self._new])

    def _numbers_in(self, open_tasks: dict[tuple[str, int], Any], among: list[tuple[int, int]]) -> list[int]:
        numbers = sorted(number for home, number in open_tasks if home == self.home)
        return [number for number in numbers if any(first <= number <= last for first, last in among)]


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Ranges of consecutive numbers."""
    found: list[tuple[int, int]] = []
    if isinstance(numbers, range):
        return [(numbers[0], numbers[-1])] if numbers else []
    for number in sorted(numbers):
        if found and found[-1][1] + 1 == number:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
