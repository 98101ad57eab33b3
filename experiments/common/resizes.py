"""Conjugate gradients that change their number of ranks once, with MPICH 5: on this machine, or on two nodes of a virtual cluster.

The solver is apps/cg. It begins with one rank and grows at once to P, so that every rank is a world of its own, which can
leave by itself; what is measured is the change from P to H later on. A row of the matrix takes its rank a given time, most of
it asleep, so that ranks can be more than cores. Needs `cargo build --release --package cg`, and root where there are nodes.
"""
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import tables
from cluster import SUBNET, Cluster

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CG = pathlib.Path(os.environ.get("CG", ROOT / "target/release/cg"))
MPIEXEC = ROOT / "target/venv-mpich5/bin/mpiexec"
SIZES = [int(size) for size in os.environ.get("SIZES", "1,2,4,8").split(",")]
SLOTS = 8
# The matrix, how often a row is passed, how long it takes its rank, and when the size changes.
MATRIX, N_ITERATIONS, WAIT_US, CHANGE_AT = "laplace3d:36", 130, 0.3, 40
REPETITIONS, TIMEOUT_S, N_TRIES = 10, 30, 3
# Runs that failed, with why, and how many were made in all.
again, n_runs = [], 0


def pairs():
    return [(before, after) for before in SIZES for after in SIZES if before != after]


class Failed(Exception):
    """A run that did not do what it should."""


