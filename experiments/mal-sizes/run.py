#!/usr/bin/env python3
"""What a program that chooses its size by itself takes, beside fixed sizes, of which one is the best that it could have. Writes
results.csv and fills the page. Needs `cargo build --release --package malleable --examples` and `scripts/setup.sh test` first.

usage: experiments/mal-sizes/run.py [REPETITIONS | cases]

With `cases`, only the random programs of `sintonia simulate sizes` are run, which needs `cargo build --release --package cli`.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402

TARGET = HERE.parent.parent / "target"
ROD = TARGET / "release" / "examples" / "rod"
LAUNCHERS = {
    "MPICH 5": [TARGET / "venv-mpich5" / "bin" / "mpiexec"],
    "Open MPI 5": [TARGET / "venv-openmpi5" / "bin" / "mpiexec", "--oversubscribe", "--bind-to", "none"],
}
VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
MIN, START, MAX = 1, 2, 8
LIMIT_S = 300
SEEDS = [1, 2]


class Case:
    """An iteration takes `work / ranks + each * ranks`, in microseconds asleep; twice as long while there is a load."""

    def __init__(self, work_us, each_us, best_s, load=None):
        self.work_us, self.each_us, self.load = work_us, each_us, load
        self.best = min(range(MIN, MAX + 1), key=self.iteration_s)
        self.n_iterations = round(best_s / self.iteration_s(self.best))

    def iteration_s(self, size):
        return 1e-6 * (self.work_us / size + self.each_us * size)


CASES = {
    "all ranks are best": Case(160000, 50, 25),
    "six ranks are best": Case(40000, 1111, 25),
    "three ranks are best": Case(20000, 2222, 25),
    "all ranks are best, a load for 8 s": Case(160000, 50, 25, load=(6, 14)),
    "six ranks are best, a load for 8 s": Case(40000, 1111, 25, load=(6, 14)),
    "all ranks are best, a short run": Case(160000, 50, 6),
    "one rank is best, a short run": Case(5000, 5000, 6),
}


class Failed(Exception):
    """A run that did not end as it should."""


def run(library, case, n_ranks, words, folder):
    """Time of a run in seconds, and the sizes that it became."""
    load = pathlib.Path(folder) / "load"
    words = [*LAUNCHERS[library], "-n", n_ranks, ROD, "--until", case.n_iterations, "--iterations", case.n_iterations, "--work-us",
             case.work_us, "--each-us", case.each_us, "--load", load, "--control", folder, *words]
    timers = []
    if case.load:
        timers = [threading.Timer(case.load[0], load.touch), threading.Timer(case.load[1], load.unlink, [True])]
    began = time.monotonic()
    for timer in timers:
        timer.start()
    done = subprocess.run([str(word) for word in words], env={**os.environ, **VARIABLES}, text=True, timeout=LIMIT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    took_s = time.monotonic() - began
    for timer in timers:
        timer.cancel()
    load.unlink(missing_ok=True)
    if done.returncode:
        raise Failed(f"`{' '.join(map(str, words))}` ended with {done.returncode}:\n{done.stderr}")
    return took_s, re.findall(r"^resize \d+ -> (\d+): Done", done.stdout, re.M)


def tried(run):
    """What a run gives; it is made once more when its launcher fails, which is told."""
    try:
        return run()
    except Failed as error:
        print(error, file=sys.stderr)
        return run()


def median(library, case, n_ranks, words, n_repetitions):
    with tempfile.TemporaryDirectory() as folder:
        runs = [tried(lambda: run(library, case, n_ranks, words, folder)) for _ in range(n_repetitions)]
    took_s = statistics.median_low([took_s for took_s, _ in runs])
    return took_s, next(sizes for took, sizes in runs if took == took_s)


def simulate():
    """Random programs: cases.csv, and their table on the page."""
    rows = []
    for seed in SEEDS:
        words = [TARGET / "release" / "sintonia", "simulate", "sizes", "--cases", "400", "--seed", str(seed), "--json"]
        judged = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        rows += [{"seed": seed, "runs": of["runs"], "size": of["rule"], "cases": of["cases"],
                  **{f"of_best_{key}": f"{of['of_best'][key]:.3f}" for key in ("mean", "p90", "p99", "max")},
                  **{f"of_simple_{key}": f"{of['of_simple'][key]:.3f}" for key in ("mean", "p90", "max")},
                  "resizes": of["resizes"]["median"], "resizes_max": of["resizes"]["max"]} for of in judged]
    tables.write(HERE / "cases.csv", rows)
    header = ["seed", "runs", "size", "cases", "of the best: mean", "p90", "p99", "largest", "of simple: mean", "p90", "largest",
              "resizes", "most"]
    tables.fill(HERE / "README.md", "cases", header, [[str(value) for value in row.values()] for row in rows])


def main():
    if sys.argv[1:] == ["cases"]:
        return simulate()
    n_repetitions = int(sys.argv[1]) if sys.argv[1:] else 1
    rows = []
    for library in LAUNCHERS:
        for name, case in CASES.items():
            best_s, _ = median(library, case, case.best, [], n_repetitions)
            ours_s, sizes = median(library, case, START, ["--sizes", f"{MIN}:{MAX}"], n_repetitions)
            # What sleeps is known beforehand; only the launcher's time is not.
            simple = {size: case.n_iterations * case.iteration_s(size) for size in (MIN, START, MAX)}
            loaded_s = (case.load[1] - case.load[0]) / 2 if case.load else 0
            simple_s = best_s if case.best in simple else min(simple.values()) + loaded_s
            rows.append({"library": library, "case": name, "best": case.best, "iterations": case.n_iterations,
                         "at_the_best_s": f"{best_s:.1f}", "least_max_start_s": f"{simple_s:.1f}", "ours_s": f"{ours_s:.1f}",
                         "of_best": f"{ours_s / best_s:.3f}", "of_simple": f"{ours_s / simple_s:.3f}", "became": " ".join(sizes)})
            print(*rows[-1].values(), sep="; ", flush=True)
    tables.write(HERE / "results.csv", rows)
    header = ["library", "case", "best", "at the best, s", "the best of 1, 2, 8, s", "by itself, s", "of the best", "became"]
    tables.fill(HERE / "README.md", "results", header,
                [[row["library"], row["case"], str(row["best"]), row["at_the_best_s"], row["least_max_start_s"], row["ours_s"],
                  row["of_best"], row["became"] or "kept"] for row in rows])


if __name__ == "__main__":
    main()
