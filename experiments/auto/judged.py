"""What came of the pairs of a cell: ratios with intervals, the noise of bare against bare, and the bars that are to be held."""
import collections
import math
import statistics

# Two-sided 95 % of Student's t for 1, 2, ... degrees of freedom.
STUDENT = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26]
MADE_HERE = ("halo exchange", "hybrid 2:1", "hybrid 1:1")


def student(n):
    return STUDENT[min(n - 1, len(STUDENT)) - 1] if 1 < n else math.inf


def spread(logs):
    return statistics.stdev(logs) if 1 < len(logs) else math.inf


def percent(value):
    return "-" if not math.isfinite(value) else f"{100 * value:.1f}"


def compared(bare, tuned):
    """A row for a variant of a cell, from the runs of both; runs that ended by themselves are compared pair by pair."""
    pairs = list(zip(bare, tuned))
    logs = [math.log(ours["elapsed_s"] / theirs["elapsed_s"]) for theirs, ours in pairs]
    half = student(len(logs)) * spread(logs) / math.sqrt(len(logs))
    noise = student(len(bare)) * spread([math.log(row["elapsed_s"]) for row in bare]) * math.sqrt(2 / len(bare))
    ratio = math.exp(statistics.mean(logs))
    cpu = math.exp(statistics.mean(math.log(max(ours["cpu_s"], 0.01) / max(theirs["cpu_s"], 0.01)) for theirs, ours in pairs))
    median = lambda rows, name: statistics.median(row[name] for row in rows)
    row = {name: tuned[0][name] for name in ("program", "library", "cell", "variant", "ranks", "threads")}
    return {**row, "pairs": len(pairs), "bare_s": round(median(bare, "elapsed_s"), 3), "tuned_s": round(median(tuned, "elapsed_s"), 3),
            "ratio": round(ratio, 4), "low": round(ratio * math.exp(-half), 4), "high": round(ratio * math.exp(min(half, 10)), 4),
            "noise_percent": percent(noise), "bare_cpu_s": round(median(bare, "cpu_s"), 3), "cpu_ratio": round(cpu, 4),
            "outcome": outcome(bare, tuned), "result": same(bare, tuned),
            "verdict": verdict(ratio, half, noise, outcome(bare, tuned), same(bare, tuned))}


def outcome(bare, tuned):
    """`ok`, or how runs ended that did not end well, bare and tuned."""
    of = lambda rows: ",".join(sorted({row["outcome"] for row in rows}))
    return of(tuned) if of(bare) == of(tuned) else f"{of(bare)} became {of(tuned)}"


def same(bare, tuned):
    """Whether the result is the same; runs that were ended have none."""
    of = lambda rows: {row["result"] for row in rows if row["outcome"] == "ok"}
    if not of(bare) or not of(tuned):
        return "none"
    if 1 < len(of(bare)):
        return "varies by itself"
    return "no pattern" if of(bare) == {""} else "same" if of(tuned) == of(bare) else "differs"


def verdict(ratio, half, noise, ended, result):
    is_better = ended.startswith("limit") and ended.endswith(" became ok")
    if " became " in ended and not is_better or result == "differs":
        return "broken"
    if math.log(ratio) - half > 0 and math.log(ratio) > noise:
        return "slower"
    return "faster" if math.log(ratio) + half < 0 and math.log(ratio) < -noise else "same"


def all_rows(runs):
    """A row for each variant of each cell that has at least one pair."""
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for run in runs:
        groups[run["program"], run["library"], run["cell"]][run["variant"]].append(run)
    return [compared(variants["bare"], tuned) for variants in groups.values() if variants["bare"]
            for name, tuned in variants.items() if name not in ("bare", "learning")]


def geometric(values):
    return math.exp(statistics.mean(map(math.log, values)))


def bars(rows):
    """Name, limit, measured text and whether it holds (None: not measured) of each bar."""
    tuned = [row for row in rows if row["variant"] == "tune"]
    chosen = lambda cell, library, program=None: [
        row for row in tuned if row["cell"] == cell and row["library"].startswith(library)
        and (row["program"] == program if program else row["program"] not in MADE_HERE)]
    gains = lambda some: [1 / row["ratio"] for row in some]
    slower = [row for row in tuned if row["verdict"] in ("slower", "broken")]
    in_cpuset = [row for row in slower if row["cell"] == "cpuset" and row["library"].startswith("openmpi")]

    def bar(name, limit, values, summary, at_least=True):
        if not values:
            return name, limit, "not measured", None
        value = summary(values)
        return name, limit, f"{value:.2f}", value >= limit if at_least else value <= limit

    hybrid = imbalance_gain(rows)
    return [
        bar("4 ranks per core under MPICH, times faster in the median program", 2, gains(chosen("over", "mpich")), statistics.median),
        bar("the same, halo exchange, times faster", 20, gains(chosen("over", "mpich", "halo exchange")), min),
        bar("Open MPI in half the cores, halo exchange, times faster", 5, gains(chosen("cpuset", "openmpi", "halo exchange")), min),
        bar("Open MPI in half the cores, cells slower", 0, [len(in_cpuset)] if chosen("cpuset", "openmpi") else [], sum, False),
        bar("with enough cores, geometric mean of tuned over bare", 0.95, [row["ratio"] for row in chosen("cores", "")], geometric, False),
        bar("the same, runs of about ten seconds", 0.95, [row["ratio"] for row in chosen("long", "")], geometric, False),
        bar("hybrid with an imbalance of 2:1, share of the perfect gain", 0.8, hybrid, min),
        bar("cells slower or broken", 0, [len(slower)] if tuned else [], sum, False),
    ]


def imbalance_gain(rows):
    """For each library, the share of the time that perfect balance would save which tuning saves. The balanced program may gain, too."""
    at = {(row["program"], row["library"]): row for row in rows if row["cell"] == "hybrid" and row["variant"] == "tune"}
    found = []
    for (program, library), row in at.items():
        even = at.get(("hybrid 1:1", library))
        perfect_s = min(even["bare_s"], even["tuned_s"]) if even else row["bare_s"]
        if program == "hybrid 2:1" and perfect_s < row["bare_s"]:
            found.append((row["bare_s"] - row["tuned_s"]) / (row["bare_s"] - perfect_s))
    return found
