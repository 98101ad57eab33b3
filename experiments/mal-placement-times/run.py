#!/usr/bin/env python3
"""New processes on both nodes alike, or on one until it is full. Writes results.csv and results.svg and fills the page. Needs
root, and `cargo build --release --package cg` first.

usage: experiments/mal-placement-times/run.py [REPETITIONS]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import resizes  # noqa: E402
import tables  # noqa: E402

CASES = {f"{how}, {where}": ["--redistribution", how, "--placement", where]
         for how in ("async", "sync") for where in ("balance", "fill")}
COLORS = ("#2f6f9f", "#9cc3de", "#b0563b", "#dfae9e")


def main():
    resizes.draw_source(HERE, "Seconds of a run in the source", [("async, balance", "#2f6f9f", "async_bestfit_s"), ("async, fill", "#9cc3de", "async_worstfit_s"), ("sync, balance", "#b0563b", "sync_bestfit_s"), ("sync, fill", "#dfae9e", "sync_worstfit_s")])
    runs = resizes.measure(CASES)
    total = lambda run: run["total_s"]
    rows = [{"sources": before, "targets": after,
             **{f"{name.replace(', ', '_')}_s": f"{resizes.mean(runs[before, after, name], total):.3f}" for name in CASES}}
            for before, after in resizes.pairs()]
    tables.write(HERE / "results.csv", rows)
    series = [(name, color, {(before, after): resizes.mean(runs[before, after, name], total) for before, after in resizes.pairs()})
              for name, color in zip(CASES, COLORS)]
    resizes.bars(HERE / "results.svg", "Seconds of a run, here", series)
    lines = []
    for before, after in resizes.pairs():
        cells = [f"{resizes.mean(runs[before, after, name], total):.3f} s" for name in CASES]
        judged = [resizes.better(runs, (before, after), (f"{how}, balance", f"{how}, fill"), total) for how in ("async", "sync")]
        lines.append([str(before), str(after), *cells, *judged])
    resizes.report(HERE, ["from", "to", *CASES, "shorter, async", "shorter, sync"], lines)


if __name__ == "__main__":
    main()
