"""What a daemon tells of tasks and nodes. Times are milliseconds since 1970.

Fields that a newer daemon adds are in `json`, which is the message as it came.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field, fields
from typing import Any, Optional, Union

_NAME = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)\.([1-9][0-9]*)(?:-([1-9][0-9]*))?")


def parse_tasks(name: str) -> tuple[str, int, int]:
    """Home, first and last number of `HOME.NUMBER` or `HOME.FIRST-LAST`."""
    match = _NAME.fullmatch(name)
    first, last = (int(match[2]), int(match[3] or match[2])) if match else (1, 0)
    if match is None or last < first:
        raise ValueError(f"`{name}` is not a task name: write `NODE.NUMBER` or `NODE.FIRST-LAST`")
    return match[1], first, last


def tasks_name(home: str, first: int, last: int) -> str:
    """Name of these tasks, as the daemon writes it."""
    return f"{home}.{first}" if first == last else f"{home}.{first}-{last}"


@dataclass(frozen=True)
class Outcome:
    """How a task ended."""

    #: `exit`, `signal`, `canceled`, `not-started`, `lost`, or a word that a newer daemon uses.
    kind: str
    #: Exit code or number of the signal.
    code: Optional[int] = None
    #: Why the task could not be started.
    sentence: Optional[str] = None

    @classmethod
    def of(cls, json: Union[str, dict[str, Any]]) -> Outcome:
        """Reads the form of the protocol: a word, or an object with one key."""
        if isinstance(json, str):
            return cls(json)
        kind, value = next(iter(json.items()))
        number = isinstance(value, int)
        return cls(kind, value if number else None, None if number else str(value))

    @property
    def ok(self) -> bool:
        """True if the task exited with code 0."""
        return self.kind == "exit" and self.code == 0

    def __str__(self) -> str:
        if self.code is not None:
            return f"{self.kind} {self.code}"
        words = "lost too often" if self.kind == "lost" else self.kind.replace("-", " ")
        return words if self.sentence is None else f"{words}: {self.sentence}"


def _known(kind: Any, json: dict[str, Any]) -> Any:
    """Takes the fields that this version knows."""
    known = {one.name for one in fields(kind) if one.name != "json"}
    values = {name: value for name, value in json.items() if name in known}
    if values.get("outcome") is not None:
        values["outcome"] = Outcome.of(values["outcome"])
    return kind(**values, json=json)


@dataclass(frozen=True)
class TaskStatus:
    """State of a task. `state` is `queued`, `offered`, `leased`, `running` or `ended`; a future that was not handed
    over to the daemon yet has `held` while it waits for others, then `submitting`."""

    task: str
    title: str
    state: str
    instance: int = 0
    submitted_ms: int = 0
    array_index: Optional[int] = None
    node: Optional[str] = None
    started_ms: Optional[int] = None
    ended_ms: Optional[int] = None
    outcome: Optional[Outcome] = None
    why: Optional[str] = None
    json: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, json: dict[str, Any]) -> TaskStatus:
        status: TaskStatus = _known(cls, json)
        return status


@dataclass(frozen=True)
class NodeStatus:
    """State of a node; `counts` has what became of its tasks since its daemon started."""

    node: str
    address: str
    presence: str
    n_cores: int
    speed: float
    load: Optional[str] = None
    n_running: int = 0
    n_queued: int = 0
    n_leased: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    json: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, json: dict[str, Any]) -> NodeStatus:
        status: NodeStatus = _known(cls, json)
        return status


@dataclass(frozen=True)
class Explanation:
    """Why a task is in its state; as text, the sentences."""

    status: TaskStatus
    because: list[str]
    steps: list[dict[str, Any]]
    json: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, json: dict[str, Any]) -> Explanation:
        return cls(TaskStatus.of(json["status"]), json["because"], json["steps"], json)

    def __str__(self) -> str:
        return "\n".join(self.because)


@dataclass(frozen=True)
class EndedTask:
    """Task that has ended, with the output that was kept of it."""

    task: str
    node: str
    instance: int
    started_ms: Optional[int]
    ended_ms: int
    outcome: Outcome
    stdout_bytes: bytes = field(default=b"", repr=False)
    stderr_bytes: bytes = field(default=b"", repr=False)
    #: Bytes of the output that were not kept: `output_max`, or `output` for all.
    n_dropped_bytes: int = 0
    #: False where no output is kept, as when it went to files or the task ended long ago.
    has_output: bool = False
    why: Optional[str] = None
    json: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, home: str, json: dict[str, Any]) -> EndedTask:
        output = json.get("output") or {}
        return cls(
            task=f"{home}.{json['number']}",
            node=json["node"],
            instance=json["instance"],
            started_ms=json.get("started_ms"),
            ended_ms=json["ended_ms"],
            outcome=Outcome.of(json["outcome"]),
            stdout_bytes=_bytes(output.get("stdout", "")),
            stderr_bytes=_bytes(output.get("stderr", "")),
            n_dropped_bytes=output.get("n_dropped_bytes", 0),
            has_output=bool(output),
            why=json.get("why"),
            json={name: value for name, value in json.items() if name != "output"},
        )

    @property
    def stdout(self) -> str:
        """Standard output as text."""
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """Standard error as text."""
        return self.stderr_bytes.decode(errors="replace")

    @property
    def seconds(self) -> Optional[float]:
        """Time that its last attempt ran."""
        return None if self.started_ms is None else (self.ended_ms - self.started_ms) / 1000

    def sentence(self) -> str:
        """What became of it, in one line."""
        if self.outcome.sentence is not None:
            return f"`{self.task}`: {self.outcome}"
        where = f" on {self.node}" if self.node else ""
        why = f": {self.why}" if self.why else ""
        return f"`{self.task}`: {self.outcome}{where}{why}"


def _bytes(text: Union[str, dict[str, str]]) -> bytes:
    if isinstance(text, str):
        return text.encode(errors="surrogateescape")
    return base64.b64decode(text["base64"])
