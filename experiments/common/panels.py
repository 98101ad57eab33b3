"""Measured and predicted times over one parameter, a panel for each group of rows; both axes logarithmic."""
import math
import pathlib

COLORS = {"source_s": "#b0563b", "ours_s": "#2f6f9f", "extrap_best_s": "#777777", "pinv_s": "#7a9e3b"}
NAMES = {"source_s": "source", "ours_s": "ours", "extrap_best_s": "Extra-P, best setting", "pinv_s": "pseudo-inverse"}
WIDE, TALL, LEFT, TOP, GAP = 250, 200, 60, 64, 60


def text(x, y, words, anchor="start", color="black"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{words}</text>'


def legend():
    parts, x = [f'<circle cx="{LEFT + 4}" cy="32" r="3.5"/>', text(LEFT + 12, 36, "measured")], LEFT + 90
    parts += [f'<circle cx="{x + 4}" cy="32" r="3.5" fill="white" stroke="black"/>', text(x + 12, 36, "kept back")]
    x += 90
    for column, name in NAMES.items():
        parts.append(f'<path d="M{x} 32h14" stroke="{COLORS[column]}" stroke-width="2"/>' + text(x + 19, 36, name))
        x += 38 + 7 * len(name)
    return parts


def place(value, low, high):
    return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))


def panel(rows, across, title, x0):
    rows = sorted(rows, key=lambda row: float(row[across]))
    xs = [float(row[across]) for row in rows]
    times = [float(row[column]) for row in rows for column in ("measured_s", "ours_s", "source_s") if row.get(column)]
    low, high = 0.8 * min(times), 1.25 * max(times)
    x = lambda value: x0 + WIDE * (place(value, xs[0], xs[-1]) if xs[0] < xs[-1] else 0.5)
    y = lambda value: TOP + TALL * (1 - min(max(place(max(value, low * 1e-3), low, high), -0.05), 1.05))
    parts = [text(x0 + WIDE / 2, TOP - 8, title, "middle"),
             f'<path d="M{x0} {TOP}v{TALL}h{WIDE}" fill="none" stroke="#999"/>']
    for value in {xs[0], xs[len(xs) // 2], xs[-1]}:
        parts.append(text(x(value), TOP + TALL + 16, f"{value:g}", "middle"))
    parts.append(text(x0 + WIDE / 2, TOP + TALL + 34, across, "middle"))
    for value in (min(times), math.sqrt(min(times) * max(times)), max(times)):
        parts.append(text(x0 - 6, y(value) + 4, f"{value:.3g}", "end"))
        parts.append(f'<path d="M{x0} {y(value):.1f}h{WIDE}" stroke="#e3e3e3"/>')
    for column, color in COLORS.items():
        said = [(x(float(row[across])), y(float(row[column]))) for row in rows if row.get(column)]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in said)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.5"/>')
    for row in rows:
        fill = "black" if row["seen"] else "white"
        at = x(float(row[across])), y(float(row["measured_s"]))
        parts.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="3.5" fill="{fill}" stroke="black"/>')
    return parts


def write(path, rows, across, groups):
    """Panels: for each `(title, rows that are wanted)`."""
    parts = [text(LEFT, 18, "Times in seconds"), *legend()]
    for at, (title, wanted) in enumerate(groups):
        parts += panel([row for row in rows if wanted(row)], across, title, LEFT + at * (WIDE + GAP))
    wide = max(LEFT + len(groups) * (WIDE + GAP), 640)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {TOP + TALL + 50}" font-family="sans-serif" '
            f'font-size="12"><rect width="{wide}" height="{TOP + TALL + 50}" fill="white"/>')
    pathlib.Path(path).write_text("\n".join([head, *parts, "</svg>\n"]))
