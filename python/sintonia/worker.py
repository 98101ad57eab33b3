"""Runs the calls of one task: `python -m sintonia.worker WORD`, where the word is calls, or names the file that has them.

What the functions print stays on the standard output; the outcomes follow it. Exits with 1 if a call raised, so that the
daemon counts the task as failed, and tries it again where that was asked for.
"""

from __future__ import annotations

import os
import pickle
import sys

from . import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .calls import Header, Outcomes


def main() -> int:
    # So that what is printed can be followed, and keeps its order with what child processes print.
    sys.stdout.reconfigure(line_buffering=True)
    idx = int(os.environ.get("SINTONIA_ARRAY_INDEX", "0"))
    try:
        with calls.opened(sys.argv[1]) as source:
            header, function, call = calls.unpack(source, idx)
    except (OSError, ValueError) as error:
        print(
            f"the function cannot be read: {error}; its file is removed when its result has been taken, and has to be in a "
            "folder that all nodes share: `sintonia.Client(data_folder=...)`",
            file=sys.stderr,
        )
        return calls.UNREADABLE
    _extend_path(header.path)
    outcomes = _run(function, call)
    _send(header, outcomes)
    return 0 if all(is_value for is_value, _ in outcomes) else calls.RAISED


def _extend_path(entries: list[str]) -> None:
    # The first entry is that of the client's script, which comes before what is installed.
    known = set(sys.path)
    sys.path[:0] = [entry for entry in entries[:1] if entry not in known]
    sys.path += [entry for entry in entries[1:] if entry not in known]


def _run(function: bytes, call: bytes) -> Outcomes:
    try:
        run = pickle.loads(function)
        arguments = pickle.loads(call)
    except Exception as error:
        return [_failure(error)]
    outcomes: Outcomes = []
    for args, kwargs in arguments:
        try:
            outcomes.append((True, run(*args, **kwargs)))
        except Exception as error:
            outcomes.append(_failure(error))
    return outcomes


def _failure(error: BaseException) -> tuple[bool, object]:
    import traceback

    # The frame of this file says nothing about the function.
    frames = error.__traceback__ and error.__traceback__.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    # The last line of what a task writes is the reason that lists of tasks show.
    sys.stderr.write(text)
    error.__traceback__ = None
    try:
        pickled = _dumps(error)
        # Exceptions whose constructor takes other arguments are pickled, and cannot be read again.
        pickle.loads(pickled)
    except Exception:
        pickled = None
    return False, (pickled, f"{type(error).__name__}: {error}", text)


def _dumps(value: object) -> bytes:
    try:
        return pickle.dumps(value, protocol=4)
    except Exception:
        from .pickling import dumps

        return dumps(value, "the result")


def _send(header: Header, outcomes: Outcomes) -> None:
    try:
        result = _dumps(outcomes)
    except Exception:
        for idx, (is_value, value) in enumerate(outcomes):
            try:
                _dumps(value)
            except Exception as error:
                assert is_value
                outcomes[idx] = _failure(error)
        result = _dumps(outcomes)
    if not header.by_file and len(result) <= calls.INLINE_RESULT_BYTES_MAX:
        line = calls.trailer(header.token, result)
    else:
        path = os.path.join(header.folder, f"{os.environ.get('SINTONIA_TASK', 'task')}.result")
        try:
            calls.write_file(path, result)
        except OSError as error:
            sentence = (
                f"a result of {len(result)} bytes goes through a file, which cannot be written: {error}; name a folder that "
                "all nodes share: `sintonia.Client(data_folder=...)`"
            )
            outcomes[:] = [_failure(OSError(sentence))]
            line = calls.trailer(header.token, _dumps(outcomes))
        else:
            line = calls.file_trailer(header.token, path)
    _write(line)


def _write(line: bytes) -> None:
    sys.stdout.flush()
    own = os.dup(1)
    # What threads of the function still print does not get between the parts of a long line.
    os.dup2(2, 1)
    with os.fdopen(own, "wb") as stdout:
        stdout.write(line)


if __name__ == "__main__":
    sys.exit(main())
