#!/usr/bin/env python3
"""What it takes to start processes, by strategy. Writes results.csv and results.svg and fills the page. Needs root, and
`cargo build --release --package cg` first.

usage: experiments/mal-spawn/run.py [REPETITIONS]
"""
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import resizes  # noqa: E402
import tables  # noqa: E402

CASES = {
    "all new, one call": ["--strategy", "baseline", "--spawn", "one", "--foreground"],
    "all new, tree": ["--strategy", "baseline", "--spawn", "tree", "--foreground"],
    "merge, tree": ["--strategy", "merge", "--spawn", "tree", "--foreground"],
    "merge, one after the other": ["--strategy", "merge", "--spawn", "sequential", "--foreground"],
}
COLORS = ("#b0563b", "#dfae9e", "#2f6f9f", "#9cc3de")


def started_s(run):
    """Until new processes are joined with those that are there."""
    return run["seconds"]["spawn"] + run["seconds"]["connect"]


def draw_source():
    """Both placements of the source beside each other."""
    rows = tables.read(HERE / "source.csv")
    key = lambda row: (int(row["sources"]), int(row["targets"]))
    series = [(name, color, {key(row): float(row["mean_s"]) for row in rows if row["placement"] == placement})
              for name, color, placement in (("balance", "#b0563b", "best-fit"), ("fill", "#dfae9e", "worst-fit"))]
    resizes.bars(HERE / "source.svg", "Seconds until processes are started, in the source", series)


def main():
    draw_source()
    runs = resizes.measure(CASES)
    rows = []
    for (before, after, name), some in runs.items():
        found = [started_s(run) for run in some]
        rows.append({"case": name, "sources": before, "targets": after, "mean_s": f"{statistics.fmean(found):.4f}",
                     "median_s": f"{statistics.median(found):.4f}",
                     "std_s": f"{statistics.stdev(found) if 1 < len(found) else 0:.4f}"})
    tables.write(HERE / "results.csv", rows)
    series = [(name, color, {(row["sources"], row["targets"]): float(row["mean_s"]) for row in rows if row["case"] == name})
              for name, color in zip(CASES, COLORS)]
    resizes.bars(HERE / "results.svg", "Seconds until processes are started and joined, here", series)
    by_key = {(row["case"], row["sources"], row["targets"]): row for row in rows}
    lines = []
    for before, after in resizes.pairs():
        cells = [f"{1e3 * float(by_key[name, before, after]['mean_s']):.0f} ± {1e3 * float(by_key[name, before, after]['std_s']):.0f} ms"
                 for name in CASES]
        lines.append([str(before), str(after), *cells])
    resizes.report(HERE, ["from", "to", *CASES], lines)


if __name__ == "__main__":
    main()
