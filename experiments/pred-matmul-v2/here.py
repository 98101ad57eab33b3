#!/usr/bin/env python3
"""Measures the second matrix product here on up to 6 workers, predicts other numbers of them and larger matrices, and compares. Writes results.csv and results.svg, and fills the page. Needs root.

usage: experiments/pred-matmul-v2/here.py
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import measured  # noqa: E402

N_REPETITIONS, CPU_SHARE = 8, 0.12
SIZES, WORKERS = [500, 650, 800, 950], [1, 2, 4, 6]
UNSEEN = [{"n": [720, 1100], "p": [1, 3, 8]}, {"n": [650, 950], "p": [3, 8]}]
SHOWN = [1, 3, 6, 8]


def main():
    command = f"{measured.LAUNCHER} {measured.matmul()}/matmul2 {{n}}"
    plan = measured.plan(command, {"n": SIZES, "p": WORKERS}, UNSEEN, repetitions=N_REPETITIONS, timeout_s=60,
                         functions=["multiply"], expected_s="0.5 + 4e-9 * n^3 / p")
    folder, said = measured.measure(HERE.name, plan, [*WORKERS, 3, 8], CPU_SHARE)
    rows, model = measured.judge(folder)
    groups = [(f"{p} workers", lambda row, p=p: int(row["p"]) == p) for p in SHOWN]
    measured.report(HERE, [(rows, model, said)], ["n", "p"], groups)


if __name__ == "__main__":
    main()
