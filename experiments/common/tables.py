"""Tables as CSV, and in the pages of experiments."""
import csv
import pathlib


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def fill(path, name, header, rows):
    """Replaces the table between the two marks of a page that have its name."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = pathlib.Path(path).read_text().split(start)
    lines = ["| " + " | ".join(header) + " |", "|" + "--:|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    pathlib.Path(path).write_text(before + start + "\n".join(lines) + "\n" + end + rest.split(end)[1])
