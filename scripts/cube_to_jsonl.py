#!/usr/bin/env python3
"""Converts a set of CUBE files, as Score-P writes them, for `sintonia fit`: cube_to_jsonl.py FOLDER > measured.jsonl

Needs `pip install extrap`, whose reader is used. Folders below FOLDER are named as Extra-P wants them, such as
`program.p4.n100.r1`, each with a `profile.cubex`.
"""
import json
import sys

from extrap.fileio.file_reader.cube_file_reader2 import CubeFileReader2


def lines(experiment):
    """A line for each value, in the form of Extra-P's JSON Lines."""
    names = [parameter.name for parameter in experiment.parameters]
    for (callpath, metric), measurements in experiment.measurements.items():
        for measurement in measurements:
            at = dict(zip(names, map(float, measurement.coordinate.as_tuple())))
            kept = measurement.values
            values = [measurement.mean] if kept is None else kept.compressed() if hasattr(kept, "compressed") else kept.flatten()
            for value in values:
                yield json.dumps({"params": at, "callpath": callpath.name, "metric": metric.name, "value": float(value)})


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    reader = CubeFileReader2()
    reader.keep_values = True
    for line in lines(reader.read_experiment(sys.argv[1])):
        print(line)


if __name__ == "__main__":
    main()
