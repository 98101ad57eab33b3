#!/usr/bin/env python3
"""Measures the second matrix product here on up to 6 workers, predicts other numbers of them and larger matrices, and compares. Writes results.csv and results.svg, and fills the page. Needs root.

usage: experiments/pred-matmul-v2/here.py
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import measured  # noqa: E402

N_REPETITIONS = 7
# A product of two numbers takes its worker so much longer, asleep: eight workers cannot compute on two cores.
WAIT_NS = 8
SIZES, WORKERS = [400, 500, 600, 700], [1, 2, 4, 6]
UNSEEN = [{"n": [550, 800], "p": [1, 3, 8]}, {"n": [500, 700], "p": [3, 8]}]
SHOWN = [1, 3, 6, 8]


def main():
    command = f"{measured.LAUNCHER} {measured.matmul()}/matmul2 {{n}} {WAIT_NS}"
    plan = measured.plan(command, {"n": SIZES, "p": WORKERS}, UNSEEN, repetitions=N_REPETITIONS, timeout_s=60,
                         functions=["multiply"], expected_s="0.5 + 8e-9 * n^3 / p")
    folder, said = measured.measure(HERE.name, plan, [*WORKERS, 3, 8])
    rows, model = measured.judge(folder)
    groups = [(f"{p} workers", lambda row, p=p: int(row["p"]) == p) for p in SHOWN]
    measured.report(HERE, [(rows, model, said)], ["n", "p"], groups)


if __name__ == "__main__":
    main()
