#!/usr/bin/env python3
"""What a fault during a change of the size does to the program, by library. Writes results.csv.
Needs `cargo build --release --package malleable --examples` and `scripts/setup.sh test` first.

usage: experiments/mal-faults/run.py [REPETITIONS] [LIBRARY [CASE...]]

LIBRARY and each CASE are parts of their names; results.csv is written where neither is given.
"""
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402

TARGET = HERE.parent.parent / "target"
ROD = pathlib.Path(os.environ.get("MAL_FAULTS_ROD", TARGET / "release" / "examples" / "rod"))
MARK = "SINTONIA_MALLEABLE_STARTED_BY="
LIMIT_S = 30

LAUNCHERS = {
    "MPICH 5": [TARGET / "venv-mpich5" / "bin" / "mpiexec"],
    "Open MPI 5": [TARGET / "venv-openmpi5" / "bin" / "mpiexec", "--oversubscribe", "--bind-to", "none"],
    "Open MPI 5 with ulfm": [TARGET / "venv-openmpi5" / "bin" / "mpiexec", "--oversubscribe", "--bind-to", "none",
                             "--with-ft", "ulfm"],
}
VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
N_ITERATIONS = "2000"
GROW = ["--until", N_ITERATIONS, "--pause-us", "1000", "--schedule", "10:4", "--deadline", "6"]


class Case:
    """A fault: what is injected, hosts of the host file, words of the program, and whether a new process is killed from outside."""

    def __init__(self, fault="", hosts="", words=(), kills=False):
        self.fault, self.hosts, self.words, self.kills = fault, hosts, list(words), kills


CASES = {
    "no fault": Case(),
    "a host name that does not exist": Case(hosts="localhost slots=2\nno-such-host slots=8\n"),
    "a host that does not answer": Case(hosts="localhost slots=2\n192.0.2.1 slots=8\n"),
    "`kill -9` of a new rank while MPI begins": Case(kills=True),
    "`kill -9` of a new rank that waits to be joined": Case(fault="call:0:kill"),
    "`kill -9` of a new rank before it joins": Case(fault="come:3:kill"),
    "`kill -9` of a new rank before its data move": Case(fault="ready:3:kill"),
    "`kill -9` of a new rank while data move": Case(fault="move:3:kill"),
    "`kill -9` of a new rank before the switch": Case(fault="switch:3:kill"),
    "`kill -9` of a new rank after the switch": Case(fault="settle:3:kill"),
    "new ranks that never come": Case(fault="start:0:sleep"),
    "a rank that hangs while it starts others": Case(fault="start:1:hang"),
}


def processes(run):
    """Living processes of the run, which have its mark in their environment, with whether they were started by ranks."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"MAL_FAULTS={run}".encode() in variables:
            is_new = any(word.startswith(MARK.encode()) for word in variables)
            yield int(folder.name), is_new and words[0] == str(ROD).encode()


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_once(library, case, number):
    """Outcome of a run in words, and the sentence of its first resize."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mal-faults-"))
    mark = f"{os.getpid()}-{number}"
    words = [*map(str, LAUNCHERS[library]), "-n", "2", str(ROD), *GROW, *case.words]
    words += ["--record", str(folder), "--control", str(folder / "jobs")]
    if case.hosts:
        (folder / "hosts").write_text(case.hosts)
        words += ["--hostfile", str(folder / "hosts")]
    variables = {**os.environ, **VARIABLES, "MAL_FAULTS": mark, "SINTONIA_MALLEABLE_FAULT": case.fault}
    with open(folder / "out", "w") as out:
        child = subprocess.Popen(words, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                 start_new_session=True)
        until, is_killed = time.monotonic() + LIMIT_S, not case.kills
        while child.poll() is None and time.monotonic() < until:
            if not is_killed:
                new = [pid for pid, is_new in processes(mark) if is_new]
                if new:
                    kill(new[0])
                    is_killed = True
                continue
            time.sleep(0.02)
    is_late = child.poll() is None
    left = [pid for pid, _ in processes(mark) if pid != child.pid]
    for pid in [child.pid, *left] if is_late else left:
        kill(pid)
    code = child.wait()
    text = (folder / "out").read_text(errors="replace")
    record = folder / "resizes.jsonl"
    found = re.search(r'"sentence":"((?:[^"\\]|\\.)*)"', record.read_text()) if record.exists() else None
    shutil.rmtree(folder)
    sentence = found.group(1) if found else ""
    if case.fault.endswith(":kill") and "did not come within" in sentence:
        # New ranks were too slow to reach the point: another run has to show it.
        return run_once(library, case, f"{number}-again")
    is_done = f"after {N_ITERATIONS} iterations" in text
    if is_late:
        outcome = "goes on, then hangs" if is_done else "hangs"
    elif is_done:
        outcome = "goes on" if code == 0 else "goes on, code"
    else:
        outcome = "ends"
    return outcome, sentence, text


def main():
    n_runs = int(sys.argv[1]) if 1 < len(sys.argv) else 20
    of_library, wanted = "".join(sys.argv[2:3]), sys.argv[3:]
    rows = []
    for fault, case in CASES.items():
        if wanted and not any(part in fault for part in wanted):
            continue
        for library in (name for name in LAUNCHERS if of_library in name):
            outcomes, sentences, last = collections.Counter(), collections.Counter(), ""
            for number in range(n_runs):
                outcome, sentence, last = run_once(library, case, number)
                outcomes[outcome] += 1
                sentences[sentence] += 1
            counts = ", ".join(f"{outcome} {count} of {n_runs}" for outcome, count in outcomes.most_common())
            print(f"{library}: {fault}: {counts}: {sentences.most_common(1)[0][0]}", flush=True)
            if os.environ.get("MAL_FAULTS_TEXT"):
                print(last)
            rows.append({"fault": fault, "library": library, "runs": n_runs, "outcome": counts,
                         "sentence": sentences.most_common(1)[0][0]})
    if not of_library:
        tables.write(HERE / "results.csv", rows)


if __name__ == "__main__":
    main()
