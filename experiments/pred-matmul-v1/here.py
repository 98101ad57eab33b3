#!/usr/bin/env python3
"""Measures the first matrix product here, predicts larger matrices, and compares. Writes results.csv and results.svg, and fills the page. Plain, without a cluster.

usage: experiments/pred-matmul-v1/here.py
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import measured  # noqa: E402

N_REPETITIONS = 12
SIZES, LARGER = [300, 400, 500, 600, 700, 800], [950, 1100, 1250]


def main():
    command = f"mpirun.openmpi --oversubscribe -np 2 {measured.matmul()}/matmul1 {{n}}"
    plan = measured.plan(command, {"n": SIZES}, [{"n": LARGER}], on_nodes=False, repetitions=N_REPETITIONS,
                         timeout_s=60, expected_s="0.5 + 1e-9 * n^3")
    folder, said = measured.measure(HERE.name, plan)
    rows, model = measured.judge(folder)
    measured.report(HERE, [(rows, model, said)], ["n"], [("matmul1", lambda row: True)])


if __name__ == "__main__":
    main()
