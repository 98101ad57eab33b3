"""A cluster on this machine: nodes are network namespaces on a bridge, each with its own host name and a quota of the
processor. Needs root. Everything is removed with the value, also after a failure, Ctrl-C or SIGTERM."""
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile

BRIDGE, SUBNET = "sntx-br0", "10.78.0"
PERIOD_US = 20000

# What starts a command on a node: options of `ssh` are skipped, then come the node and the command. The group of the
# quota is joined before the namespaces, one of which hides /sys.
WRAPPER = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
node=$1
shift
for group in {groups}; do [ -d "$group/$node" ] && echo $$ > "$group/$node/cgroup.procs"; done
exec nsenter --net=/run/netns/"$node" unshare --uts sh -c '
  hostname "$0"
  exec env -i PATH="$PATH" HOME="$HOME" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$1"' "$node" "$*"
"""


def ip(words, check=True):
    subprocess.run(["ip", *words.split()], check=check, capture_output=not check)


def cpu_group():
    """Where quotas are set: the controller of version 1, or the unified tree; none where neither is writable."""
    first, unified = pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")
    if (first / "cpu.cfs_quota_us").exists() or (first / "cgroup.procs").exists():
        return first
    controllers = unified / "cgroup.subtree_control"
    return unified if controllers.exists() and "cpu" in controllers.read_text() else None


class Cluster:
    """Nodes `sntx-n1`, `sntx-n2`, ...; the host is where the master runs, whose link to all of them may be limited."""

    def __init__(self, n_nodes, cpu_share, link_mbit=None):
        self.n_nodes, self.cpu_share, self.link_mbit = n_nodes, cpu_share, link_mbit
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        # What `timeout` and job managers send would end this process with all of it left.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.remove()
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self):
        ip(f"link add {BRIDGE} type bridge")
        ip(f"addr add {SUBNET}.254/24 dev {BRIDGE}")
        ip(f"link set {BRIDGE} up")
        if self.link_mbit is not None:
            limit = f"tc qdisc add dev {BRIDGE} root tbf rate {self.link_mbit}mbit burst 6kb latency 5s"
            subprocess.run(limit.split(), check=True)
        for number in range(1, self.n_nodes + 1):
            self._add_node(number)
        self.wrapper = pathlib.Path(self.folder.name) / "on-node"
        self.wrapper.write_text(WRAPPER.format(groups=cpu_group() or ""))
        self.wrapper.chmod(self.wrapper.stat().st_mode | stat.S_IXUSR)

    def _add_node(self, number):
        node = f"sntx-n{number}"
        ip(f"netns add {node}")
        ip(f"link add sntx-v{number} type veth peer name eth0 netns {node}")
        ip(f"link set sntx-v{number} master {BRIDGE} up")
        ip(f"-n {node} addr add {SUBNET}.{number}/24 dev eth0")
        ip(f"-n {node} link set eth0 up")
        ip(f"-n {node} link set lo up")
        group = cpu_group()
        if group is None:
            return
        (group / node).mkdir(exist_ok=True)
        quota_us = int(self.cpu_share * PERIOD_US)
        if (group / node / "cpu.max").exists():
            (group / node / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        else:
            (group / node / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / node / "cpu.cfs_quota_us").write_text(str(quota_us))

    def limit_nodes(self, mbit, burst_kb=None):
        """Limits what each node receives; with None not. The kernel hands on so much at once."""
        for number in range(1, self.n_nodes + 1):
            subprocess.run(f"tc qdisc del dev sntx-v{number} root".split(), capture_output=True)
            if mbit is not None:
                burst = burst_kb or max(3, mbit // 8)
                limit = f"tc qdisc add dev sntx-v{number} root tbf rate {mbit}mbit burst {burst}kb latency 5s"
                subprocess.run(limit.split(), check=True)

    def launcher(self, n_workers):
        """Words and variables that start one rank on this host and one on each of the first `n_workers` nodes."""
        hosts = pathlib.Path(self.folder.name) / "hosts"
        nodes = [f"sntx-n{number} slots=1" for number in range(1, n_workers + 1)]
        hosts.write_text("\n".join([f"{os.uname().nodename} slots=1", *nodes, ""]))
        subnet = f"{SUBNET}.0/24"
        variables = {
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_plm_rsh_agent": str(self.wrapper), "OMPI_MCA_orte_default_hostfile": str(hosts),
            "OMPI_MCA_oob_tcp_if_include": subnet, "OMPI_MCA_btl_tcp_if_include": subnet,
            "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_mpi_yield_when_idle": "1",
        }
        return ["mpirun.openmpi", "--map-by", "node", "-np", str(n_workers + 1)], variables

    def __exit__(self, *_):
        self.remove()
        self.folder.cleanup()

    @staticmethod
    def remove():
        names = lambda folder: [path.name for path in pathlib.Path(folder).glob("sntx-*")]
        for link in names("/sys/class/net"):
            ip(f"link del {link}", check=False)
        for node in names("/run/netns"):
            for pid in subprocess.run(["ip", "netns", "pids", node], capture_output=True, text=True).stdout.split():
                subprocess.run(["kill", "-KILL", pid], capture_output=True)
            ip(f"netns del {node}", check=False)
        group = cpu_group()
        for node in names(group) if group else []:
            try:
                (group / node).rmdir()
            except OSError:
                pass
