#!/usr/bin/env python3
"""Runs a queue of 20 jobs on a real Slurm of four virtual nodes twice: rigid, and malleable with `sintonia slurm-policy`. Writes
results.csv, jobs.csv and nodes.svg, and fills the page. Needs root, `scripts/setup.sh test`, and
`cargo build --package cli --package malleable --bins --examples` first.

usage: experiments/mal-queue/run.py [REPETITIONS]
"""
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "common"))
import plots  # noqa: E402
import tables  # noqa: E402
from slurm import Slurm  # noqa: E402

MPIEXEC = ROOT / "target/venv-mpich5/bin/mpiexec"
BUILT = ROOT / "target/debug"
N_NODES, N_SLOTS, N_JOBS = 4, 2, 20
# What an iteration takes: a part that every rank has, and a part that the ranks share.
SERIAL_US, SHARED_US = 10000, 1600000
EVERY_S, PATIENCE_S = 0.5, 900


def jobs(seed):
    """Nodes that each job asks for, iterations, and when it comes. The same for both."""
    dice = random.Random(seed)
    made, at_s = [], 0.0
    for number in range(N_JOBS):
        n_nodes = dice.choice([1, 2, 2, 3, 3, 4])
        runs_s = dice.uniform(6, 18)
        iteration_s = (SERIAL_US + SHARED_US / (n_nodes * N_SLOTS)) / 1e6
        made.append({"job": number, "nodes": n_nodes, "iterations": round(runs_s / iteration_s), "comes_s": at_s})
        at_s += dice.expovariate(1 / 4)
    return made


def script(job, kind, folder):
    """What the job runs; it notes when it begins and ends."""
    n_nodes = job["nodes"] if kind == "rigid" else 1
    words = [f"{folder}/sintonia", "malleable", "--", str(MPIEXEC), "-n", str(n_nodes * N_SLOTS), f"{folder}/rod",
             "--rows", "2000", "--until", str(job["iterations"]), "--pause-us", str(SERIAL_US),
             "--work-us", str(SHARED_US)]
    if kind == "malleable":
        words += ["--sizes", f"{N_SLOTS}:{N_NODES * N_SLOTS}", "--preferred", str(job["nodes"] * N_SLOTS),
                  "--control", f"{folder}/control", "--record", f"{folder}/record-{job['job']}"]
    note = f"date +%s.%N >> {folder}/{kind}-{job['job']}"
    return n_nodes, f"{note}; {' '.join(words)} > {folder}/out-{kind}-{job['job']} 2>&1; {note}"


def run_queue(slurm, queue, kind, folder):
    """Times of all jobs, and how many nodes were in use from look to look."""
    began, submitted, used = time.time(), {}, []
    environment = {**slurm.environment, **slurm.variables(), "HOME": folder}
    policy = None
    if kind == "malleable":
        log = open(f"{folder}/policy.log", "a")
        policy = subprocess.Popen([f"{folder}/sintonia", "slurm-policy", "--interval", "0.5", "--calm", "4", "--control",
                                   f"{folder}/control"], env=environment, stdout=log, stderr=log)
    waiting = list(queue)
    ended = lambda: all(len(times(job, kind, folder)) == 2 for job in queue)
    while waiting or not ended():
        now = time.time()
        if PATIENCE_S < now - began:
            sys.exit(f"the queue did not end: {slurm.ask('squeue')}")
        while waiting and waiting[0]["comes_s"] <= now - began:
            job = waiting.pop(0)
            n_nodes, text = script(job, kind, folder)
            submitted[job["job"]] = time.time()
            words = ["sbatch", "--parsable", f"--nodes={n_nodes}", f"--ntasks-per-node={N_SLOTS}",
                     f"--job-name={kind}-{job['job']}", "--output=/dev/null", f"--wrap={text}"]
            subprocess.run(words, env=environment, check=True, capture_output=True)
        used.append((now - began, N_NODES - slurm.n_idle()))
        time.sleep(EVERY_S)
    if policy:
        policy.terminate()
        policy.wait()
    rows = []
    for job in queue:
        begins, ends = times(job, kind, folder)
        came = submitted[job["job"]]
        output = pathlib.Path(f"{folder}/out-{kind}-{job['job']}").read_text()
        if "digest" not in output:
            sys.exit(f"job {job['job']} did not end well: {output}")
        n_resizes = output.count("resize ")
        rows.append({"kind": kind, **job, "came_s": came - began, "begins_s": begins - began, "ends_s": ends - began,
                     "resizes": n_resizes, "digest": output.split()[1]})
    slurm.wait(lambda: slurm.n_idle() == N_NODES, "all nodes are idle again")
    return rows, used


