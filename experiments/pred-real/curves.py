"""Measured and made curves, split into what is fitted and what is foretold.

A curve is one case on one machine (OpenSBLI), one region (RELeARN), or one call path of one sort on one kind of input.
"""
import collections
import csv
import math
import pathlib
import random
import re

DATA = pathlib.Path(__file__).resolve().parent / "data"
Curve = collections.namedtuple("Curve", "name parameters points")  # points: {coordinates: [repetitions]}
Split = collections.namedtuple("Split", "name curves is_unseen is_measured")


def opensbli():
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in csv.DictReader(open(DATA / "opensbli.csv")):
        curves[f"{row['case']} {row['system']}"][float(row["nodes"]),].append(float(row["s_per_iteration"]))
    return [Curve(name, ["nodes"], points) for name, points in curves.items() if 4 <= len(points)]


def relearn():
    parameters, at, curves = [], [], []
    for line in open(DATA / "relearn.txt"):
        word, _, rest = line.strip().partition(" ")
        if word == "PARAMETER":
            parameters.append(rest.strip())
        elif word == "POINTS":
            at += [tuple(map(float, group.split())) for group in re.findall(r"\(([^)]*)\)", rest)]
        elif word == "REGION":
            curves.append(Curve(rest.strip(), parameters, {}))
        elif word == "DATA":
            points = curves[-1].points
            points[at[len(points)]] = [float(value) for value in rest.split()]
    return curves


def sorts(column="avg_s", only=None):
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in csv.DictReader(open(DATA / "sorts.csv")):
        if only and row["path"] != only:
            continue
        key = f"{row['algorithm']} {row['input']} {row['path']}"
        curves[key][float(row["p"]), float(row["n"])].append(float(row[column]))
    return [Curve(name, ["p", "n"], points) for name, points in curves.items()]


def at_one(curves, idx):
    """The curves over one parameter of two, one for each value of the other; of five points and more."""
    by_other = collections.defaultdict(dict)
    for curve in curves:
        for at, values in curve.points.items():
            if 0 < min(values):
                by_other[f"{curve.name} {at[1 - idx]:g}", curve.parameters[idx]][at[idx],] = values
    return [Curve(name, [parameter], points) for (name, parameter), points in by_other.items() if 5 <= len(points)]


def largest(curve, idx, n):
    return sorted({at[idx] for at in curve.points})[-n:]


def noisy(value, chance, noise, n):
    return [value * math.exp(noise * chance.gauss(0, 1)) for _ in range(n)]


