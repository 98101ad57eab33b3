"""Requests that are answered at once, of any thread, over one connection."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Optional

from .connection import Connection, ConnectionEnded, Message
from .errors import NoDaemonError, RefusedError, UncertainError, VersionError

log = logging.getLogger("sintonia")

#: First and longest time in seconds between two attempts to find the daemon again.
BACK_OFF_S = (0.05, 2.0)
#: Most times that a request is sent when the daemon ends before it answers.
_N_ATTEMPTS_MAX = 5


class Asker:
    """Connection to the daemon that comes back when the daemon does."""

    def __init__(self, path: Path, reconnect_s: float) -> None:
        self._path, self._reconnect_s = path, reconnect_s
        self._asking = threading.Lock()
        self._connection: Optional[Connection] = Connection(path)
        #: Name of the node.
        self.node: str = self._connection.node

    def ask(self, message: Message, expected: str, may_repeat: bool) -> Message:
        """Sends a request and returns the answer. `may_repeat` sends it again when the daemon ended before it answered."""
        with self._asking:
            answer = self._answer(message, may_repeat)
        if answer["answer"] == "refused":
            raise RefusedError(answer["sentence"])
        if answer["answer"] != expected:
            raise VersionError(
                f"unexpected answer `{answer['answer']}` from the daemon, which may be of another version: restart it"
            )
        return answer

    def close(self) -> None:
        """Closes the connection when the present request is answered."""
        with self._asking:
            self._disconnect()

    def forget_in_child(self) -> None:
        """Closes this process's copy of the connection after a fork, when another thread may have had the lock."""
        self._disconnect()

    def _answer(self, message: Message, may_repeat: bool) -> Message:
        if not may_repeat:
            # The daemon of the present connection may have ended long ago, which sending would not tell from just now.
            self._disconnect()
        for _ in range(_N_ATTEMPTS_MAX):
            if self._connection is None:
                self._connection = self._connect_again()
            try:
                return self._connection.ask(message)
            except ConnectionEnded:
                self._disconnect()
                if not may_repeat:
                    raise UncertainError(
                        "the daemon ended before it answered, and may have done what was asked: `sintonia tasks` tells"
                    ) from None
            except BaseException:
                # The answer would be taken for that of the next request.
                self._disconnect()
                raise
        raise NoDaemonError(f"the daemon ends whenever it is asked to `{message['request']}`: see `node.log` in its folder")

    def _connect_again(self) -> Connection:
        until = time.monotonic() + self._reconnect_s
        back_off_s = BACK_OFF_S[0]
        while True:
            try:
                return Connection(self._path)
            except NoDaemonError:
                if time.monotonic() >= until:
                    raise
            if back_off_s == BACK_OFF_S[0]:
                log.warning("no daemon answers; waiting up to %.1f s for it to come back", self._reconnect_s)
            time.sleep(back_off_s)
            back_off_s = min(2 * back_off_s, BACK_OFF_S[1])

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