def times(job, kind, folder):
    path = pathlib.Path(f"{folder}/{kind}-{job['job']}")
    return [float(line) for line in path.read_text().split()] if path.exists() else []


def summary(rows, used):
    makespan_s = max(row["ends_s"] for row in rows) - min(row["came_s"] for row in rows)
    busy = [n for at_s, n in used if at_s <= makespan_s]
    return {"makespan_s": makespan_s, "waiting_s": statistics.mean(row["begins_s"] - row["came_s"] for row in rows),
            "completion_s": statistics.mean(row["ends_s"] - row["came_s"] for row in rows),
            "nodes_used": statistics.mean(busy), "resizes": sum(row["resizes"] for row in rows)}


def measure(n_repetitions):
    results, all_rows, all_used = [], [], {}
    for repetition in range(n_repetitions):
        queue = jobs(repetition)
        for kind in ["rigid", "malleable"]:
            with Slurm(N_NODES, N_SLOTS) as slurm, tempfile.TemporaryDirectory() as folder:
                for name in ["sintonia", "examples/rod"]:
                    shutil.copy(BUILT / name, folder)
                rows, used = run_queue(slurm, queue, kind, folder)
                if kind == "malleable":
                    print(pathlib.Path(f"{folder}/policy.log").read_text(), file=sys.stderr)
            found = summary(rows, used)
            results.append({"repetition": repetition + 1, "kind": kind,
                            **{name: f"{value:.2f}" for name, value in found.items()}})
            all_rows += [{"repetition": repetition + 1, **{name: f"{value:.2f}" if isinstance(value, float) else value
                                                          for name, value in row.items()}} for row in rows]
            all_used[repetition + 1, kind] = used
            print(results[-1], file=sys.stderr)
    return results, all_rows, all_used


def check(rows):
    """A program that changed its size has the result of the one that did not."""
    for row in rows:
        other = next(other for other in rows if other["kind"] != row["kind"] and other["job"] == row["job"]
                     and other["repetition"] == row["repetition"])
        if other["digest"] != row["digest"]:
            sys.exit(f"results differ: {row} and {other}")


def report(results):
    lines = []
    names = ["makespan_s", "waiting_s", "completion_s"]
    for repetition in sorted({row["repetition"] for row in results}):
        rigid, malleable = (next(row for row in results if row["repetition"] == repetition and row["kind"] == kind)
                            for kind in ["rigid", "malleable"])
        line = [str(repetition)]
        for name in names:
            before, after = float(rigid[name]), float(malleable[name])
            line.append(f"{before:.1f} s, {after:.1f} s ({100 * (after / before - 1):+.0f} %)")
        line += [f"{float(rigid['nodes_used']):.2f}, {float(malleable['nodes_used']):.2f}",
                 str(round(float(malleable["resizes"])))]
        lines.append(line)
    header = ["queue", "makespan: rigid, malleable", "mean waiting", "mean completion", "nodes in use", "resizes"]
    tables.fill(HERE / "README.md", "results", header, lines)
    for line in lines:
        print(", ".join(line))


def main():
    os.chdir(HERE)
    results, rows, used = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    check(rows)
    tables.write(HERE / "results.csv", results)
    tables.write(HERE / "jobs.csv", rows)
    plots.nodes(HERE / "nodes.svg", N_NODES, {kind: used[1, kind] for kind in ["rigid", "malleable"]})
    report(results)


if __name__ == "__main__":
    main()