class Nodes:
    """Where ranks run: this machine, or two nodes with a core each."""

    def __init__(self, n_nodes):
        self.n_nodes, self.cluster = n_nodes, None

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.launcher, self.options = [MPIEXEC], []
        if self.n_nodes == 2:
            self.cluster = Cluster(2, cpu_share=1).__enter__()
            hosts = pathlib.Path(self.folder.name) / "hosts"
            hosts.write_text(f"sntx-n1:{SLOTS}\nsntx-n2:{SLOTS}\n")
            self.launcher += ["-launcher", "ssh", "-launcher-exec", self.cluster.wrapper, "-localhost", f"{SUBNET}.254",
                              "-f", hosts]
            named = pathlib.Path(self.folder.name) / "named"
            named.write_text(f"sntx-n1 slots={SLOTS}\nsntx-n2 slots={SLOTS}\n")
            self.options = ["--hostfile", named, "--manager", "hosts"]
        return self

    def __exit__(self, *what):
        if self.cluster:
            self.cluster.__exit__(*what)
        self.folder.cleanup()

    def variables(self):
        # What malleable programs choose by themselves where there are several nodes.
        return {**os.environ, "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp;ofi_rxm"}

    def solve(self, options, n_ranks=1):
        """What the solver says of a run that begins with so many ranks, and the lines of its record."""
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            words = [*self.launcher, "-n", n_ranks, CG, "--generate", MATRIX, "--iterations", N_ITERATIONS, "--tolerance", "0",
                     "--reproducible", "--wait-us-per-row", WAIT_US, "--json", "--record", folder,
                     "--control", f"{folder}/control", *self.options, *options]
            words = [str(word) for word in words]
            try:
                done = subprocess.run(words, env=self.variables(), text=True, timeout=TIMEOUT_S, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
            except subprocess.TimeoutExpired:
                raise Failed(f"`{' '.join(words)}` took longer than {TIMEOUT_S} s") from None
            said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            if done.returncode not in (0, 3) or not said:
                raise Failed(f"`{' '.join(words)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
            record = pathlib.Path(folder, "resizes.jsonl")
            return said[0], [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []

    def run(self, before, after, options):
        """Times of one run, its solution, and what its record says of the change that counts."""
        schedule = [f"{CHANGE_AT}:{after}"] if before == 1 else [f"1:{before}", f"{CHANGE_AT}:{after}"]
        said, changes = self.solve(["--schedule", ",".join(schedule), *options])
        if [(change["to"], change["outcome"]) for change in changes][-1:] != [(after, "done")]:
            raise Failed(f"{before} -> {after} with {options}: {[change['sentence'] for change in changes]}")
        return {"total_s": said["iterations_s"], "solution": said["solution"], **changes[-1]}


def tried(run):
    """What a run gives; it is made again when it fails, and counted."""
    global n_runs
    for left in reversed(range(N_TRIES)):
        n_runs += 1
        try:
            return run()
        except Failed as error:
            print(error, file=sys.stderr)
            again.append(str(error))
            if left == 0:
                sys.exit(f"{N_TRIES} tries failed")


def measure(cases, n_repetitions=None, n_nodes=2):
    """Runs of each pair and case `{name: options}`; cases take turns, so that noise hits all alike."""
    n_repetitions = n_repetitions or int(sys.argv[1] if len(sys.argv) > 1 else REPETITIONS)
    runs, solutions = {}, set()
    with Nodes(n_nodes) as nodes:
        for repetition in range(n_repetitions):
            for before, after in pairs():
                for name, options in cases.items():
                    run = tried(lambda: nodes.run(before, after, options))
                    runs.setdefault((before, after, name), []).append(run)
                    solutions.add(run["solution"])
                    print(f"{repetition + 1}: {before} -> {after}, {name}: {run['total_s']:.2f} s", file=sys.stderr)
    if len(solutions) != 1:
        sys.exit(f"solutions differ: {solutions}")
    return runs


def alone(n_repetitions=3):
    """Seconds of an iteration with each size, where nothing changes."""
    with Nodes(2) as nodes:
        times = lambda size: [tried(lambda: nodes.solve([], size))[0]["iteration_s"] for _ in range(n_repetitions)]
        return {size: statistics.median(times(size)) for size in SIZES}


def seconds(phase):
    """What takes so long in a change, of a run."""
    return lambda run: run["seconds"][phase]


def overlapped_s(run):
    """Seconds of an iteration while a change was under way, before the program stood still."""
    spent = run["seconds"]
    under_way = spent["spawn"] + spent["connect"] + spent["constant"]
    return under_way / run["iterations_meanwhile"] if run["iterations_meanwhile"] else math.nan


def mean(runs, of):
    return statistics.fmean(of(run) for run in runs)


def student_tail(t, degrees):
    """The probability beyond |t| on both sides, of Student's distribution: the integral by Simpson's rule."""
    norm = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    density = lambda x: norm * (1 + x * x / degrees) ** (-(degrees + 1) / 2)
    n_steps, width = 2000, abs(t) / 2000
    inner = sum((1 if k in (0, n_steps) else 4 if k % 2 else 2) * density(k * width) for k in range(n_steps + 1))
    return max(0.0, 1 - 2 * inner * width / 3)


def welch(one, other):
    """The probability that two samples with such means are of one mean (Welch's test)."""
    squares = [statistics.variance(some) / len(some) for some in (one, other)]
    if sum(squares) == 0:
        return 1.0 if statistics.fmean(one) == statistics.fmean(other) else 0.0
    t = (statistics.fmean(one) - statistics.fmean(other)) / math.sqrt(sum(squares))
    degrees = sum(squares) ** 2 / sum(square ** 2 / (len(some) - 1) for square, some in zip(squares, (one, other)))
    return student_tail(t, degrees)


def better(runs, key, names, of):
    """The case with the smaller mean, when a test at 95 % tells the two apart; otherwise `same`."""
    one, other = ([of(run) for run in runs[(*key, name)]] for name in names)
    if len(one) < 2 or 0.05 <= welch(one, other):
        return "same"
    return names[0] if statistics.fmean(one) < statistics.fmean(other) else names[1]


def source(here):
    """Rows of the source's table by sizes."""
    return {(int(row["sources"]), int(row["targets"])): row for row in tables.read(here / "source.csv")}


def report(here, header, lines):
    """Fills the table of the page, and shows the picture below it."""
    page, picture = here / "README.md", "![Figures of this machine](results.svg)"
    tables.fill(page, "results", header, lines)
    text = page.read_text()
    end = "<!-- end of results -->\n"
    if picture not in text:
        text = text.replace(end, f"{end}\n{picture}\n")
    counted = f"Of {n_runs} runs, {len(again)} failed and were made again.\n"
    text = re.sub(r"Of \d+ runs, \d+ failed and were made again\.\n", counted, text)
    if counted not in text:
        text = text.replace(end, f"{end}\n{counted}")
    page.write_text(text)


def draw_source(here, title, columns, wanted=lambda row: True):
    """The source's figures: `columns` are names, colors and columns of its table."""
    rows = [row for row in tables.read(here / "source.csv") if wanted(row)]
    key = lambda row: (int(row["sources"]), int(row["targets"]))
    bars(here / "source.svg", title, [(name, color, {key(row): float(row[column]) for row in rows if row[column]})
                                      for name, color, column in columns])


def bars(path, title, series, unit="s"):
    """Bars for each pair of sizes, a color for each series `(name, color, {(before, after): value})`; the axis is
    logarithmic."""
    keys = sorted({key for *_, values in series for key in values})
    found = [value for *_, values in series for value in values.values() if value > 0]
    wide, tall, left, top = max(720, 44 * len(keys) + 80), 340, 64, 52
    low, high = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)) + 0.05)
    y = lambda value: tall - 44 - (tall - 44 - top) * (math.log10(value) - low) / (high - low)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" font-family="sans-serif" font-size="11">'
             f'<rect width="{wide}" height="{tall}" fill="white"/><text x="{left}" y="18" font-size="13">{title}</text>']
    for power in range(low, high + 1):
        parts.append(f'<path d="M{left} {y(10 ** power):.1f}H{wide - 8}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{y(10 ** power) + 4:.1f}" text-anchor="end">{10.0 ** power:g} {unit}</text>')
    group = (wide - left - 12) / len(keys)
    bar = 0.84 * group / len(series)
    for place, key in enumerate(keys):
        for number, (_, color, values) in enumerate(series):
            if values.get(key, 0) > 0:
                x = left + 6 + place * group + number * bar
                parts.append(f'<rect x="{x:.1f}" y="{y(values[key]):.1f}" width="{bar * 0.92:.1f}" '
                             f'height="{max(tall - 44 - y(values[key]), 0.5):.1f}" fill="{color}"/>')
        parts.append(f'<text x="{left + 6 + place * group + 0.42 * group:.1f}" y="{tall - 28}" '
                     f'text-anchor="middle">{key[0]}→{key[1]}</text>')
    for place, (name, color, _) in enumerate(series):
        parts.append(f'<rect x="{left + 170 * place}" y="28" width="11" height="11" fill="{color}"/>'
                     f'<text x="{left + 16 + 170 * place}" y="38">{name}</text>')
    pathlib.Path(path).write_text("\n".join([*parts, "</svg>\n"]))
