#!/usr/bin/env python3
"""How much slower iterations are while the size changes. Writes results.csv and results.svg and fills the page. Needs root, and
`cargo build --release --package cg` first.

usage: experiments/mal-overlap-cost/run.py [REPETITIONS]
"""
import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import resizes  # noqa: E402
import tables  # noqa: E402

CASES = {"async": ["--redistribution", "async"]}


def main():
    resizes.draw_source(HERE, "Seconds of an iteration in the source", [("alone", "#777777", "iteration_alone_s"), ("meanwhile", "#b0563b", "iteration_overlapped_s")])
    runs = resizes.measure(CASES)
    alone = resizes.alone()
    rows = []
    for (before, after, _), some in runs.items():
        found = [value for value in map(resizes.overlapped_s, some) if not math.isnan(value)]
        overlapped = statistics.fmean(found) if found else math.nan
        rows.append({"sources": before, "targets": after, "iteration_alone_s": f"{alone[before]:.5f}",
                     "iteration_overlapped_s": f"{overlapped:.5f}", "slower": f"{overlapped / alone[before]:.2f}"})
    tables.write(HERE / "results.csv", rows)
    theirs = resizes.source(HERE)
    ratio = {key: float(row["iteration_overlapped_s"]) / float(row["iteration_alone_s"]) for key, row in theirs.items()}
    ours = {(row["sources"], row["targets"]): float(row["slower"]) for row in rows if row["slower"] != "nan"}
    resizes.bars(HERE / "results.svg", "An iteration while the size changes, as a multiple of one alone",
                 [("source", "#b0563b", ratio), ("here", "#2f6f9f", ours)], unit="x")
    resizes.report(HERE, ["from", "to", "alone", "meanwhile", "times"],
                [[str(row["sources"]), str(row["targets"]), f"{1e3 * float(row['iteration_alone_s']):.2f} ms",
                  f"{1e3 * float(row['iteration_overlapped_s']):.2f} ms", row["slower"]] for row in rows])


if __name__ == "__main__":
    main()