def physics(n_curves=40, seed=1, both=False):
    """Made times of programs whose terms are in no dictionary: FFT, LU, halo exchange, CG, congested networks, sweeps,
    caches that begin to hold a rank's share."""
    chance = random.Random(seed)
    between = lambda low, high: low * (high / low) ** chance.random()
    curves = []
    for number in range(n_curves):
        alpha, beta, flop = between(1e-6, 2e-5), between(1e-10, 2e-9), between(1e-10, 1e-9)
        kind = ["fft", "lu", "halo", "cg", "congestion", "sweep", "cache"][number % 7]
        q = chance.random()
        share = between(0.02, 0.3)

        def time(p, n):
            volume = n**3
            if kind == "fft":
                return 5 * flop * volume * math.log2(volume) / p + 2 * (alpha * math.sqrt(p) + 16 * beta * volume / p * (1 + math.sqrt(p) / 40))
            if kind == "lu":
                return 2 * flop * (10 * n) ** 3 / 3 / p + alpha * 10 * n * math.log2(2 * p) + 8 * beta * (10 * n) ** 2 * (1 + 0.5 * math.log2(p)) / math.sqrt(p)
            if kind == "halo":
                return 60 * flop * volume / p + (6 * (alpha + 8 * beta * volume ** (2 / 3) / p ** (2 / 3)) if 1 < p else 0) * (1 + q)
            if kind == "cg":
                return 100 * flop * volume / p + 2 * alpha * math.log2(2 * p) * 8 + 30 * (alpha + 8 * beta * (volume / p) ** (2 / 3))
            if kind == "congestion":
                return 80 * flop * volume / p + beta * 8 * volume / p ** (2 / 3) * (1 + (p / 60) ** (0.3 + q))
            if kind == "sweep":
                side = math.sqrt(p)
                return (40 * flop * volume / p + alpha) * (1 + 2 * (side - 1) / max(n / 4, 4)) + share * flop * volume / p
            held = 1 / (1 + (volume * 8 / p / (2e6 * (0.3 + 3 * q))) ** -1.5)
            return 20 * flop * volume / p * (1 + held) + alpha * 10 * math.log2(2 * p)

        n0 = round(between(60, 400))
        if both:
            points = {(float(p), float(n)): noisy(time(p, n), chance, 0.03, 3)
                      for p in (2, 4, 8, 16, 32, 64, 128) for n in (n0 // 2, int(n0 / 1.4), n0, int(n0 * 1.4), n0 * 2)}
            curves.append(Curve(f"{kind} {number}", ["p", "n"], points))
        else:
            count = chance.randint(5, 9)
            points = {(float(2**k),): noisy(time(2**k, n0), chance, 0.03, 3) for k in range(count)}
            curves.append(Curve(f"{kind} {number}", ["p"], points))
    return curves


def collectives(n_curves=36, seed=3):
    """Made times of collective operations over the number of ranks: trees, rings, all to all, networks that fill up."""
    chance = random.Random(seed)
    between = lambda low, high: low * (high / low) ** chance.random()
    curves = []
    for number in range(n_curves):
        alpha, beta, size = between(1e-6, 5e-6), between(1e-10, 1e-9), 8 * 4 ** chance.randint(0, 8)
        kind = ["barrier", "bcast", "allreduce", "allgather", "alltoall", "gather"][number % 6]
        per_node, slow, full = chance.choice([1, 16, 32, 64]), between(1.5, 6), between(200, 5000)

        def time(p):
            a = alpha * (1 if p <= per_node else slow)
            tree = math.log2(max(p, 2)) * (1 + p / full)
            volume = {"barrier": 0, "bcast": size * tree, "allreduce": 2 * size * (p - 1) / p * (1 + p / full),
                      "allgather": size * (p - 1), "alltoall": size * (p - 1) * (1 + (p / full) ** 0.7), "gather": size * (p - 1)}[kind]
            steps = p - 1 if kind in ("alltoall", "gather") else tree
            return a * steps + beta * volume

        first, count = chance.choice([(1, 6), (1, 8), (2, 6), (3, 6)])
        points = {(float(2 ** (first + k)),): noisy(time(2 ** (first + k)), chance, 0.06, 2) for k in range(count)}
        curves.append(Curve(f"{kind} {number}", ["p"], points))
    return curves


def weak(n_curves=24, seed=4):
    """Made times of programs whose problem grows with the number of ranks: powers that are not whole, a first regime of
    one rank, caches, networks."""
    chance = random.Random(seed)
    between = lambda low, high: low * (high / low) ** chance.random()
    curves = []
    for number in range(n_curves):
        scale, power, steps = between(1e-8, 1e-6), chance.uniform(2.6, 4.2), chance.choice([0, 0, 1 / 3])
        alone, tree, cache, half = chance.uniform(0.7, 1), between(0.005, 0.1), chance.uniform(0, 0.6), between(10, 40)
        surface = between(0.02, 0.5)

        def time(p, n):
            work = scale * n**power * (1 + cache / (1 + (half / n) ** 4)) * (alone if p == 1 else 1)
            halo = 0 if p == 1 else scale * 30 ** (power - 2) * surface * n**2 * (1 + tree * math.log2(p))
            return (work * (1 + tree * math.log2(p)) + halo) * p**steps

        sizes = chance.choice([(5, 10, 15, 20, 25, 30), (8, 16, 24, 32, 48), (10, 20, 30, 40)])
        points = {(float(p), float(n)): noisy(time(p, n), chance, 0.03, 3) for p in (1, 8, 27, 64, 125, 216) for n in sizes}
        curves.append(Curve(f"weak {number}", ["p", "n"], points))
    return curves


def sizes(n_curves=48, seed=5):
    """Made times over the size alone: messages with their latency and protocols, sorts, products of matrices that leave a
    cache, stencils with surfaces, files, searches; each with what has to be done before any work."""
    chance = random.Random(seed)
    between = lambda low, high: low * (high / low) ** chance.random()
    curves = []
    for number in range(n_curves):
        kind = ["messages", "sort", "product", "stencil", "file", "search"][number % 6]
        first, step, count = between(8, 2000), chance.choice([1.5, 2, 4]), chance.randint(5, 9)
        last = first * step ** (count - 1)
        # The size at which the work takes as long as the overhead; protocols and caches change beyond another.
        half, edge, q = between(first / 2, last), between(first, 2 * last), chance.random()

        def time(n):
            late = 1 / (1 + (edge / n) ** 6)
            work = {"messages": n * (1 - 0.4 * q * late) + q * half * late, "sort": n * math.log2(n) / math.log2(half + 2),
                    "product": n**3 / half**2 * (1 + q * late), "stencil": n**2 / half + q * n * (1 + 0.1 * math.log2(n)),
                    "file": n ** (0.9 + 0.1 * q) * (1 + 0.3 * late), "search": half * (n / half) ** (1 + q)}[kind]
            return 1e-6 * (half + work)

        points = {(float(round(first * step**k)),): noisy(time(round(first * step**k)), chance, 0.04, 3) for k in range(count)}
        curves.append(Curve(f"{kind} {number}", ["n"], points))
    return curves


def splits():
    by_p, by_n = (lambda n: lambda c, at: at[0] in largest(c, 0, n)), (lambda n: lambda c, at: at[1] in largest(c, 1, n))
    measured = opensbli()
    yield Split("OpenSBLI, largest p", measured, by_p(1), 1)
    yield Split("OpenSBLI, two largest p", [c for c in measured if 5 <= len(c.points)], by_p(2), 1)
    yield Split("RELeARN, p = 512", relearn(), lambda c, at: 512 <= at[0], 1)
    yield Split("RELeARN, n = 9000", relearn(), lambda c, at: 9000 <= at[1], 1)
    yield Split("sorts, whole program, p >= 256", sorts("max_s", "main"), lambda c, at: 256 <= at[0], 1)
    yield Split("sorts, whole program, n >= 2^26", sorts("max_s", "main"), lambda c, at: 2**26 <= at[1], 1)
    yield Split("sorts at one size, p >= 256", at_one(sorts("max_s", "main"), 0), lambda c, at: 256 <= at[0], 1)
    yield Split("sorts at one p, n >= 2^26", at_one(sorts("max_s", "main"), 1), lambda c, at: 2**26 <= at[0], 1)
    yield Split("sorts, call paths, p >= 256", sorts(), lambda c, at: 256 <= at[0], 1)
    yield Split("sorts, call paths, n >= 2^26", sorts(), lambda c, at: 2**26 <= at[1], 1)
    yield Split("made physics over p, largest p", physics(70), by_p(1), 0)
    yield Split("made physics over p, two largest p", physics(70), by_p(2), 0)
    yield Split("made times over n, largest n", sizes(), by_p(1), 0)
    yield Split("made times over n, two largest n", sizes(), by_p(2), 0)
    yield Split("made physics over p and n, p >= 64", physics(35, 2, True), lambda c, at: 64 <= at[0], 0)
    yield Split("made physics over p and n, two largest n", physics(35, 2, True), by_n(2), 0)
    yield Split("made weak scaling, largest p", weak(), by_p(1), 0)
    yield Split("made weak scaling, largest n", weak(), by_n(1), 0)
    yield Split("made weak scaling, two largest of each", weak(), lambda c, at: by_p(2)(c, at) or by_n(2)(c, at), 0)
    yield Split("made collectives, largest p", collectives(), by_p(1), 0)
    yield Split("made collectives, two largest p", collectives(), by_p(2), 0)
