"""What Extra-P predicts for measurements and points that `made_up` wrote: `extrap_errors.py FOLDER`.

Needs `pip install extrap`. Prints, for its default and for its setting that does best on strong scaling (median of
the repetitions, negative exponents), errors in percent, predictions that are not positive, and seconds of the processor.
"""

import json
import statistics
import sys
import time
from pathlib import Path

from extrap.entities.measurement import Measure
from extrap.fileio.file_reader.json_file_reader import JsonFileReader
from extrap.modelers.model_generator import ModelGenerator


def errors(folder: Path, measure: Measure, negative_exponents: bool) -> str:
    """One line: how well the points are predicted, and what it cost."""
    experiment = JsonFileReader().read_experiment(folder / "measured.json")
    start_s = time.process_time()
    generator = ModelGenerator(experiment, use_measure=measure)
    modeler = generator.modeler
    getattr(modeler, "single_parameter_modeler", modeler).allow_negative_exponents = negative_exponents
    generator.model_all()
    cpu_s = time.process_time() - start_s
    functions = {str(path): model.hypothesis.function for (path, _), model in generator.models.items()}
    by_region = {}
    n_negative = 0
    for point in json.loads((folder / "unseen.json").read_text()):
        value = float(functions[point["region"]].evaluate(point["point"]))
        n_negative += value <= 0
        truth = point["truth"]
        smape = 200 * abs(value - truth) / (abs(value) + abs(truth))
        by_region.setdefault(point["region"], []).append(smape)
    means = [statistics.fmean(values) for values in by_region.values()]
    return (
        f"median {statistics.median(means):6.2f} %  mean {statistics.fmean(means):6.2f} %  "
        f"not positive {n_negative:4}  cpu {cpu_s:.2f} s"
    )


def main() -> None:
    folder = Path(sys.argv[1])
    print("default                     ", errors(folder, Measure.MEAN, False))
    print("median, negative exponents  ", errors(folder, Measure.MEDIAN, True))


if __name__ == "__main__":
    main()
