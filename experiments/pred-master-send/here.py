#!/usr/bin/env python3
"""Measures a master that sends to its workers, in three cases of synchronization; predicts more workers and larger messages. Writes results.csv and results.svg, and fills the page. Needs root.

usage: experiments/pred-master-send/here.py
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import measured  # noqa: E402

N_REPETITIONS = 4
# The source's messages have 0.72 to 18 MB.
SIZES, WORKERS = [300, 600, 900, 1200], [1, 2, 4, 6]
UNSEEN = [{"n": [750, 1500], "p": [2, 3, 8]}, {"n": [600, 1200], "p": [3, 8]}]
SHOWN = [4, 8]


def main():
    build, judged = measured.matmul(), []
    for case in ("S1", "S2", "S3"):
        command = f"{measured.LAUNCHER} {build}/mastersend {case} {{n}}"
        plan = measured.plan(command, {"n": SIZES, "p": WORKERS}, UNSEEN, repetitions=N_REPETITIONS, timeout_s=60)
        folder, said = measured.measure(f"{HERE.name}-{case}", plan, [*WORKERS, 3, 8])
        judged.append((*measured.judge(folder, case), said))
    groups = [(f"{case}, {p} workers", lambda row, case=case, p=p: row["case"] == case and int(row["p"]) == p)
              for case in ("S1", "S3") for p in SHOWN]
    measured.report(HERE, judged, ["n", "p"], groups)


if __name__ == "__main__":
    main()
