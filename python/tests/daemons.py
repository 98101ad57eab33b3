"""Daemons that the tests use, as the environment names them, and conditions with a deadline."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Any, Callable

PATIENCE_S = 40.0

#: Program `sintonia`.
PROGRAM = os.environ.get("SINTONIA_TEST_PROGRAM", "")
#: Folders of two daemons that share tasks, and of one that is killed.
ALPHA, BETA, GAMMA = (os.environ.get("SINTONIA_TEST_NODES", "") + "::").split(":")[:3]

if not PROGRAM:
    raise RuntimeError("these tests need daemons: run `make test CRATE=cli TEST=python_client`")


def run(node: str, *words: str) -> str:
    """Output of the command for a node."""
    environment = {**os.environ, "SINTONIA_NODE": node}
    return subprocess.run([PROGRAM, *words], env=environment, capture_output=True, text=True, check=True).stdout


def kill(node: str) -> None:
    """Kills a daemon; its tasks go on."""
    pid = next(pid for pid in os.listdir("/proc") if pid.isdigit() and _serves(pid, node))
    os.kill(int(pid), signal.SIGKILL)
    until("it is gone", lambda: not _serves(pid, node))


def _serves(pid: str, node: str) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    return words[1:3] == [b"node", b"start"] and node.encode() in words


def start(node: str, name: str) -> None:
    """Starts a daemon again; who started it first also stops it."""
    words = ["node", "start", "--background", "--state", node, "--name", name, "--cores", "2", "--speed", "1"]
    subprocess.run([PROGRAM, *words], capture_output=True, check=True)


def until(what: str, is_so: Callable[[], Any]) -> Any:
    """Waits for a condition."""
    end = time.monotonic() + PATIENCE_S
    while True:
        found = is_so()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not so: {what}")
        time.sleep(0.01)
