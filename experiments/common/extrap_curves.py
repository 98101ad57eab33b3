"""What Extra-P says of many curves, as JSON: `extrap_curves.py CASES.json`.

Needs `pip install extrap`. Each case has a name, parameters, points with values, and points to foretell. Prints a list of
name, point, setting and prediction, for the default setting and for the one that does best on strong scaling; what Extra-P
cannot model is left out.
"""
import json
import pathlib
import sys
import tempfile

from extrap_points import SETTINGS, predictions


def main():
    said = []
    for case in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "measured.json"
            path.write_text(json.dumps({"parameters": case["parameters"], "measurements": {case["name"]: {"time": case["seen"]}}}))
            for setting, how in SETTINGS.items():
                try:
                    values, _ = predictions(path, case["unseen"], *how)
                except Exception as error:  # What a modeler raises differs from one to the next.
                    print(f"{case['name']}: {error}", file=sys.stderr)
                    continue
                said += [[case["name"], at, setting, value] for at, value in zip(case["unseen"], values)]
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
