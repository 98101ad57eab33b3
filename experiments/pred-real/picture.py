"""Pictures: median errors of each method by set; measured curves with what was foretold."""
import math
import pathlib
import statistics

COLORS = ["#2f6f9f", "#8fb8d6", "#b0563b", "#d9a441", "#777777", "#b5b5b5"]
LEFT, TOP, ROW, WIDE = 270, 60, 22, 520


def text(x, y, words, anchor="start", size=12):
    words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def page(path, wide, tall, parts):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" font-family="sans-serif">'
            f'<rect width="{wide}" height="{tall}" fill="white"/>')
    pathlib.Path(path).write_text("\n".join([head, *parts, "</svg>\n"]))


def write(path, by_set, methods):
    """A row for each set, a dot for each method at its median error."""
    low, high = 1.0, 200.0
    x = lambda error: LEFT + WIDE * math.log(min(max(error, low), high) / low) / math.log(high / low)
    parts, at = [text(10, 20, "Median error at held-out points (SMAPE, %)", size=14)], LEFT
    for color, method in zip(COLORS, methods):
        parts.append(f'<circle cx="{at}" cy="40" r="5" fill="{color}"/>' + text(at + 9, 44, method))
        at += 24 + 7 * len(method)
    tall = TOP + ROW * len(by_set) + 40
    for error in (1, 2, 5, 10, 20, 50, 100, 200):
        parts.append(f'<path d="M{x(error):.1f} {TOP}V{tall - 34}" stroke="#e3e3e3"/>' + text(x(error), tall - 18, f"{error}", "middle"))
    for idx, row in enumerate(by_set):
        y = TOP + ROW * (idx + 0.5)
        parts.append(text(LEFT - 10, y + 4, row["set"], "end"))
        for color, method in list(zip(COLORS, methods))[::-1]:
            if row[method]:
                error = float(row[method].split(" / ")[0])
                parts.append(f'<circle cx="{x(error):.1f}" cy="{y:.1f}" r="5" fill="{color}"/>')
    page(path, LEFT + WIDE + 60, tall, parts)


def curves(path, measured, rows):
    """Efficiency of each curve: its points, filled where they were fitted, and the two held out with what was foretold."""
    side, gap, n_columns = 190, 50, 4
    wanted = [curve for curve in measured if any(row["curve"] == curve.name for row in rows)]
    parts = [text(10, 20, "Seconds per iteration times nodes, over nodes; two largest held out (hollow), with what was foretold (blue)", size=14)]
    for idx, curve in enumerate(wanted):
        x0, y0 = 60 + idx % n_columns * (side + gap), 60 + idx // n_columns * (side + gap)
        held = {float(row["at"]): row for row in rows if row["curve"] == curve.name}
        level = {at[0]: statistics.median(values) for at, values in curve.points.items()}
        tops = [p * value for p, value in level.items()] + [p * row[end] for p, row in held.items() for end in ("low", "high")]
        low, high, first, last = min(tops), max(tops), min(level), max(level)
        x = lambda p: x0 + side * math.log(p / first) / math.log(last / first)
        y = lambda work: y0 + side * (1 - math.log(work / low) / math.log(high / low))
        parts.append(f'<path d="M{x0} {y0}v{side}h{side}" fill="none" stroke="#999"/>')
        parts.append(text(x0 + side / 2, y0 - 6, curve.name, "middle", 11))
        parts += [text(x0 - 4, y(work) + 4, f"{work:.3g}", "end", 10) for work in (low, high)]
        parts += [text(x(p), y0 + side + 14, f"{p:g}", "middle", 10) for p in (first, last)]
        for p, row in held.items():
            parts.append(f'<path d="M{x(p):.1f} {y(p * row["low"]):.1f}V{y(p * row["high"]):.1f}" stroke="#8fb8d6" stroke-width="5"/>')
            parts.append(f'<path d="M{x(p) - 5:.1f} {y(p * row["ours"]):.1f}h10" stroke="#2f6f9f" stroke-width="3"/>')
        for p, value in level.items():
            fill = "white" if p in held else "black"
            parts.append(f'<circle cx="{x(p):.1f}" cy="{y(p * value):.1f}" r="3.5" fill="{fill}" stroke="black"/>')
    n_rows = -(-len(wanted) // n_columns)
    page(path, 60 + n_columns * (side + gap), 60 + n_rows * (side + gap), parts)
