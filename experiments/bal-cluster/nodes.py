"""Eight daemons on this machine, each on a node of its own: a network namespace on a bridge. Needs root.

All that a cluster makes begins with `bal`; it is removed with the value, also after a failure, Ctrl-C or SIGTERM.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "common"))
from cluster import cpu_group, ip  # noqa: E402

# Set when everything is to end: threads that measure look at it.
STOPPING = threading.Event()
N_NODES = 8
PORT = 7411
PERIOD_US = 20000


def names(n_nodes):
    """Names of nodes in the order of the ring that domains are cut from: that of their CRC-32."""
    return sorted((f"n{number}" for number in range(n_nodes)), key=lambda name: zlib.crc32(name.encode()))


def built(folder):
    """Copies of the programs, so that a build meanwhile changes nothing: `sintonia` and the task."""
    program, task = folder / "sintonia", folder / "on_core"
    source = pathlib.Path(os.environ.get("SINTONIA", ROOT / "target/release/sintonia"))
    if not source.exists():
        sys.exit(f"`{source}` is missing: `cargo build --release --package cli`")
    shutil.copy(source, program)
    subprocess.run(["cc", "-O2", "-o", task, HERE / "on_core.c"], check=True)
    return program, task


class Nodes:
    """A cluster: `with Nodes(...) as nodes`. Several can be there at once; `number` tells them apart."""

    def __init__(self, options=(), number=0, n_nodes=N_NODES, speeds=None, quota=None, binary=None):
        self.options, self.number, self.n_nodes, self.quota = list(options), number, n_nodes, quota
        self.speeds = speeds or [1] * n_nodes
        self.names = names(n_nodes)
        self.holder = tempfile.TemporaryDirectory(prefix="bal-")
        self.folder = pathlib.Path(self.holder.name)
        self.program, self.task = binary or built(self.folder)
        self.daemons, self.cores = [None] * n_nodes, None

    def __enter__(self):
        self.remove()
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self):
        ip(f"link add {self.bridge()} type bridge")
        ip(f"link set {self.bridge()} up")
        for at in range(self.n_nodes):
            self._add_node(at)
        subprocess.run([self.program, "node", "key", self.folder / "key"], check=True, capture_output=True)
        peers = "".join(f"{self.address(at)}:{PORT}\n" for at in range(self.n_nodes))
        (self.folder / "peers").write_text(peers)
        if self.quota is None:
            pairs = [f"{self.space(at)}={speed}" for at, speed in enumerate(self.speeds)]
            command = [sys.executable, HERE / "cores.py", *pairs]
            self.cores = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.cores.stdout.readline()
        for at in range(self.n_nodes):
            self.start(at)
        for at in range(self.n_nodes):
            eventually(f"node {at} that sees all others", lambda: self.n_up(at) == self.n_nodes)

    def _add_node(self, at):
        space, link = self.space(at), self.link(at)
        ip(f"netns add {space}")
        ip(f"link add {link} type veth peer name eth0 netns {space}")
        ip(f"link set {link} master {self.bridge()} up")
        ip(f"-n {space} addr add {self.address(at)}/24 dev eth0")
        ip(f"-n {space} link set eth0 up")
        ip(f"-n {space} link set lo up")
        if self.quota is None:
            return
        group = cpu_group() / space
        group.mkdir(exist_ok=True)
        quota_us = int(self.quota * self.speeds[at] * PERIOD_US)
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))

    def bridge(self):
        return f"balbr{self.number}"

    def space(self, at):
        return f"bal{self.number}-{at}"

    def link(self, at):
        return f"bal{self.number}v{at}"

    def address(self, at):
        return f"10.79.{self.number}.{at + 1}"

    def state(self, at):
        return self.folder / self.names[at]

    def start(self, at):
        """Starts the daemon of a node, or starts it anew."""
        words = ["node", "start", "--name", self.names[at], "--state", self.state(at), "--key", self.folder / "key",
                 "--peers", self.folder / "peers", "--port", PORT, "--bind", self.address(at), "--cores", 1,
                 "--speed", self.speeds[at], *self.options]
        command = ["nsenter", f"--net=/run/netns/{self.space(at)}", self.program, *words]
        if self.quota is not None:
            group = cpu_group() / self.space(at) / "cgroup.procs"
            command = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', group, *command]
        with open(self.folder / f"{self.names[at]}.log", "a") as log:
            self.daemons[at] = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                                                stderr=log, cwd=self.folder)

    def kill(self, at):
        """Kills the daemon of a node, and nothing else."""
        if self.daemons[at] is not None:
            self.daemons[at].kill()
            self.daemons[at].wait()
            self.daemons[at] = None

    def kill_keeper(self, at):
        """Kills the process that holds the tasks of a node; how many there were."""
        found = 0
        for pid in self.pids(at):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if words[1:3] == [b"node", b"keeper"]:
                    os.kill(pid, signal.SIGKILL)
                    found += 1
            except OSError:
                pass
        return found

    def plug(self, at, is_up):
        """Takes the link of a node away, or gives it back."""
        ip(f"link set {self.link(at)} {'up' if is_up else 'down'}")

    def pids(self, at):
        said = subprocess.run(["ip", "netns", "pids", self.space(at)], capture_output=True, text=True).stdout
        return [int(word) for word in said.split()]

    def command(self, at, *words):
        """The command of a client of that node's daemon."""
        first, *others = words
        return [str(word) for word in [self.program, first, "--node", self.state(at), *others]]

    def ask(self, at, *words):
        """What a client of that node's daemon prints; nothing when it fails."""
        found = subprocess.run(self.command(at, *words), capture_output=True, text=True, cwd=self.folder)
        return found.stdout if found.returncode == 0 else None

    def statuses(self, at=0):
        said = self.ask(at, "nodes", "--json")
        return json.loads(said) if said else []

    def n_up(self, at):
        return sum(status["presence"] == "up" for status in self.statuses(at))

    def counts(self):
        """Sums over all nodes of what they have counted."""
        statuses = eventually("an answer of every node", lambda: self._all_statuses())
        return {name: sum(status["counts"][name] for status in statuses) for name in statuses[0]["counts"]}

    def _all_statuses(self):
        statuses = self.statuses()
        known = [status for status in statuses if status.get("policy")]
        return known if len(known) == self.n_nodes else None

    def logs(self):
        return "".join(f"{path.name}: {line}\n" for path in sorted(self.folder.glob("*.log"))
                       for line in path.read_text().splitlines())

    def __exit__(self, *_):
        if self.cores is not None:
            self.cores.stdin.close()
            self.cores.wait()
        self.remove()
        for daemon in self.daemons:
            if daemon is not None:
                daemon.wait()
        self.holder.cleanup()

    def remove(self):
        """Removes nodes of this number, also those that a killed run has left."""
        def ours(folder):
            prefixes = (self.bridge(), f"bal{self.number}v", f"bal{self.number}-")
            found = [path.name for path in pathlib.Path(folder).glob(f"bal*")]
            return [name for name in found if name == self.bridge() or name.startswith(prefixes[1:])]
        for space in ours("/run/netns"):
            for _ in range(3):  # A keeper's guard ends tasks that its keeper has left.
                for pid in subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True).stdout.split():
                    try:
                        os.kill(int(pid), signal.SIGKILL)
                    except OSError:
                        pass
        for link in ours("/sys/class/net"):
            ip(f"link del {link}", check=False)
        for space in ours("/run/netns"):
            ip(f"netns del {space}", check=False)
        group = cpu_group()
        for name in ours(group) if group else []:
            try:
                (group / name).rmdir()
            except OSError:
                pass


def end_by_signals():
    """What `timeout` and job managers send, and Ctrl-C, would end this process with all of it left."""
    def end(*_):
        STOPPING.set()
        sys.exit(143)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)


def rest(seconds):
    """Sleeps, unless everything is to end."""
    if STOPPING.wait(max(0, seconds)):
        raise InterruptedError("it is stopped")


def eventually(what, look, within_s=60):
    """What is found, as soon as it is something."""
    end = time.monotonic() + within_s
    while not (found := look()):
        if end < time.monotonic():
            raise TimeoutError(f"there was no {what} within {within_s} s")
        rest(0.05)
    return found
