#!/usr/bin/env python3
"""Measures how long matrices take to be filled here, predicts larger ones, and compares. Writes results.csv and results.svg, and fills the page. Plain, without a cluster.

usage: experiments/pred-matrix-init/here.py
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import measured  # noqa: E402

N_REPETITIONS = 15
SIZES, LARGER = [400, 600, 800, 1000, 1200, 1400], [1700, 2000, 2300]


def main():
    command = f"mpirun.openmpi --oversubscribe -np 1 {measured.matmul()}/matrixinit {{n}}"
    plan = measured.plan(command, {"n": SIZES}, [{"n": LARGER}], on_nodes=False, repetitions=N_REPETITIONS,
                         timeout_s=60, expected_s="0.35")
    folder, said = measured.measure(HERE.name, plan)
    rows, model = measured.judge(folder)
    measured.report(HERE, [(rows, model, said)], ["n"], [("matrixinit", lambda row: True)])


if __name__ == "__main__":
    main()
