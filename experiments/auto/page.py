"""The page of this experiment: where tuning loses, the bars, a table for each library, and the picture."""
import math
import statistics
import sys

import cells
import judged
import programs

sys.path.insert(0, str(programs.HERE.parent / "common"))
import tables  # noqa: E402

COLORS = {"cores": "#2f6f9f", "long": "#3fa7a0", "over": "#b0563b", "hybrid": "#2d8a5f", "foreign": "#7a4fa3", "quota": "#8a7a2d", "cpuset": "#777777"}
NAMES = {"openmpi4": "Open MPI 4", "mpich4": "MPICH 4", "openmpi5": "Open MPI 5", "mpich5": "MPICH 5"}
WIDE, LINE, LEFT, TOP = 230, 18, 150, 70
LOW, HIGH = 0.02, 4.0


def ratio(row):
    """Tuned over bare with its interval; a run that was ended at the limit is a bound."""
    mark = {"faster": "**", "slower": "**", "broken": "**"}.get(row["verdict"], "")
    if not row["outcome"].endswith("ok"):
        return f"{mark}{row['outcome']}{mark}"
    span = f" ({row['low']:.2f} to {row['high']:.2f})" if row["pairs"] > 2 else ""
    return f"{mark}{row['ratio']:.2f}{mark}{span}"


def shown(row):
    return [row["program"], NAMES[row["library"]], row["cell"], row["variant"], f"{row['bare_s']:.2f} s", f"{row['tuned_s']:.2f} s",
            ratio(row), f"{row['noise_percent']} %", f"{row['cpu_ratio']:.2f}", row["outcome"], row["result"]]


COLUMNS = ["program", "library", "cell", "levers", "bare", "tuned", "tuned / bare", "noise", "CPU", "outcome", "result"]


def of_library(rows, library):
    """A line for each program: bare seconds and the ratio in each cell."""
    here = [row for row in rows if row["library"] == library and row["variant"] == "tune"]
    lines = []
    for program in dict.fromkeys(row["program"] for row in here):
        at = {row["cell"]: row for row in here if row["program"] == program}
        lines.append([program, *(f"{at[cell]['bare_s']:.2f} s: {ratio(at[cell])}" if cell in at else "" for cell in cells.CELLS)])
    return lines


def in_short(rows):
    """A line for each library and cell: programs, how many are at least 1.4 times as fast, and tuned over bare of all."""
    lines = []
    for library in NAMES:
        for cell in cells.CELLS:
            ratios = [row["ratio"] for row in rows if (row["library"], row["cell"], row["variant"]) == (library, cell, "tune")]
            if ratios:
                figures = judged.geometric(ratios), statistics.median(ratios), min(ratios), max(ratios)
                lines.append([NAMES[library], cell, str(len(ratios)), str(sum(1.4 <= 1 / ratio for ratio in ratios)), *(f"{figure:.3f}" for figure in figures)])
    return lines


def text(x, y, words, anchor="start", color="black"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{words}</text>'


def panel(rows, names, library, x0):
    """Tuned over bare of each cell, programs below each other."""
    x = lambda value: x0 + WIDE * math.log(min(max(value, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    tall = LINE * len(names)
    parts = [text(x0 + WIDE / 2, TOP - 26, NAMES[library], "middle")]
    for tick in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2):
        parts.append(f'<path d="M{x(tick):.1f} {TOP - 6}v{tall + 6}" stroke="{"#555" if tick == 1 else "#e3e3e3"}"/>')
        parts.append(text(x(tick), TOP - 10, f"{tick:g}", "middle"))
    for row in rows:
        y = TOP + LINE * (names.index(row["program"]) + 0.5)
        said = f"{row['program']}, {NAMES[library]}, {row['cell']}: {row['bare_s']} s, tuned {row['tuned_s']} s"
        parts.append(f'<circle cx="{x(row["ratio"]):.1f}" cy="{y:.1f}" r="4" fill="{COLORS[row["cell"]]}" fill-opacity="0.75">'
                     f"<title>{said}</title></circle>")
    return parts


def draw(path, rows):
    rows = [row for row in rows if row["variant"] == "tune"]
    names = list(dict.fromkeys(row["program"] for row in rows))
    libraries = [library for library in NAMES if any(row["library"] == library for row in rows)]
    parts = [text(LEFT, 20, "Elapsed time tuned over bare: left of 1 is faster")]
    parts += [text(LEFT + 330 + 120 * at, 20, cell, color=color) for at, (cell, color) in enumerate(COLORS.items())]
    parts += [text(LEFT - 10, TOP + LINE * (at + 0.5) + 4, name, "end") for at, name in enumerate(names)]
    for at, library in enumerate(libraries):
        parts += panel([row for row in rows if row["library"] == library], names, library, LEFT + at * (WIDE + 30))
    size = f"{max(LEFT + len(libraries) * (WIDE + 30), LEFT + 330 + 840)} {TOP + LINE * len(names) + 20}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    path.write_text("\n".join([head, *parts, "</svg>\n"]))


def sources():
    described, known = programs.described()
    lines = []
    for name, program in described.items():
        origin = known.get(program.get("source"), {})
        where = f"[{origin['commit'][:10]}]({origin['url']})" if origin else f"Debian: {program['package']}" if "package" in program else "this folder"
        lines.append([name, program["language"], where, origin.get("license", "")])
    return lines


def key(row):
    return row["program"], row["library"], row["cell"], row["variant"]


def number(text):
    """The number that a field of a table is; other texts as they are."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def with_earlier(path, rows):
    """These rows, and those of a table for what was not measured again, in the order of programs and libraries."""
    measured = {key(row) for row in rows}
    earlier = [{name: number(field) for name, field in row.items()} for row in (tables.read(path) if path.exists() else [])]
    names, libraries, places = list(programs.described()[0]), list(NAMES), list(cells.CELLS)
    place = lambda row: (libraries.index(row["library"]), names.index(row["program"]), places.index(row["cell"]), row["variant"] != "tune")
    return sorted([*rows, *(row for row in earlier if key(row) not in measured and row["program"] in names)], key=place)


def write(here, runs):
    """Fills the page, and prints where tuning loses, and the bars. What was not measured again stays."""
    rows = with_earlier(here / "results.csv", judged.all_rows(runs))
    if not rows:
        return
    tables.write(here / "results.csv", rows)
    draw(here / "results.svg", rows)
    lost = [row for row in rows if row["verdict"] in ("slower", "broken")]
    for row in lost:
        print(f"{row['verdict']}: {', '.join(shown(row))}")
    bars = [[name, f"{limit:g}", measured, {True: "yes", False: "**no**", None: ""}[holds]] for name, limit, measured, holds in judged.bars(rows)]
    for bar in bars:
        print(": ".join(bar))
    page = here / "README.md"
    tables.fill(page, "short", ["library", "cell", "programs", "1.4 times as fast", "geometric mean", "median", "best", "worst"], in_short(rows))
    tables.fill(page, "lost", COLUMNS, sorted(map(shown, lost)))
    tables.fill(page, "bars", ["bar", "limit", "measured", "held"], bars)
    for library in NAMES:
        tables.fill(page, library, ["program", *cells.CELLS], of_library(rows, library))
    tables.fill(page, "learnt", COLUMNS, [shown(row) for row in rows if row["variant"] == "learnt"])
    tables.fill(page, "levers", COLUMNS, [shown(row) for row in rows if row["variant"] not in ("tune", "learnt")])
    tables.fill(page, "programs", ["program", "language", "source", "license"], sources())
