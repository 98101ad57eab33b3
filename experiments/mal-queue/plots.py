"""The picture of this experiment, as SVG."""
import pathlib

COLORS = {"rigid": "#b0563b", "malleable": "#2f6f9f"}
LEFT, TOP, WIDE, TALL, GAP = 50, 40, 620, 90, 50


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def nodes(path, n_nodes, used):
    """Nodes in use over time, a panel for each kind."""
    most_s = max(at_s for looks in used.values() for at_s, _ in looks)
    parts = [text(LEFT, 20, "Nodes that have a job, over seconds")]
    for place, (kind, looks) in enumerate(used.items()):
        top = TOP + place * (TALL + GAP)
        x = lambda at_s: LEFT + WIDE * at_s / most_s
        y = lambda n: top + TALL * (1 - n / n_nodes)
        points = [f"{x(0):.1f},{y(0):.1f}"]
        for (at_s, n), (next_s, _) in zip(looks, [*looks[1:], (looks[-1][0], 0)]):
            points += [f"{x(at_s):.1f},{y(n):.1f}", f"{x(next_s):.1f},{y(n):.1f}"]
        points.append(f"{x(looks[-1][0]):.1f},{y(0):.1f}")
        parts.append(f'<polygon points="{" ".join(points)}" fill="{COLORS[kind]}"/>')
        parts.append(f'<path d="M{LEFT} {top}v{TALL}h{WIDE}" fill="none" stroke="#999"/>')
        parts += [text(LEFT - 6, y(n) + 4, n, "end") for n in (0, n_nodes)]
        parts.append(text(LEFT, top + TALL + 16, kind))
        parts.append(text(x(looks[-1][0]), top + TALL + 16, f"{looks[-1][0]:.0f} s", "end"))
    height = TOP + len(used) * (TALL + GAP)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDE + 20} {height}" font-family="sans-serif" '
            f'font-size="12"><rect width="{LEFT + WIDE + 20}" height="{height}" fill="white"/>')
    pathlib.Path(path).write_text("\n".join([head, *parts, "</svg>\n"]))
