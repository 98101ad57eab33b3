"""The page of this experiment: its tables, and the picture of ratios and messages."""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
import tables  # noqa: E402

COLORS = {"source": "#b0563b", "here": "#2f6f9f", "ours": "#7a9e3b"}
WIDE, TALL, LEFT, TOP, GAP = 360, 260, 60, 60, 70
OF_SOURCE = ("event", "periodic", "on_demand")


def is_preset(row):
    return row["policy"].startswith(OF_SOURCE)


def text(x, y, words, anchor="start", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{words}</text>'


def panel(groups, scenario, x0):
    """Ratio over messages, a point for each policy."""
    x = lambda messages: x0 + WIDE * (math.log10(max(float(messages), 10)) - 1) / 3.5
    y = lambda ratio: TOP + TALL * (1 - float(ratio))
    parts = [text(x0 + WIDE / 2, TOP - 10, f"scenario {scenario}", "middle"),
             f'<path d="M{x0} {TOP}v{TALL}h{WIDE}" fill="none" stroke="#999"/>',
             text(x0 + WIDE / 2, TOP + TALL + 36, "messages of information", "middle")]
    for messages in (10, 100, 1000, 10000):
        parts.append(text(x(messages), TOP + TALL + 16, messages, "middle"))
    for ratio in (0.25, 0.5, 0.75, 1):
        parts.append(text(x0 - 6, y(ratio) + 4, ratio, "end") + f'<path d="M{x0} {y(ratio):.1f}h{WIDE}" stroke="#e3e3e3"/>')
    for name, rows in groups.items():
        for row in rows:
            if row["scenario"] == scenario:
                said = f'{name}: {row["policy"]} {row["domain"]} {row["domain_size"]}: {row["ratio"]}, {row["messages"]} messages'
                parts.append(f'<circle cx="{x(row["messages"]):.1f}" cy="{y(row["ratio"]):.1f}" r="3.5" fill="{COLORS[name]}" '
                             f'fill-opacity="0.8"><title>{said}</title></circle>')
    return parts


def draw(path, source, here):
    groups = {"source": source, "here": list(filter(is_preset, here)), "ours": [row for row in here if not is_preset(row)]}
    names = {"source": "in the source", "here": "its policies, here", "ours": "our policies"}
    parts = [text(LEFT, 20, "Ratio of the best possible time to the time taken")]
    for at, name in enumerate(groups):
        parts += [f'<circle cx="{LEFT + 370 + 130 * at}" cy="16" r="4" fill="{COLORS[name]}"/>', text(LEFT + 380 + 130 * at, 20, names[name])]
    for at, scenario in enumerate("12"):
        parts += panel(groups, scenario, LEFT + at * (WIDE + GAP))
    size = f"{LEFT + 2 * (WIDE + GAP)} {TOP + TALL + 50}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    pathlib.Path(path).write_text("\n".join([head, *parts, "</svg>\n"]))


def domain(row):
    return row["domain"] if row["domain_size"] == "0" else f'{row["domain"]} {row["domain_size"]}'


def policy(row):
    return row["policy"].replace("on_demand", "on-demand").replace("power_of_two", "power-of-two").replace("_", ":")


def beside(source, here):
    """A line for each preset that was measured: the source's figures, and ours."""
    lines = []
    for theirs in source:
        same = [row for row in here if all(row[name] == theirs[name] for name in ("scenario", "domain", "domain_size", "policy"))]
        for row in same[:1]:
            pairs = [f"{theirs[name]} / {row[name]}" for name in ("messages", "accepted", "not_accepted", "t_exec_s", "ratio")]
            efficiency = f'{float(theirs["efficiency"]):.2e} / {float(row["efficiency"]):.2e}'
            lines.append([row["scenario"], domain(row), policy(row), *pairs, efficiency])
    return lines


def ours(source, here):
    """Policies that the source has not, beside its most efficient rows of the scenario: of all, and of those that are as fast as its best."""
    lines = []
    for row in here:
        there = [some for some in source if some["scenario"] == row["scenario"]]
        best = lambda some: max(float(each["efficiency"]) for each in some)
        fast = [some for some in there if 0.9 <= float(some["ratio"])]
        times = " / ".join(f'{float(row["efficiency"]) / best(some):.1f}' for some in (fast, there))
        if not is_preset(row):
            lines.append([row["scenario"], policy(row), domain(row), row["faster"], row["messages"], row["accepted"], row["not_accepted"],
                          row["t_dist_s"], row["t_exec_s"], row["ratio"], row["efficiency"], times])
    return lines


def foretold(simulated, here):
    """A line for each policy that was simulated with nodes like daemons: figures of eight daemons, and simulated ones."""
    there = {(row["scenario"], row["policy"]): row for row in simulated if row["detection"] == "at once"}
    lines = []
    for row in here:
        name = policy(row) if row["domain_size"] == "0" else f'{policy(row)}@{row["domain"]}:{row["domain_size"]}'
        theirs = there.get((row["scenario"], name))
        if theirs and row["faster"] == "1":
            counts = [f'{row[measure]} / {float(theirs[measure]):.0f}' for measure in ("messages", "accepted", "not_accepted")]
            lines.append([row["scenario"], policy(row), domain(row), *counts, f'{row["ratio"]} / {float(theirs["ratio"]):.3f}'])
    return lines


def write(here):
    """Fills the page with what is in `results.csv`."""
    source, rows = tables.read(here / "source.csv"), tables.read(here / "results.csv")
    # Of rows that were measured at several speeds, the slowest is the most faithful.
    rows.sort(key=lambda row: (row["scenario"], row["policy"], row["domain"], row["domain_size"], float(row["faster"])))
    plain = [row for row in rows if row["work"] == "waits" and row["scenario"] != "mixed"]
    draw(here / "results.svg", source, plain)
    measures = ["messages", "accepted", "not accepted", "seconds", "ratio", "efficiency"]
    tables.fill(here / "README.md", "presets", ["scenario", "domain", "policy", *measures], beside(source, plain))
    columns = ["messages", "accepted", "not accepted", "all dealt, s", "all ended, s", "ratio", "efficiency", "times the source's best"]
    tables.fill(here / "README.md", "ours", ["scenario", "policy", "domain", "faster", *columns], ours(source, plain))
    simulated = tables.read(here.parent / "bal-experiments" / "results.csv")
    columns = ["messages", "accepted", "not accepted", "ratio"]
    tables.fill(here / "README.md", "simulated", ["scenario", "policy", "domain", *columns], foretold(simulated, plain))
    mixed = [[policy(row), domain(row), row["faster"], row["t_opt_s"], row["t_exec_s"], row["ratio"], row["messages"]]
             for row in rows if row["scenario"] == "mixed"]
    tables.fill(here / "README.md", "mixed", ["policy", "domain", "faster", "central queue, s", "all ended, s", "ratio", "messages"], mixed)
