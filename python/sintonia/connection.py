"""Connection to a daemon: JSON in frames over its Unix socket, as `docs/client-protocol.md` describes.

A `Connection` waits for each answer; a `Line` never waits, and is for the thread that serves all futures.
"""

from __future__ import annotations

import errno
import json
import socket
import struct
from pathlib import Path
from typing import Any, Union

from .errors import NoDaemonError, RefusedError, SintoniaError, VersionError

#: Version of the protocol.
PROTOCOL_VERSION = 1
#: Longest request in bytes.
REQUEST_BYTES_MAX = 1 << 20
#: Longest answer in bytes.
ANSWER_BYTES_MAX = 64 << 20

#: Longest time in seconds for an answer that does not depend on tasks.
ANSWERS_WITHIN_S = 60.0

Message = dict[str, Any]


class ConnectionEnded(Exception):
    """The daemon closed the connection."""


def frame(message: Message) -> bytes:
    """The message behind its length, as 4 bytes, little-endian."""
    payload = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    if len(payload) > REQUEST_BYTES_MAX:
        raise RefusedError(
            f"a request of {len(payload)} bytes is longer than the {REQUEST_BYTES_MAX} that a daemon reads: "
            "put data into files"
        )
    return struct.pack("<I", len(payload)) + payload


class Line:
    """Connection that never waits, after its first answer."""

    def __init__(self, path: Path) -> None:
        connection = Connection(path)
        self.node = connection.node
        self._socket = connection.detach()
        self._socket.setblocking(False)
        self._arrived = bytearray()
        self._unsent = bytearray()

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def send(self, framed: bytes) -> None:
        """Sends as much as is taken at once; `flush` sends the rest."""
        self._unsent += framed
        self.flush()

    def flush(self) -> None:
        try:
            while self._unsent:
                n_sent = self._socket.send(bytes(self._unsent[: 256 << 10]))
                del self._unsent[:n_sent]
        except BlockingIOError:
            return
        except OSError as error:
            raise ConnectionEnded from error

    def receive(self) -> list[Message]:
        """Messages that have arrived completely."""
        try:
            bytes_read = self._socket.recv(1 << 20)
        except BlockingIOError:
            return []
        except OSError as error:
            raise ConnectionEnded from error
        if not bytes_read:
            raise ConnectionEnded
        self._arrived += bytes_read
        messages, begin = [], 0
        while len(self._arrived) >= begin + 4:
            end = begin + 4 + _length(self._arrived[begin : begin + 4])
            if len(self._arrived) < end:
                break
            messages.append(json.loads(self._arrived[begin + 4 : end]))
            begin = end
        del self._arrived[:begin]
        return messages

    def close(self) -> None:
        self._socket.close()


class Connection:
    """Connection that waits for each answer. Not for several threads at once."""

    def __init__(self, path: Path) -> None:
        self._socket = _connected(path)
        try:
            #: Name of the node.
            self.node = self._greet()
        except ConnectionEnded:
            self.close()
            raise NoDaemonError(f"the daemon at `{path}` ended: {_remedy(path)}") from None
        except BaseException:
            self.close()
            raise

    def ask(self, message: Message) -> Message:
        """Sends a request and returns the answer, also a refusal."""
        try:
            self._socket.sendall(frame(message))
        except BrokenPipeError:
            # A client that is refused on arrival has been told why: that is read next.
            pass
        except OSError as error:
            raise ConnectionEnded from error
        return self._receive()

    def detach(self) -> socket.socket:
        """The socket, whose owner closes it."""
        return self._socket

    def close(self) -> None:
        self._socket.close()

    def _greet(self) -> str:
        answer = self.ask({"request": "hello", "version": PROTOCOL_VERSION})
        if answer.get("answer") == "refused":
            sentence = answer["sentence"]
            is_version = sentence.startswith("the daemon speaks version")
            raise (VersionError if is_version else RefusedError)(sentence)
        if answer.get("answer") != "hello" or answer.get("version") != PROTOCOL_VERSION:
            raise VersionError(
                f"the daemon speaks version {answer.get('version')} of the protocol, and this package "
                f"{PROTOCOL_VERSION}: restart it with `sintonia node stop` and `sintonia node start`"
            )
        return str(answer["node"])

    def _receive(self) -> Message:
        payload = self._exactly(_length(self._exactly(4)))
        message = json.loads(payload)
        if not isinstance(message, dict):
            raise SintoniaError("the daemon's answer is not an object: is it another program's socket?")
        return message

    def _exactly(self, n_bytes: int) -> bytes:
        parts, n_left = [], n_bytes
        while n_left:
            try:
                part = self._socket.recv(min(n_left, 1 << 20))
            except socket.timeout as error:
                raise NoDaemonError(f"the daemon did not answer within {ANSWERS_WITHIN_S:.0f} s") from error
            except OSError as error:
                raise ConnectionEnded from error
            if not part:
                raise ConnectionEnded
            parts.append(part)
            n_left -= len(part)
        return b"".join(parts)


def _length(head: Union[bytes, bytearray]) -> int:
    n_bytes = int(struct.unpack("<I", head)[0])
    if n_bytes > ANSWER_BYTES_MAX:
        raise SintoniaError(f"an answer of {n_bytes} bytes is longer than any daemon's: is it another program's socket?")
    return n_bytes


def _connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(ANSWERS_WITHIN_S)
    try:
        connection.connect(str(path))
    except OSError as error:
        connection.close()
        if error.errno == errno.EACCES:
            sentence = f"the daemon at `{path}` belongs to another user: {_remedy(path)}"
        else:
            sentence = f"no daemon listens at `{path}`: {_remedy(path)}"
        raise NoDaemonError(sentence) from error
    return connection


def _remedy(path: Path) -> str:
    return (
        "start one with `sintonia node start --background`, or name the folder of another by `Client(node=...)` or in "
        "`SINTONIA_NODE`"
    )
