#!/usr/bin/env python3
"""What happens to a program whose companion job is taken away by Slurm. Prints a line for each run.
Needs a Slurm with three idle nodes, `cargo build --release --package cli --package malleable --bins --examples` and
`scripts/setup.sh test` first; `preempted` also a partition `high` that preempts the default one (`PreemptMode=CANCEL`, `GraceTime`).

usage: experiments/mal-faults/companions.py [REPETITIONS] [CASE...]
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

TARGET = pathlib.Path(__file__).resolve().parent.parent.parent / "target"
RELEASE = TARGET / "release"
LIMIT_S = 120

LAUNCHERS = {
    "MPICH 5": "env HYDRA_IFACE=eth0 FI_TCP_IFACE=eth0 {sintonia} malleable -- {target}/venv-mpich5/bin/mpiexec",
    "Open MPI 5": "env OMPI_MCA_mpi_yield_when_idle=1 {sintonia} malleable -- "
                  "{target}/venv-openmpi5/bin/mpiexec --oversubscribe --bind-to none",
}
CASES = {
    "`scancel`": lambda companion, node: slurm("scancel", companion),
    "`scancel --signal=TERM`": lambda companion, node: slurm("scancel", "--signal=TERM", companion),
    "preempted": lambda companion, node: slurm("sbatch", "--partition=high", f"--nodelist={node}",
                                               "--output=/dev/null", "--wrap=sleep 5"),
}


def slurm(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout.strip()


class Rod:
    """A malleable program of two ranks on one node, which runs until it is ended."""

    def __init__(self, folder, library):
        self.folder, self.output = folder, folder / "output"
        launcher = LAUNCHERS[library].format(sintonia=RELEASE / "sintonia", target=TARGET)
        command = (f"{launcher} -n 2 {RELEASE}/examples/rod --rows 100000 --until 100000000 --pause-us 10000 "
                   f"--sizes 2:4 --control {folder}/control")
        self.job = slurm("sbatch", "--parsable", "--nodes=1", "--ntasks-per-node=2", f"--output={self.output}",
                         f"--wrap={command}")

    def status(self):
        try:
            return json.loads((self.folder / "control" / f"{self.job}.json").read_text())
        except (OSError, ValueError):
            return {}

    def comes_to(self, size):
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            status = self.status()
            if status.get("size") == size and status["state"] == "idle":
                return True
            if not slurm("squeue", "--noheader", "--name=wrap", "--format=%A"):
                return False
            time.sleep(0.05)
        return False

    def resize(self, size):
        slurm(RELEASE / "sintonia", "resize", self.job, size, "--control", self.folder / "control")

    def companion(self):
        return slurm("squeue", "--noheader", f"--name=sintonia-{self.job}", "--format=%A %N").split()

    def goes_on(self):
        before, until = self.status().get("iteration", 0), time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            if before + 100 < self.status().get("iteration", 0):
                return True
            time.sleep(0.05)
        return False

    def end(self):
        subprocess.run(["scancel", self.job], check=False)
        while slurm("squeue", "--noheader", "--format=%A"):
            time.sleep(0.2)


def run(library, case):
    """Seconds from the fault until the program has left the node; none where it did not go on."""
    with tempfile.TemporaryDirectory() as folder:
        rod = Rod(pathlib.Path(folder), library)
        try:
            if not rod.comes_to(2):
                return "did not start"
            rod.resize(4)
            companion, node = rod.companion()
            began = time.monotonic()
            CASES[case](companion, node)
            if not rod.comes_to(2):
                return "ends"
            left_s = time.monotonic() - began
            return f"goes on, has left the node after {left_s:.1f} s" if rod.goes_on() else "ends"
        finally:
            rod.end()


def main():
    n_runs = int(sys.argv[1]) if 1 < len(sys.argv) else 5
    wanted = sys.argv[2:] or [""]
    for case in (case for case in CASES if any(part in case for part in wanted)):
        for library in LAUNCHERS:
            for _ in range(n_runs):
                print(f"{library}, {case}: {run(library, case)}", flush=True)


if __name__ == "__main__":
    main()
