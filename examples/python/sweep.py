"""Searches for the minimum of a function on all nodes: first on a coarse grid, then around the best point.

Start a daemon with `sintonia node start --background`, then run this with a Python that finds `sintonia` (from the
checkout: `PYTHONPATH=python`) and has `cloudpickle`.
"""

from concurrent.futures import as_completed

import sintonia


def height(x: float, y: float) -> float:
    """Himmelblau's function, here in the place of a simulation."""
    return (x * x + y - 11) ** 2 + (x + y * y - 7) ** 2


def row(x: float, ys: "list[float]") -> "tuple[float, float, float]":
    """Lowest point of a row: enough work for a task."""
    return min((height(x, y), x, y) for y in ys)


def grid(middle: float, half: float, n: int) -> "list[float]":
    return [middle + half * (2 * i / (n - 1) - 1) for i in range(n)]


def main() -> None:
    with sintonia.Client() as client:
        lowest, x, y, half = height(0.0, 0.0), 0.0, 0.0, 5.0
        for round_no in range(2):
            ys = grid(y, half, 500)
            rows = [client.submit(row, at, ys, name=f"row {at:.2f}") for at in grid(x, half, 4)]
            for future in as_completed(rows):
                lowest, x, y = min((lowest, x, y), future.result())
            print(f"round {round_no}: {lowest:.6f} at ({x:.4f}, {y:.4f})")
            half /= 4
        # The result of one task is the input of the next: a command, whose words are the numbers.
        last = client.submit(height, x, y)
        print("best:", client.submit(["echo", last]).result().stdout.strip())


if __name__ == "__main__":
    main()
