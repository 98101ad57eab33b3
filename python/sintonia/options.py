"""Options of a submission, and its form in the protocol."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

#: Variables that describe the job or node in which this process happens to run, and not a task.
FOREIGN = frozenset(
    "SINTONIA_TASK SINTONIA_ARRAY_INDEX SINTONIA_ITEM SINTONIA_CPUS SINTONIA_CORES SINTONIA_GPUS SINTONIA_NODES "
    "SINTONIA_HOSTS SINTONIA_HOST_FILE OMPI_MCA_orte_default_hostfile PRTE_MCA_prte_default_hostfile HYDRA_HOST_FILE "
    "SINTONIA_MEMORY SINTONIA_VARIANT SINTONIA_INSTANCE SINTONIA_KEEPER SINTONIA_KEEPER_RUN SINTONIA_NODE "
    "OLDPWD PWD SHLVL".split()
)

#: Bytes kept of each output by default, as with `sintonia submit`.
OUTPUT_MAX_DEFAULT = 64 << 10

Array = Union[range, tuple[int, int], str]
Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class TaskOptions:
    """Options of a submission; `Client.submit` describes them."""

    name: Optional[str] = None
    folder: Optional[Path] = None
    environment: Mapping[str, Optional[str]] = field(default_factory=dict)
    retry: int = 0
    retry_delay: float = 1.0
    restarts: int = 9
    max_fails: Optional[int] = None
    output: Optional[Path] = None
    output_max: int = OUTPUT_MAX_DEFAULT
    fields: Mapping[str, Any] = field(default_factory=dict)

    def submission(
        self,
        command: Sequence[str],
        *,
        title: Optional[str] = None,
        array: Optional[tuple[int, int]] = None,
        variables: Mapping[str, str] = {},
        output_max: int = 0,
    ) -> dict[str, Any]:
        """The submission of a command. `variables` are further ones, `output_max` the least that is kept."""
        submission: dict[str, Any] = {
            "command": list(command),
            "folder": os.path.abspath(os.fspath(self.folder) if self.folder is not None else os.getcwd()),
            "environment": self._environment(variables),
            "limits": {
                "output_bytes_max": max(self.output_max, output_max),
                "output_folder": None if self.output is None else os.path.abspath(os.fspath(self.output)),
                "n_starts_max": self.restarts + 1,
            },
            "failures": {
                "n_retries_max": self.retry,
                "retry_delay_ms": round(self.retry_delay * 1000),
                "n_fails_max": self.max_fails,
            },
        }
        if self.name or title:
            submission["name"] = self.name or title
        if array is not None:
            submission["array"] = {"first": array[0], "last": array[1]}
        for name, value in self.fields.items():
            is_group = isinstance(value, Mapping) and isinstance(submission.get(name), dict)
            submission[name] = {**submission[name], **value} if is_group else value
        return submission

    def _environment(self, variables: Mapping[str, str]) -> list[list[str]]:
        """This process's variables with those of the user; names and values that are not UTF-8 cannot be sent."""
        given: dict[str, Optional[str]] = {**os.environ, **variables, **self.environment}
        chosen = (
            [name, value]
            for name, value in given.items()
            if value is not None and (name not in FOREIGN or name in self.environment)
        )
        return [pair for pair in chosen if all(map(_is_utf8, pair))]


def array_range(array: Array) -> tuple[int, int]:
    """First and last index of `range(1, 11)`, `(1, 10)` or `"1-10"`."""
    if isinstance(array, range):
        if array.step != 1 or not array:
            raise ValueError(f"the array `{array}` must have step 1 and at least one index")
        return array[0], array[-1]
    if isinstance(array, str):
        first, dash, last = array.partition("-")
        if not (dash and first.isdigit() and last.isdigit()):
            raise ValueError(f"the array `{array}` must be its first and last index: `1-1000`")
        return int(first), int(last)
    first_idx, last_idx = array
    return first_idx, last_idx


#: Names of amounts in the protocol, and of times in seconds with theirs in milliseconds.
_AMOUNTS = {"cpus": "cpus", "cpus_max": "cpus_max", "gpus": "gpus", "memory": "memory_bytes"}
_TIMES = {"time_limit": "time_limit_ms", "time_request": "time_request_ms", "expect": "expect_ms"}
_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def with_wishes(
    fields: Mapping[str, Any], resources: Mapping[str, Any], priority: int, job: Optional[str]
) -> Mapping[str, Any]:
    """The fields with what tasks ask for and their place in the order."""
    more: dict[str, Any] = {}
    if resources:
        more["demand"] = demand(resources)
    schedule = {name: value for name, value in [("priority", priority), ("job", job)] if value}
    if schedule:
        more["schedule"] = schedule
    return {**more, **fields}


def demand(resources: Mapping[str, Any]) -> dict[str, Any]:
    """What each task asks of its node, in the form of the protocol."""
    wanted: dict[str, Any] = {}
    one: dict[str, Any] = {}
    for name, value in resources.items():
        if name in _TIMES:
            wanted[_TIMES[name]] = round(float(value) * 1000)
        elif name == "nodes":
            wanted["nodes"] = int(value)
        elif name == "memory":
            one[_AMOUNTS[name]] = _bytes(value)
        elif name in _AMOUNTS:
            one[_AMOUNTS[name]] = int(value)
        else:
            one.setdefault("named", {})[name] = int(value)
    if one:
        wanted["variants"] = [one]
    return wanted


def _bytes(value: Union[int, str]) -> int:
    """`8G` in bytes."""
    text = str(value).strip().upper().removesuffix("B").removesuffix("I")
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "")
    try:
        return round(float(number) * (1 << _UNITS.get(unit, 0)))
    except ValueError:
        raise ValueError(f"the memory `{value}` must be a number of bytes, or with a unit: `512M`, `8G`") from None


def check_names(function: Callable[..., Any], options: TaskOptions) -> None:
    """Options must not take what is meant for the function."""
    default = TaskOptions()
    given = {name for name, value in options.__dict__.items() if value != getattr(default, name)}
    if not given:
        return
    try:
        taken = given & set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return
    if taken:
        name = min(taken)
        raise TypeError(
            f"`{name}` is an option of the task and an argument of the function: bind the latter by "
            f"`functools.partial(function, {name}=...)`"
        )


def words(command: Iterable[Any]) -> list[str]:
    """The words of a command: paths and numbers are written out."""
    return [os.fspath(word) if isinstance(word, (str, os.PathLike)) else str(word) for word in command]


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
