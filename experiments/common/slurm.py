"""A Slurm of its own on a virtual cluster: controller on this machine, a daemon on each node. Needs root. No accounting
and no key exchange: all daemons are root's and trust each other."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from cluster import SUBNET, Cluster

PATIENCE_S = 30
CONFIGURATION = """ClusterName=sntx
SlurmctldHost={host}({subnet}.254)
SlurmctldPort=26917
SlurmdPort=26918
SrunPortRange=27000-27199
AuthType=auth/none
CredType=cred/none
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
"""


class Slurm:
    """Jobs start in the order in which they were submitted."""

    def __init__(self, n_nodes, n_slots):
        self.cluster, self.n_nodes, self.n_slots = Cluster(n_nodes, cpu_share=1), n_nodes, n_slots
        self.folder, self.daemons = tempfile.TemporaryDirectory(), []

    def __enter__(self):
        self.cluster.__enter__()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        folder = pathlib.Path(self.folder.name)
        nodes = [f"sntx-n{number}" for number in range(1, self.n_nodes + 1)]
        text = CONFIGURATION.format(host=os.uname().nodename.split(".")[0], subnet=SUBNET, folder=folder)
        for number, node in enumerate(nodes, 1):
            text += f"NodeName={node} NodeAddr={SUBNET}.{number} CPUs={self.n_slots} State=UNKNOWN\n"
            (folder / f"tmp-{node}").mkdir()
        (folder / "state").mkdir()
        conf = folder / "slurm.conf"
        conf.write_text(text + f"PartitionName=all Nodes={','.join(nodes)} Default=YES State=UP\n")
        self.environment = {**os.environ, "SLURM_CONF": str(conf)}
        self._daemon("slurmctld", ["/usr/sbin/slurmctld"])
        for node in nodes:
            start = ["nsenter", f"--net=/run/netns/{node}", "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']
            self._daemon(node, [*start, node, "/usr/sbin/slurmd", "-N", node])
        self.wait(lambda: self.n_idle() == self.n_nodes, "all nodes are idle")

    def _daemon(self, name, words):
        with open(pathlib.Path(self.folder.name) / f"{name}.log", "w") as log:
            self.daemons.append(subprocess.Popen([*words, "-D"], env=self.environment, stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=log))

    def ask(self, *words):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True).stdout.strip()

    def n_idle(self):
        return self.ask("sinfo", "--noheader", "--Node", "--format=%T").split().count("idle")

    @staticmethod
    def wait(is_so, what, patience_s=PATIENCE_S):
        until = time.monotonic() + patience_s
        while not is_so():
            if until < time.monotonic():
                sys.exit(f"not so after {patience_s} s: {what}")
            time.sleep(0.1)

    def variables(self):
        """By which launchers use the network of the nodes."""
        return {"HYDRA_IFACE": "eth0", "FI_TCP_IFACE": "eth0"}

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
        self.cluster.__exit__()
        self.folder.cleanup()
