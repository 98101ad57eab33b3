#!/usr/bin/env python3
"""Predicts the source's table of the second matrix product from 1 to 6 workers for 10 and 16, and measures here.

usage: experiments/pred-matmul-v2/run.py [source|here]
"""
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import predicted  # noqa: E402
import tables  # noqa: E402

SEEN = {"1", "2", "4", "6"}
# What the source's polynomial of the multiplication consists of.
TERMS = ["1", "1/p", "n", "n/p", "n^2", "n^2/p", "n^3", "n^3/p"]


def composed(workers, dimension):
    """The source's composition: times of the parts of the program, added up."""
    size, p, hops = 8 * dimension**2, workers, math.floor(math.log2(workers))
    init = -0.0017538171 + 21.757429e-9 * size - 3.109e-17 * size**2
    sends = p * (-0.001359 + 1.061e-7 * size / p)
    broadcast = -0.0280938 + 1.103e-7 * size + (0.0255270 + 1.019e-7 * size) * hops
    product = (2.0003729 - 147.94586 / p + (-0.012814 + 0.901976 / p) * dimension
               + (0.0000227 - 0.0016335 / p) * dimension**2 + (-1.259e-8 + 9.716e-7 / p) * dimension**3)
    results = (p * (-0.0209271 + 1.244e-7 * size / p) - 0.0279167 + 1.103e-7 * size
               + (0.0255270 + 1.019e-7 * size) * hops)
    return init + sends + broadcast + product + results


def source():
    rows = [{"p": row["workers"], "n": row["dimension"], "measured_s": row["measured_s"], "source_s": row["predicted_s"],
             "seen": row["workers"] in SEEN} for row in tables.read(HERE / "source.csv")]
    groups = [(f"{p} workers", lambda row, p=p: row["p"] == p) for p in ("6", "10", "16")]
    predicted.table(HERE, rows, ["p", "n"], TERMS, "n", groups)
    off = max(abs(composed(int(row["p"]), int(row["n"])) / float(row["source_s"]) - 1) for row in rows)
    print(f"the source's composition gives its predictions within {100 * off:.2f} %")


if __name__ == "__main__":
    predicted.main(HERE, source)
