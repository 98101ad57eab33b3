#!/usr/bin/env python3
"""Measures nbody here with up to 6 workers, predicts other numbers of them and of bodies, and compares. Writes results.csv and results.svg, and fills the page. Needs root, and `cargo build --release --package nbody`.

usage: experiments/pred-nbody/here.py
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import measured  # noqa: E402

N_REPETITIONS, CPU_SHARE, N_STEPS = 6, 0.12, 10
SIZES, WORKERS = [800, 1200, 1600, 2000], [1, 2, 4, 6]
UNSEEN = [{"n": [1400, 2400], "p": [1, 3, 8]}, {"n": [1200, 2000], "p": [3, 8]}]
SHOWN = [1, 3, 6, 8]


def main():
    program = measured.ROOT / "target/release/nbody"
    command = f"{measured.LAUNCHER} {program} --bodies {{n}} --steps {N_STEPS} --policy static --workers all"
    plan = measured.plan(command, {"n": SIZES, "p": WORKERS}, UNSEEN, repetitions=N_REPETITIONS, timeout_s=60,
                         expected_s="0.6 + 4.5e-7 * n^2 / p")
    folder, said = measured.measure(HERE.name, plan, [*WORKERS, 3, 8], CPU_SHARE)
    rows, model = measured.judge(folder)
    groups = [(f"{p} workers", lambda row, p=p: int(row["p"]) == p) for p in SHOWN]
    measured.report(HERE, [(rows, model, said)], ["n", "p"], groups)


if __name__ == "__main__":
    main()
