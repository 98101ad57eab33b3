#!/usr/bin/env python3
"""Runs nbody on a virtual cluster of 20 nodes whose load changes: with 1, 2, 4, 8, 16, 19 workers, and with a number that
is tuned, beginning with 1. Writes results.csv, workers.csv, times.svg and workers.svg, and fills the page. Needs root, and
`cargo build --release --package nbody` first.

usage: experiments/mw-nbody/run.py [REPETITIONS [PATTERN...]]
"""
import csv
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "common"))
import plots  # noqa: E402
import tables  # noqa: E402
from cluster import Cluster  # noqa: E402

NBODY = ROOT / "target/release/nbody"
N_WORKERS_MAX, N_ITERATIONS, N_BODIES = 19, 60, 1000
FIXED = [1, 2, 4, 8, 16, 19]
TUNED = "tuned"
# A body takes a worker so long where nobody else uses its node.
WAIT_US = 400
# The master's link to all nodes, and what it carries to each worker in an iteration.
LINK_MBIT, SENT_BYTES = 70, N_BODIES * 56
EACH_S = SENT_BYTES * 8 / LINK_MBIT / 1e6
# How much slower nodes are, block by block of the iterations; the mean is 1.
PATTERNS = {
    "variable": [0.7, 1.4, 0.5, 1.1, 1.6, 0.7],
    "growing": [0.4, 0.6, 0.8, 1.0, 1.2, 2.0],
    "swinging": [0.1, 1.9, 0.1, 1.9, 0.1, 1.9],
}
TIMEOUT_S, N_TRIES = 120, 3


