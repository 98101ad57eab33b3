"""What Extra-P says at points, as JSON: `extrap_points.py MEASURED.json POINTS.json`.

Needs `pip install extrap`. The first file is Extra-P's JSON with one call path, the second a list of points. Prints a
list of predictions for each setting: the default, and the one that does best on strong scaling.
"""
import json
import sys
from pathlib import Path

from extrap.entities.measurement import Measure
from extrap.fileio.file_reader.json_file_reader import JsonFileReader
from extrap.modelers.model_generator import ModelGenerator

SETTINGS = {"default": (Measure.MEAN, False), "best": (Measure.MEDIAN, True)}


def predictions(measured, points, measure, negative_exponents):
    experiment = JsonFileReader().read_experiment(measured)
    generator = ModelGenerator(experiment, use_measure=measure)
    modeler = generator.modeler
    getattr(modeler, "single_parameter_modeler", modeler).allow_negative_exponents = negative_exponents
    generator.model_all()
    (model,) = generator.models.values()
    function = model.hypothesis.function
    evaluated = [function.evaluate(point if len(point) != 1 else point[0]) for point in points]
    return [float(value) for value in evaluated], function.to_string(*experiment.parameters)


def main():
    points = json.loads(Path(sys.argv[2]).read_text())
    said = {name: predictions(Path(sys.argv[1]), points, *setting) for name, setting in SETTINGS.items()}
    json.dump({name: {"values": values, "model": text} for name, (values, text) in said.items()}, sys.stdout)


if __name__ == "__main__":
    main()
