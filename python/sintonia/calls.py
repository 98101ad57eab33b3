"""Calls of a function as they are handed to `sintonia.worker`, and what comes back.

The packed calls of a submission are one piece of bytes: in the command where they are few, else in a file of the client's
data folder. Each task reads only its own calls, and writes the outcomes at the end of its standard output, behind a mark that
only client and worker know; long ones go into a file beside the calls, whose path follows the mark.

# Format
`MAGIC`, header as a pickled tuple behind its length, function, table of offsets, calls; numbers are 8 bytes, little-endian. Each
call is a pickled list of `(args, kwargs)`; each result a pickled list of `(True, value)` or
`(False, (pickled exception, its text, traceback))`.
"""

from __future__ import annotations

import binascii
import io
import os
import pickle
import re
import struct
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, NamedTuple, Optional

    class Header(NamedTuple):
        """What a worker needs beside function and calls."""

        token: str
        #: Entries of the client's module path.
        path: list[str]
        #: Folder for long results.
        folder: str
        #: True where the standard output is not kept, so that every result goes into a file.
        by_file: bool

    class Found(NamedTuple):
        """Standard output of a worker without its last line, and what that had."""

        stdout: bytes
        result: Optional[bytes]
        path: Optional[str]

    Outcomes = list[tuple[bool, Any]]
else:
    # The module `typing` takes longer to import than all others together.
    Header = namedtuple("Header", "token path folder by_file")
    Found = namedtuple("Found", "stdout result path")

#: Begins every piece; the number is the version of the format.
MAGIC = b"SINTONIA-CALLS-1\n"
#: Longest calls in a command, in bytes: the daemon keeps commands in its journal, and Linux bounds a word by 128 KiB.
INLINE_CALLS_BYTES_MAX = 16 << 10
#: Longest result in the standard output, in bytes; as base64 it fits into the end that the daemon keeps.
INLINE_RESULT_BYTES_MAX = 48 << 10
#: Bytes kept of the standard output of a task that runs a function; its last half has room for the result.
OUTPUT_BYTES_MAX = 160 << 10
#: Exit code of a task whose function raised; the daemon then tries it again where `retry` is given.
RAISED = 1
#: Exit code of a task that could not read its calls.
UNREADABLE = 3

_U64 = struct.Struct("<Q")


def pack(header: Header, function: bytes, calls: list[bytes]) -> bytes:
    """One piece for all tasks of a submission."""
    head = pickle.dumps(tuple(header), protocol=4)
    parts = [MAGIC, _U64.pack(len(head)), head, _U64.pack(len(function)), function, _U64.pack(len(calls))]
    end = 0
    for call in calls:
        end += len(call)
        parts.append(_U64.pack(end))
    return b"".join([*parts, *calls])


def unpack(source: BinaryIO, idx: int) -> tuple[Header, bytes, bytes]:
    """Header, function, and the calls of the task with this index, counted from 0."""
    if source.read(len(MAGIC)) != MAGIC:
        raise ValueError("these are no calls of this version of the package")
    header = Header(*pickle.loads(source.read(_number(source))))
    function = source.read(_number(source))
    n_calls = _number(source)
    table = source.tell()
    begin = 0
    if idx > 0:
        source.seek(table + 8 * (idx - 1))
        begin = _number(source)
    source.seek(table + 8 * idx)
    end = _number(source)
    source.seek(table + 8 * n_calls + begin)
    return header, function, source.read(end - begin)


def opened(word: str) -> BinaryIO:
    """The piece that a word of the command is or names."""
    kind, _, rest = word.partition(":")
    return open(rest, "rb") if kind == "file" else io.BytesIO(binascii.a2b_base64(rest))


def inline(piece: bytes) -> str:
    """A word of the command that is the piece."""
    return "inline:" + _coded(piece).decode()


def write_file(path: str, content: bytes) -> None:
    """Writes a file as a whole: who finds it finds all of it."""
    beside = f"{path}.{os.getpid()}"
    with open(beside, "wb") as file:
        file.write(content)
    os.replace(beside, path)


def trailer(token: str, result: bytes) -> bytes:
    """Last line of a worker's standard output, with a result."""
    return b"\n#sintonia-result:%s:%s#\n" % (token.encode(), _coded(result))


def file_trailer(token: str, path: str) -> bytes:
    """Last line of a worker's standard output, with the path of a result."""
    return b"\n#sintonia-result:%s:@%s#\n" % (token.encode(), _coded(path.encode()))


def find(stdout: bytes, token: Optional[str]) -> Found:
    """Separates what a function printed from its result; `None` as token takes any."""
    mark = b"[0-9a-f]{32}" if token is None else token.encode()
    last = None
    for last in re.finditer(rb"\n#sintonia-result:" + mark + rb":(@?)([A-Za-z0-9+/=]*)#\n", stdout):
        pass
    if last is None:
        return Found(stdout, None, None)
    rest = stdout[: last.start()] + stdout[last.end() :]
    content = binascii.a2b_base64(last[2])
    return Found(rest, None, content.decode()) if last[1] else Found(rest, content, None)


def _coded(content: bytes) -> bytes:
    return binascii.b2a_base64(content, newline=False)


def _number(source: BinaryIO) -> int:
    return int(_U64.unpack(source.read(8))[0])

