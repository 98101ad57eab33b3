"""Runs of xfire on a virtual cluster: plain, observed, and tuned, in turn."""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from cluster import Cluster

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SINTONIA, XFIRE = ROOT / "target/release/sintonia", ROOT / "target/xfire-openmpi/xfire"
WORKERS = range(2, 8)
# Workers wait for most of their time, so that seven of them need less than the cores of a small machine.
WORK = ["--points", "10000", "--end_min", "5", "--substeps", "2", "--wait_us", "40", "--no_output"]
SCENARIOS = {
    "plain": None,
    "observed": ["--observe"],
    "tuned": ["--tunlet", "factoring"],
}


def command(launcher, options):
    return [*launcher, str(XFIRE), str(ROOT / "apps/xfire/data/ellipse.conf"), *WORK, *options]


def run_once(cluster, n_workers, scenario, options):
    """Time of one simulation as xfire prints it, its line's digest, and workers' mean and longest time."""
    launcher, variables = cluster.launcher(n_workers)
    words = command(launcher, options)
    with tempfile.TemporaryDirectory() as folder:
        if SCENARIOS[scenario] is not None:
            app = ["--app", str(ROOT / "apps/xfire/xfire.toml")]
            words = [str(SINTONIA), "run", *app, *SCENARIOS[scenario], "--quiet", "--out", f"{folder}/run", "--", *words]
        done = subprocess.run(words, env={**os.environ, **variables}, text=True, timeout=300, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(words)}` ended with {done.returncode}:\n{done.stdout}")
    found = lambda pattern: re.search(pattern, done.stdout).group(1)
    return {
        "elapsed_s": float(found(r"iterations to minute .* in ([0-9.]+) s")),
        "line": found(r"line ([0-9a-f]+)"),
        "mean_s": float(found(r"chunks, ([0-9.]+) s on average")),
        "longest_s": float(found(r"([0-9.]+) s at most")),
    }


def measure(n_repetitions, options):
    """For each number of workers the runs of each scenario; scenarios take turns, so that noise hits all alike."""
    runs = {}
    with Cluster(max(WORKERS), cpu_share=0.5) as cluster:
        for n_workers in WORKERS:
            here = {scenario: [] for scenario in SCENARIOS}
            for repetition in range(n_repetitions):
                for scenario in SCENARIOS:
                    here[scenario].append(run_once(cluster, n_workers, scenario, options))
                said = ", ".join(f"{scenario} {here[scenario][-1]['elapsed_s']:.2f} s" for scenario in SCENARIOS)
                print(f"{n_workers} workers, repetition {repetition + 1}: {said}", file=sys.stderr)
            lines = {run["line"] for some in here.values() for run in some}
            if len(lines) != 1:
                sys.exit(f"results differ between runs with {n_workers} workers: {lines}")
            runs[n_workers] = here
    return runs


def median(runs, field="elapsed_s"):
    return statistics.median(run[field] for run in runs)


def spread(runs):
    times = [run["elapsed_s"] for run in runs]
    return max(times) - min(times)


def paired(runs, scenario):
    """Median over repetitions of a scenario's time against the plain run beside it, in percent."""
    pairs = zip(runs[scenario], runs["plain"])
    return 100 * (statistics.median(one["elapsed_s"] / plain["elapsed_s"] for one, plain in pairs) - 1)


def bars(path, title, series, unit="%"):
    """Bars by number of workers, a color for each series `(name, color, {workers: value})`."""
    width, height, left, bottom, top = 720, 340, 60, 40, 44
    values = [value for *_, some in series for value in some.values()]
    highest, lowest = max(max(values), 1) * 1.12, min(min(values), 0)
    y = lambda value: height - bottom - (height - bottom - top) * (value - lowest) / (highest - lowest)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             f'font-size="12"><rect width="{width}" height="{height}" fill="white"/><text x="{left}" y="18">{title}</text>']
    step = 10 ** (len(str(int(highest))) - 1)
    step = step if highest / step > 3 else step / 2
    tick = 0.0
    while tick <= highest:
        parts.append(f'<path d="M{left} {y(tick):.1f}H{width - 10}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g} {unit}</text>')
        tick += step
    group, n_series = (width - left - 20) / len(WORKERS), len(series)
    bar = 0.8 * group / n_series
    for place, workers in enumerate(WORKERS):
        for number, (_, color, some) in enumerate(series):
            value, x = some[workers], left + 10 + place * group + number * bar
            low, high = sorted((y(value), y(0)))
            parts.append(f'<rect x="{x:.1f}" y="{low:.1f}" width="{bar * 0.9:.1f}" height="{max(high - low, 0.5):.1f}" '
                         f'fill="{color}"/><text x="{x + bar * 0.45:.1f}" y="{low - 3:.1f}" text-anchor="middle" '
                         f'font-size="10">{value:.1f}</text>')
        parts.append(f'<text x="{left + 10 + place * group + 0.4 * group:.1f}" y="{height - bottom + 18}" '
                     f'text-anchor="middle">{workers} workers</text>')
    for place, (name, color, _) in enumerate(series):
        parts.append(f'<rect x="{left + 10 + 150 * place}" y="26" width="11" height="11" fill="{color}"/>'
                     f'<text x="{left + 26 + 150 * place}" y="36">{name}</text>')
    pathlib.Path(path).write_text("\n".join([*parts, "</svg>\n"]))
