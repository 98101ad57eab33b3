#!/usr/bin/env python3
"""Runs xfire with 2 to 7 workers, alone and observed in turn, and writes results.csv and plot.svg.

Observed means `sintonia run --trace`: every MPI call is recorded, as the source's tool recorded its events.
Times are of the simulation as xfire prints it, so that starting processes counts on neither side; medians of
PAIRS pairs. Needs `make demo` first (it builds sintonia and xfire).

usage: experiments/mate-xfire-times/run.py [PAIRS]
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
SINTONIA = ROOT / "target/release/sintonia"
XFIRE = ROOT / "target/xfire-openmpi/xfire"
WORK = ["--points", "60000", "--end_min", "2", "--substeps", "2", "--wait_us", "10", "--no_output"]


def command(workers):
    return ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-np", str(workers + 1),
            str(XFIRE), str(ROOT / "apps/xfire/data/ellipse.conf"), *WORK]


def seconds(prefix, workers):
    """Time of one simulation."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run([*prefix, *command(workers)], env=environment, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    return float(re.search(r"iterations to minute .* in ([0-9.]+) s", done.stdout).group(1))


def observed(workers):
    with tempfile.TemporaryDirectory() as folder:
        return seconds([str(SINTONIA), "run", "--trace", "--quiet", "--out", f"{folder}/run", "--"], workers)


def measure(pairs):
    rows = []
    for workers in range(2, 8):
        alone, watched = [], []
        for pair in range(pairs):
            alone.append(seconds([], workers))
            watched.append(observed(workers))
            print(f"{workers} workers, pair {pair + 1}: {alone[-1]:.2f} s alone, {watched[-1]:.2f} s observed",
                  file=sys.stderr)
        ratio = statistics.median(w / a for a, w in zip(alone, watched))
        rows.append({"workers": workers, "plain_s": f"{statistics.median(alone):.3f}",
                     "monitored_untuned_s": f"{statistics.median(watched):.3f}",
                     "overhead_percent": f"{100 * (ratio - 1):.2f}"})
    return rows


def source_overheads():
    with open(HERE / "source.csv", newline="") as file:
        return {int(row["workers"]): 100 * (float(row["monitored_untuned_s"]) / float(row["plain_s"]) - 1)
                for row in csv.DictReader(file)}


def plot(rows):
    """Overhead by workers: the source's and ours, as bars."""
    series = [("source", "#b0563b", source_overheads()),
              ("Sintonia", "#2f6f9f", {row["workers"]: float(row["overhead_percent"]) for row in rows})]
    width, height, left, bottom, top = 640, 320, 60, 40, 30
    highest = max(max(values.values()) for *_, values in series) * 1.1
    y = lambda value: height - bottom - (height - bottom - top) * max(value, 0) / highest
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             f'font-size="12"><rect width="{width}" height="{height}" fill="white"/>']
    for tick in range(0, int(highest) + 1, 5):
        parts.append(f'<path d="M{left} {y(tick)}H{width - 10}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y(tick) + 4}" text-anchor="end">{tick} %</text>')
    step = (width - left - 20) / len(rows)
    for place, row in enumerate(rows):
        for offset, (_, color, values) in enumerate(series):
            value = values[int(row["workers"])]
            x = left + 10 + place * step + offset * step * 0.38
            parts.append(f'<rect x="{x:.0f}" y="{y(value):.1f}" width="{step * 0.34:.0f}" '
                         f'height="{height - bottom - y(value):.1f}" fill="{color}"/>'
                         f'<text x="{x + step * 0.17:.0f}" y="{y(value) - 4:.1f}" text-anchor="middle">{value:.1f}</text>')
        parts.append(f'<text x="{left + 10 + place * step + step * 0.36:.0f}" y="{height - bottom + 16}" '
                     f'text-anchor="middle">{row["workers"]} workers</text>')
    for place, (name, color, _) in enumerate(series):
        parts.append(f'<rect x="{left + 10 + 110 * place}" y="8" width="12" height="12" fill="{color}"/>'
                     f'<text x="{left + 27 + 110 * place}" y="18">{name}</text>')
    (HERE / "plot.svg").write_text("\n".join([*parts, "</svg>\n"]))


def main():
    rows = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    with open(HERE / "results.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    plot(rows)
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
