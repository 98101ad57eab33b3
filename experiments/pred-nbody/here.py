#!/usr/bin/env python3
"""Measures nbody here with up to 6 workers, predicts other numbers of them and of bodies, and compares. Writes results.csv and results.svg, and fills the page. Needs root, and `cargo build --release --package nbody`.

usage: experiments/pred-nbody/here.py
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import measured  # noqa: E402

N_REPETITIONS, N_STEPS = 6, 5
# A body takes its worker so long, nearly all of it asleep: eight workers cannot compute on two cores.
WAIT_US = 400
SIZES, WORKERS = [400, 550, 700, 850], [1, 2, 4, 6]
UNSEEN = [{"n": [625, 1000], "p": [1, 3, 8]}, {"n": [550, 850], "p": [3, 8]}]
SHOWN = [1, 3, 6, 8]


def main():
    program = measured.ROOT / "target/release/nbody"
    options = f"--steps {N_STEPS} --policy static --workers all --wait-us-per-body {WAIT_US}"
    command = f"{measured.LAUNCHER} {program} --bodies {{n}} {options}"
    plan = measured.plan(command, {"n": SIZES, "p": WORKERS}, UNSEEN, repetitions=N_REPETITIONS, timeout_s=60,
                         expected_s="0.5 + 0.002 * n / p")
    folder, said = measured.measure(HERE.name, plan, [*WORKERS, 3, 8])
    rows, model = measured.judge(folder)
    groups = [(f"{p} workers", lambda row, p=p: int(row["p"]) == p) for p in SHOWN]
    measured.report(HERE, [(rows, model, said)], ["n", "p"], groups)


if __name__ == "__main__":
    main()
