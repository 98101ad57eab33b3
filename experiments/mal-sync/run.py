#!/usr/bin/env python3
"""Changes the size of a solver while it stands still: times of all runs and of the change. Writes results.csv and results.svg and
fills the page. Needs root, and `cargo build --release --package cg` first.

usage: experiments/mal-sync/run.py [REPETITIONS]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import resizes  # noqa: E402
import tables  # noqa: E402

# As the source does it: all targets are new, and the program waits for them and for all data.
CASES = {
    "as the source": ["--redistribution", "sync", "--strategy", "baseline", "--spawn", "one", "--foreground"],
    "merge": ["--redistribution", "sync"],
}


def main():
    resizes.draw_source(HERE, "Seconds to move all data while the program stands still, in the source", [("redistribution", "#b0563b", "redistribution_s")])
    runs = resizes.measure(CASES)
    rows = [{"sources": before, "targets": after, "case": name, "total_s": f"{resizes.mean(some, lambda run: run['total_s']):.3f}",
             "redistribution_s": f"{resizes.mean(some, moved_s):.4f}", "wait_s": f"{resizes.mean(some, resizes.seconds('wait')):.4f}"}
            for (before, after, name), some in runs.items()]
    tables.write(HERE / "results.csv", rows)
    series = [(name, color, {(row["sources"], row["targets"]): float(row["redistribution_s"]) for row in rows if row["case"] == name})
              for name, color in zip(CASES, ("#b0563b", "#2f6f9f"))]
    resizes.bars(HERE / "results.svg", "Seconds to move all data while the program stands still, here", series)
    names = list(CASES)
    resizes.report(HERE, ["from", "to", *(f"{name}, {what}" for name in names for what in ("all", "data", "wait")),
                                                "shorter run"],
                [[str(before), str(after), *cells(runs, before, after),
                  resizes.better(runs, (before, after), names, lambda run: run["total_s"])]
                 for before, after in resizes.pairs()])


def moved_s(run):
    return run["seconds"]["constant"] + run["seconds"]["variable"]


def cells(runs, before, after):
    for name in CASES:
        some = runs[before, after, name]
        yield f"{resizes.mean(some, lambda run: run['total_s']):.3f} s"
        yield f"{1e3 * resizes.mean(some, moved_s):.1f} ms"
        yield f"{1e3 * resizes.mean(some, resizes.seconds('wait')):.1f} ms"


if __name__ == "__main__":
    main()
