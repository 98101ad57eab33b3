#!/usr/bin/env python3
"""Predicts the source's table of a master that sends to its workers from 3, 4 and 6 workers for 10, and measures here.

usage: experiments/pred-master-send/run.py [source|here]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))
import predicted  # noqa: E402
import tables  # noqa: E402

SEEN = {"3", "4", "6"}
# The source's polynomial.
TERMS = ["1", "n", "p", "n*p"]
# In the case S2/3 the two columns of times are exchanged in print: its polynomial gives the one printed as measured.
EXCHANGED = {"S2/3"}


def source():
    rows = []
    for row in tables.read(HERE / "source.csv"):
        measured, said = row["measured_s"], row["predicted_s"]
        if row["case"] in EXCHANGED:
            measured, said = said, measured
        rows.append({"case": row["case"], "p": row["workers"], "n": row["bytes"], "measured_s": measured,
                     "source_s": said, "seen": row["workers"] in SEEN})
    groups = [(f"{case}, {p} workers", lambda row, case=case, p=p: (row["case"], row["p"]) == (case, p))
              for case in ("S1", "S2/3") for p in ("6", "10")]
    predicted.table(HERE, rows, ["p", "n"], TERMS, "n", groups)


if __name__ == "__main__":
    predicted.main(HERE, source)
