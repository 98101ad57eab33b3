#!/usr/bin/env python3
"""Runs xfire on a virtual cluster with 2 to 7 workers: plain, observed and tuned, without imbalance, and writes
results.csv and plot.svg. Needs root, and `make demo` first (it builds sintonia and xfire).

usage: experiments/mate-xfire-times/run.py [REPETITIONS]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import tables  # noqa: E402
import xfire  # noqa: E402


def source_changes(column):
    rows = tables.read(HERE / "source.csv")
    return {int(row["workers"]): 100 * (float(row[column]) / float(row["plain_s"]) - 1) for row in rows}


def main():
    runs = xfire.measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5, [])
    rows = [{
        "workers": workers,
        "plain_s": f"{xfire.median(here['plain']):.3f}",
        "monitored_untuned_s": f"{xfire.median(here['observed']):.3f}",
        "monitored_tuned_s": f"{xfire.median(here['tuned']):.3f}",
        "plain_spread_s": f"{xfire.spread(here['plain']):.3f}",
        "observed_percent": f"{xfire.paired(here, 'observed'):.2f}",
        "tuned_percent": f"{xfire.paired(here, 'tuned'):.2f}",
    } for workers, here in runs.items()]
    tables.write(HERE / "results.csv", rows)
    ours = lambda field: {int(row["workers"]): float(row[field]) for row in rows}
    xfire.bars(HERE / "plot.svg", "Time added to a plain run (less is better)", [
        ("source, observed", "#e0a996", source_changes("monitored_untuned_s")),
        ("source, tuned", "#b0563b", source_changes("monitored_tuned_s")),
        ("ours, observed", "#9cc3dc", ours("observed_percent")),
        ("ours, tuned", "#2f6f9f", ours("tuned_percent")),
    ])
    source = {row["workers"]: row for row in tables.read(HERE / "source.csv")}
    percent = lambda row, column: f"{100 * (float(row[column]) / float(row['plain_s']) - 1):+.1f} %"
    header = ["workers", "source, plain", "observed", "tuned", "ours, plain", "spread", "observed", "tuned"]
    tables.fill(HERE / "README.md", "results", header, [[
        str(row["workers"]), f"{source[str(row['workers'])]['plain_s']} s",
        percent(source[str(row["workers"])], "monitored_untuned_s"), percent(source[str(row["workers"])], "monitored_tuned_s"),
        f"{row['plain_s']} s", f"{row['plain_spread_s']} s",
        f"{float(row['observed_percent']):+.1f} %", f"{float(row['tuned_percent']):+.1f} %",
    ] for row in rows])
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
