#!/usr/bin/env python3
"""Predicts the source's table of the first matrix product, one worker, from dimensions to 400 for 450 and 500, and measures
here.

usage: experiments/pred-matmul-v1/run.py [source|here]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import predicted  # noqa: E402
import tables  # noqa: E402

SEEN_MAX = 400
# Three nested loops.
TERMS = ["1", "n", "n^2", "n^3"]


def source():
    rows = [{"n": row["dimension"], "measured_s": row["measured_s"], "source_s": row["predicted_s"],
             "seen": int(row["dimension"]) <= SEEN_MAX} for row in tables.read(HERE / "source.csv")]
    predicted.table(HERE, rows, ["n"], TERMS, "n", [("one worker", lambda row: True)])


if __name__ == "__main__":
    predicted.main(HERE, source)