def load(pattern, iteration):
    blocks = PATTERNS[pattern]
    return blocks[iteration * len(blocks) // N_ITERATIONS]


def time_s(n_workers, factor):
    """Time of an iteration by equation (5) of the source, without its latency: from the link and the waiting alone."""
    return n_workers * EACH_S + factor * N_BODIES * WAIT_US / 1e6 / n_workers


def best_number(factor):
    return min(range(1, N_WORKERS_MAX + 1), key=lambda n: time_s(n, factor))


def run_once(cluster, pattern, workers, folder):
    """Seconds, what the bodies are at the end, and the iterations of a run."""
    loads, timeline = pathlib.Path(folder) / "load", pathlib.Path(folder) / "timeline.csv"
    lines = [f"{iteration} {load(pattern, iteration)}\n" for iteration in range(N_ITERATIONS)]
    loads.write_text("".join(lines))
    is_tuned = workers == TUNED
    # All workers are there in every run: on few cores those that wait take a little time from the others.
    launcher, variables = cluster.launcher(N_WORKERS_MAX)
    number = ["--workers", "auto", "--first-workers", "1"] if is_tuned else ["--workers", str(workers)]
    words = [*launcher, str(NBODY), "--bodies", str(N_BODIES), "--steps", str(N_ITERATIONS), "--dt", "0.001", *number,
             "--wait-us-per-body", str(WAIT_US), "--load", str(loads), "--timeline", str(timeline)]
    done = start(words, {**os.environ, **variables})
    found = re.search(r"steps in ([0-9.]+) s; .*; bodies ([0-9a-f]+)", done)
    with open(timeline, newline="") as file:
        return float(found.group(1)), found.group(2), list(csv.DictReader(file))


def start(words, variables):
    """What the program prints; a launcher that never gets its ranks up is tried again."""
    for _ in range(N_TRIES):
        try:
            done = subprocess.run(words, env=variables, text=True, timeout=TIMEOUT_S, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            print("the launcher hung; once more", file=sys.stderr)
            continue
        if done.returncode == 0:
            return done.stdout
        sys.exit(f"`{' '.join(words)}` ended with {done.returncode}:\n{done.stdout}")
    sys.exit(f"`{' '.join(words)}` hung {N_TRIES} times")


def measure(n_repetitions, patterns):
    """All runs of each pattern and number; numbers take turns, so that noise hits all alike."""
    runs, results = {}, set()
    with Cluster(N_WORKERS_MAX, cpu_share=1, link_mbit=LINK_MBIT) as cluster, tempfile.TemporaryDirectory() as folder:
        for pattern in patterns:
            for repetition in range(n_repetitions):
                for workers in [*FIXED, TUNED]:
                    elapsed_s, bodies, iterations = run_once(cluster, pattern, workers, folder)
                    runs.setdefault((pattern, workers), []).append((elapsed_s, iterations))
                    results.add(bodies)
                    print(f"{pattern}, {workers} workers, repetition {repetition + 1}: {elapsed_s:.2f} s",
                          file=sys.stderr)
    if len(results) != 1:
        sys.exit(f"results differ between runs: {results}")
    return runs


def median_run(runs):
    return sorted(runs, key=lambda run: run[0])[(len(runs) - 1) // 2]


def summarize(runs):
    rows = []
    for (pattern, workers), some in runs.items():
        times = [elapsed_s for elapsed_s, _ in some]
        rows.append({"load_pattern": pattern, "workers": workers, "time_s": f"{statistics.median(times):.3f}",
                     "spread_s": f"{max(times) - min(times):.3f}"})
    return rows


def timelines(runs):
    """The tuned run of median time of each pattern, with the load and the number that is best for it."""
    rows = []
    for pattern in dict.fromkeys(pattern for pattern, _ in runs):
        for iteration in median_run(runs[pattern, TUNED])[1]:
            factor = load(pattern, int(iteration["iteration"]))
            rows.append({"load_pattern": pattern, "iteration": iteration["iteration"], "load": factor,
                         "workers": iteration["workers"], "best": best_number(factor),
                         "duration_s": iteration["duration_s"]})
    return rows


def is_near(n_workers, factor):
    best = best_number(factor)
    return abs(n_workers - best) <= 1 or time_s(n_workers, factor) <= 1.03 * time_s(best, factor)


def reactions(rows):
    """After each change of the load: iterations until the number is at most 1 or 3 % of the time off the best one."""
    found = []
    for pattern in PATTERNS:
        here = [row for row in rows if row["load_pattern"] == pattern]
        starts = [at for at in range(1, len(here)) if here[at]["load"] != here[at - 1]["load"]]
        for at, end in zip(starts, [*starts[1:], len(here)]):
            factor = here[at]["load"]
            fits = [is_near(int(row["workers"]), factor) for row in here[at:end]]
            found.append({"pattern": pattern, "iteration": at, "before": here[at - 1]["load"], "after": factor,
                          "numbers": [row["workers"] for row in here[at - 1:at + 3]], "best": here[at]["best"],
                          "iterations": fits.index(True) if True in fits else None})
    return found


def against_best(rows, pattern):
    """How much longer the tuned run took than the best fixed number, and which that is."""
    times = {str(row["workers"]): float(row["time_s"]) for row in rows if row["load_pattern"] == pattern}
    tuned = times.pop(TUNED)
    best = min(times, key=times.get)
    return best, 100 * (tuned / times[best] - 1)


def report(rows, timeline):
    source = tables.read(HERE / "source.csv")
    sourced = {(row["load_pattern"], row["workers"]): row["time_s"] + " s" for row in source}
    lines = [[row["load_pattern"], str(row["workers"]), sourced.get((row["load_pattern"], str(row["workers"])), ""),
              row["time_s"] + " s", row["spread_s"] + " s"] for row in rows]
    tables.fill(HERE / "README.md", "results", ["load", "workers", "source", "ours", "spread"], lines)
    lines = []
    for pattern in PATTERNS:
        best, percent = against_best(rows, pattern)
        is_sourced = any(row["load_pattern"] == pattern for row in source)
        theirs = against_best(source, pattern) if is_sourced else None
        said = f"{theirs[1]:+.1f} % of {theirs[0]}" if theirs else ""
        lines.append([pattern, said, f"{percent:+.1f} % of {best}"])
    tables.fill(HERE / "README.md", "bars", ["load", "source, tuned against the best fixed number", "ours"], lines)
    changes = reactions(timeline)
    lines = [[one["pattern"], str(one["iteration"]), f"{one['before']:g} to {one['after']:g}", str(one["best"]),
              one["numbers"][0], ", ".join(one["numbers"][1:]),
              "never" if one["iterations"] is None else str(one["iterations"])] for one in changes]
    header = ["load", "iteration", "changes from", "best number", "workers before", "then", "iterations until it fits"]
    tables.fill(HERE / "README.md", "reactions", header, lines)
    plots.times(HERE / "times.svg", PATTERNS, [*map(str, FIXED), TUNED], rows, source)
    plots.workers(HERE / "workers.svg", PATTERNS, timeline)
    for line in lines:
        print(", ".join(line))


def with_others(file, rows, patterns):
    """The rows, and those of the patterns that are not measured now, in the order of the patterns."""
    others = [row for row in tables.read(file) if row["load_pattern"] not in patterns] if file.exists() else []
    for row in others:
        row.update({key: float(row[key]) for key in ("load",) if key in row})
        row.update({key: int(row[key]) for key in ("best",) if key in row})
    return sorted(others + rows, key=lambda row: list(PATTERNS).index(row["load_pattern"]))


def main():
    patterns = sys.argv[2:] or list(PATTERNS)
    runs = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3, patterns)
    rows = with_others(HERE / "results.csv", summarize(runs), patterns)
    timeline = with_others(HERE / "workers.csv", timelines(runs), patterns)
    tables.write(HERE / "results.csv", rows)
    tables.write(HERE / "workers.csv", timeline)
    report(rows, timeline)
    for pattern in PATTERNS:
        best, percent = against_best(rows, pattern)
        print(f"{pattern}: tuned takes {percent:+.1f} % against {best} workers")


if __name__ == "__main__":
    main()
