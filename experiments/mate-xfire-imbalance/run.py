#!/usr/bin/env python3
"""Runs xfire on a virtual cluster with 2 to 7 workers where points south of a line cost twice as much: plain, observed
and tuned, and writes results.csv and plot.svg. Needs root, and `make demo` first (it builds sintonia and xfire).

A perfect split would let every worker take the mean of the workers' times: the plain run without what its slowest
worker takes above that mean.

usage: experiments/mate-xfire-imbalance/run.py [REPETITIONS]
"""
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402
import xfire  # noqa: E402

# Through the middle of the ellipse.
IMBALANCE = ["--imbalance", "4643000"]


def perfect_percent(here):
    """What a perfect split gains over the plain run."""
    gains = [(run["longest_s"] - run["mean_s"]) / run["elapsed_s"] for run in here["plain"]]
    return 100 * statistics.median(gains)


def main():
    runs = xfire.measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5, IMBALANCE)
    rows = [{
        "workers": workers,
        "plain_s": f"{xfire.median(here['plain']):.3f}",
        "observed_s": f"{xfire.median(here['observed']):.3f}",
        "tuned_s": f"{xfire.median(here['tuned']):.3f}",
        "plain_spread_s": f"{xfire.spread(here['plain']):.3f}",
        "tuned_spread_s": f"{xfire.spread(here['tuned']):.3f}",
        "observed_percent": f"{xfire.paired(here, 'observed'):.2f}",
        "gain_percent": f"{-xfire.paired(here, 'tuned'):.2f}",
        "perfect_gain_percent": f"{perfect_percent(here):.2f}",
    } for workers, here in runs.items()]
    tables.write(HERE / "results.csv", rows)
    ours = lambda field: {int(row["workers"]): float(row[field]) for row in rows}
    source = {int(row["workers"]): float(row["gain_percent"]) for row in tables.read(HERE / "source.csv")}
    xfire.bars(HERE / "plot.svg", "Time gained by tuning (more is better)", [
        ("source", "#b0563b", source),
        ("Sintonia", "#2f6f9f", ours("gain_percent")),
        ("a perfect split", "#bdbdbd", ours("perfect_gain_percent")),
    ])
    header = ["workers", "source, gain", "ours, plain", "spread", "tuned", "spread", "gain", "a perfect split", "of it"]
    tables.fill(HERE / "README.md", "results", header, [[
        str(row["workers"]), f"{source[int(row['workers'])]:.1f} %", f"{row['plain_s']} s", f"{row['plain_spread_s']} s",
        f"{row['tuned_s']} s", f"{row['tuned_spread_s']} s", f"{float(row['gain_percent']):.1f} %",
        f"{float(row['perfect_gain_percent']):.1f} %",
        f"{100 * float(row['gain_percent']) / float(row['perfect_gain_percent']):.0f} %",
    ] for row in rows])
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
