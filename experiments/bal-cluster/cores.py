#!/usr/bin/env python3
"""Cores of nodes that have none: tasks wait for as long as they would compute there.

A node is a network namespace. Its core shares its time equally between the tasks that are connected, as a system does
between processes; who leaves gets none. Times are computed, so that a late answer to one task takes nothing from the others.

usage: cores.py NAMESPACE=SPEED...    serves until its standard input ends
"""
import ctypes
import os
import selectors
import socket
import sys
import time

CLONE_NEWNET = 0x40000000
SYSTEM = ctypes.CDLL(None, use_errno=True)


def listener(namespace):
    """A socket that tasks of this node find."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if SYSTEM.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {namespace}")
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.bind("\0core")
        made.listen(1024)
        SYSTEM.setns(home, CLONE_NEWNET)
    finally:
        os.close(home)
        os.close(there)
    return made


class Core:
    """A core, and the seconds that each of its tasks still needs."""

    def __init__(self, speed):
        self.speed, self.left_s, self.at = speed, {}, time.monotonic()

    def advance(self, now):
        if self.left_s:
            share = (now - self.at) * self.speed / len(self.left_s)
            for task in self.left_s:
                self.left_s[task] -= share
        self.at = now

    def next_end(self):
        return self.at + min(self.left_s.values()) * len(self.left_s) / self.speed if self.left_s else None

    def ended(self):
        return [task for task, left_s in self.left_s.items() if left_s <= 1e-9]


def serve(cores):
    watched = selectors.DefaultSelector()
    for namespace, core in cores.items():
        watched.register(listener(namespace), selectors.EVENT_READ, ("arrives", core))
    watched.register(sys.stdin, selectors.EVENT_READ, ("end", None))
    print("ready", flush=True)
    while True:
        ends = [end for core in cores.values() if (end := core.next_end()) is not None]
        heard = watched.select(max(0, min(ends) - time.monotonic()) if ends else None)
        now = time.monotonic()
        for core in cores.values():
            core.advance(now)
        for key, _ in heard:
            what, core = key.data
            if what == "end":
                return
            if what == "arrives":
                watched.register(key.fileobj.accept()[0], selectors.EVENT_READ, ("talks", core))
            elif said := receive(key.fileobj):
                core.left_s[key.fileobj] = float(said)
            else:
                core.left_s.pop(key.fileobj, None)
                watched.unregister(key.fileobj)
                key.fileobj.close()
        for core in cores.values():
            for task in core.ended():
                del core.left_s[task]
                try:
                    task.send(b"!")
                except OSError:
                    pass


def receive(task):
    """Nothing from a task that is gone."""
    try:
        return task.recv(64)
    except OSError:
        return b""


if __name__ == "__main__":
    pairs = [word.split("=") for word in sys.argv[1:]]
    serve({namespace: Core(float(speed)) for namespace, speed in pairs})
