#!/usr/bin/env python3
"""Makes the synthetic landscape of data/: terrain.asc and fuel.asc.

Hills are a sum of Gaussian bumps over a slope that falls to a river in the south; fuel follows
height and smooth value noise; the river and a quarry do not burn. Deterministic: the same files
on every machine. Needs only the standard library.

    python3 tools/make_landscape.py data
"""

import math
import os
import sys

N_COLS, N_ROWS, CELL_M = 200, 160, 40.0
WEST, SOUTH = 420000.0, 4640000.0  # UTM 31N, a place in Catalonia that it does not copy
HILLS = [  # center (m from the south-west corner), height (m), radius (m)
    (2200, 3900, 260, 1100), (5200, 4600, 330, 1300), (6800, 2600, 180, 900),
    (3900, 2300, 120, 700), (900, 1900, 140, 800), (4300, 5900, 210, 1000),
]
GRASS, OPEN_TIMBER, CHAPARRAL, BRUSH, LITTER, TIMBER = 1, 2, 4, 5, 8, 10
WATER, ROCK = 98, 99


def lattice(x, y, seed):
    """A pseudo-random number in [0, 1) for a lattice point, from integer arithmetic."""
    h = (x * 374761393 + y * 668265263 + seed * 2147483647) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    return ((h ^ (h >> 16)) & 0xFFFF) / 65536.0


def noise(x, y, size, seed):
    """Smooth value noise with bumps of `size` meters."""
    fx, fy = x / size, y / size
    ix, iy = math.floor(fx), math.floor(fy)
    tx, ty = fx - ix, fy - iy
    sx, sy = tx * tx * (3 - 2 * tx), ty * ty * (3 - 2 * ty)
    low = lattice(ix, iy, seed) * (1 - sx) + lattice(ix + 1, iy, seed) * sx
    high = lattice(ix, iy + 1, seed) * (1 - sx) + lattice(ix + 1, iy + 1, seed) * sx
    return low * (1 - sy) + high * sy


def river_y(x):
    return 900.0 + 220.0 * math.sin(x / 900.0) + 90.0 * math.sin(x / 370.0 + 1.0)


def height(x, y):
    hills = sum(
        top * math.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * radius**2))
        for cx, cy, top, radius in HILLS
    )
    valley = 60.0 * (1.0 - math.exp(-(((y - river_y(x)) / 500.0) ** 2)))
    rough = 25.0 * noise(x, y, 600, 1) + 8.0 * noise(x, y, 200, 2)
    return 180.0 + hills + valley + rough


def fuel(x, y):
    if abs(y - river_y(x)) < 45.0:
        return WATER
    if (x - 4450) ** 2 + (y - 1840) ** 2 < 110.0**2:
        return ROCK
    dry = noise(x, y, 700, 3) + 0.3 * noise(x, y, 230, 4)
    above = height(x, y)
    if above > 520.0:
        return LITTER if dry < 0.55 else TIMBER
    if above > 400.0:
        return OPEN_TIMBER if dry < 0.75 else TIMBER
    if dry > 0.95:
        return CHAPARRAL
    return BRUSH if dry > 0.65 else GRASS


def write(path, value, form):
    with open(path, "w", encoding="ascii") as out:
        out.write(f"ncols {N_COLS}\nnrows {N_ROWS}\nxllcorner {WEST:.1f}\nyllcorner {SOUTH:.1f}\n")
        out.write(f"cellsize {CELL_M:g}\nNODATA_value -9999\n")
        for row in range(N_ROWS):
            y = (N_ROWS - row - 0.5) * CELL_M
            cells = [value((col + 0.5) * CELL_M, y) for col in range(N_COLS)]
            out.write(" ".join(format(cell, form) for cell in cells) + "\n")


def main():
    folder = sys.argv[1] if len(sys.argv) == 2 else "."
    write(os.path.join(folder, "terrain.asc"), height, ".1f")
    write(os.path.join(folder, "fuel.asc"), fuel, "d")


if __name__ == "__main__":
    main()
