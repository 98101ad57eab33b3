"""The pictures of this experiment, as SVG."""
import pathlib

OURS, SOURCE, BEST, LOAD = "#2f6f9f", "#b0563b", "#777", "#ecd9a8"


def svg(path, width, height, parts):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
            f'font-size="12"><rect width="{width}" height="{height}" fill="white"/>')
    pathlib.Path(path).write_text("\n".join([head, *parts, "</svg>\n"]))


def text(x, y, words, anchor="start", color="black"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{words}</text>'


def legend(entries):
    parts, x = [], 50
    for name, color in entries:
        parts.append(f'<rect x="{x}" y="26" width="11" height="11" fill="{color}"/>' + text(x + 16, 36, name))
        x += 30 + 7 * len(name)
    return parts


def relative(rows, pattern):
    """Times as multiples of that of the best fixed number."""
    times = {str(row["workers"]): float(row["time_s"]) for row in rows if row["load_pattern"] == pattern}
    fixed = [time for workers, time in times.items() if workers != "tuned"]
    return {workers: time / min(fixed) for workers, time in times.items()} if fixed else {}


def times(path, patterns, numbers, rows, source):
    """Bars for each pattern and number, source beside ours; long ones are cut off and say how long they are."""
    panel, left, top, tall, most = 300, 50, 60, 220, 2.5
    parts = [text(left, 18, "Time of a run over that of the best fixed number of workers (less is better)"),
             *legend([("source", SOURCE), ("ours", OURS)])]
    y = lambda value: top + tall * (1 - min(value, most) / most)
    for place, pattern in enumerate(patterns):
        x0 = left + place * panel
        parts.append(text(x0 + panel / 2 - 10, top + tall + 36, pattern, "middle"))
        parts.append(f'<path d="M{x0} {y(1):.1f}h{panel - 20}" stroke="#999" stroke-dasharray="3 3"/>')
        group = (panel - 20) / len(numbers)
        for at, number in enumerate(numbers):
            parts.append(text(x0 + (at + 0.5) * group, top + tall + 16, number, "middle"))
            for side, (some, color) in enumerate([(relative(source, pattern), SOURCE), (relative(rows, pattern), OURS)]):
                if number not in some:
                    continue
                x, value = x0 + (at + 0.08 + 0.42 * side) * group, some[number]
                parts.append(f'<rect x="{x:.1f}" y="{y(value):.1f}" width="{0.4 * group:.1f}" '
                             f'height="{top + tall - y(value):.1f}" fill="{color}"/>')
                parts.append(f'<text x="{x + 0.2 * group:.1f}" y="{y(value) - 3:.1f}" text-anchor="middle" '
                             f'font-size="9">{value:.2f}</text>')
    svg(path, left + panel * len(patterns), top + tall + 50, parts)


def steps(values, x, y):
    """A line that keeps each value for an iteration."""
    points = [f"{x(at + side):.1f},{y(value):.1f}" for at, value in enumerate(values) for side in (0, 1)]
    return " ".join(points)


def workers(path, patterns, rows):
    """For each pattern the load as an area, the best number for it, and the number of the tuned run."""
    left, top, tall, wide, gap = 50, 60, 130, 640, 40
    parts = [text(left, 18, "Workers over iterations, and the load"),
             *legend([("workers, tuned", OURS), ("best number, eq. 8", BEST), ("load", LOAD)])]
    for place, pattern in enumerate(patterns):
        here = [row for row in rows if row["load_pattern"] == pattern]
        y0 = top + place * (tall + gap)
        x = lambda iteration: left + wide * iteration / len(here)
        y = lambda number: y0 + tall * (1 - number / 20)
        highest = max(float(row["load"]) for row in here)
        loads = steps([20 * float(row["load"]) / highest for row in here], x, y)
        parts.append(f'<polygon points="{x(0)},{y(0)} {loads} {x(len(here))},{y(0)}" fill="{LOAD}"/>')
        for number in (0, 5, 10, 15, 20):
            parts.append(f'<path d="M{left} {y(number):.1f}h{wide}" stroke="#ddd"/>')
            parts.append(text(left - 6, y(number) + 4, number, "end"))
        parts.append(text(left + wide + 6, y(20) + 4, f"load {highest:g}"))
        parts.append(text(left + wide + 6, y(10) + 4, pattern))
        for name, color, dashes in (("best", BEST, "4 3"), ("workers", OURS, "none")):
            line = steps([float(row[name]) for row in here], x, y)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2" '
                         f'stroke-dasharray="{dashes}"/>')
    svg(path, left + wide + 90, top + len(patterns) * (tall + gap), parts)
