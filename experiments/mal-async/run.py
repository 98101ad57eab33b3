#!/usr/bin/env python3
"""Changes the size of a solver while it computes: constant data travel meanwhile. Writes results.csv and results.svg and fills the
page. Needs root, and `cargo build --release --package cg` first.

usage: experiments/mal-async/run.py [REPETITIONS]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import resizes  # noqa: E402
import tables  # noqa: E402

CASES = {"sync": ["--redistribution", "sync"], "async": ["--redistribution", "async"], "get": ["--redistribution", "get"]}


def main():
    resizes.draw_source(HERE, "Seconds to move data in the source", [("while it stands still", "#b0563b", "sync_part_s"), ("while it computes", "#2f6f9f", "async_part_s")])
    runs = resizes.measure(CASES)
    rows = [{"sources": before, "targets": after, "case": name, "total_s": f"{resizes.mean(some, lambda run: run['total_s']):.3f}",
             "sync_part_s": f"{resizes.mean(some, resizes.seconds('variable')):.4f}",
             "async_part_s": f"{resizes.mean(some, resizes.seconds('constant')):.4f}",
             "wait_s": f"{resizes.mean(some, resizes.seconds('wait')):.4f}",
             "overlapped_iterations": f"{resizes.mean(some, lambda run: run['iterations_meanwhile']):.1f}"}
            for (before, after, name), some in runs.items()]
    tables.write(HERE / "results.csv", rows)
    colors = ("#777777", "#2f6f9f", "#7a9e3b")
    series = [(name, color, {(row["sources"], row["targets"]): float(row["wait_s"]) for row in rows if row["case"] == name})
              for name, color in zip(CASES, colors)]
    resizes.bars(HERE / "results.svg", "Seconds for which the program stands still, here", series)
    lines = []
    for before, after in resizes.pairs():
        cells = [f"{1e3 * resizes.mean(runs[before, after, name], resizes.seconds('wait')):.1f} ms" for name in CASES]
        iterations = resizes.mean(runs[before, after, "async"], lambda run: run["iterations_meanwhile"])
        judged = resizes.better(runs, (before, after), ("sync", "async"), lambda run: run["total_s"])
        lines.append([str(before), str(after), *cells, f"{iterations:.1f}", judged])
    resizes.report(HERE, ["from", "to", *(f"wait, {name}" for name in CASES), "iterations meanwhile, async",
                                                "shorter run of sync and async"], lines)


if __name__ == "__main__":
    main()
