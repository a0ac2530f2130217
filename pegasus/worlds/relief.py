"""Terrain by stream erosion, and the surroundings of a height map."""

import numpy as np
from pxr import UsdGeom

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import Surface, label, mesh
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.terrain import Noise, Terrain, cut, draw, grid_faces

_BAND = 24.0
_COARSE_CELLS = 16
_REACH = 5
_SUNK = 25.0
_WORN_SIDE = 129
_WORN_STEPS = 70
_EROSION = 0.22
_TALUS = 1.0


def made_land(rng: np.random.Generator, size: float, count: int, amplitude: float) -> tuple[Terrain, Terrain]:
    """Return hills over a square, and coarser land around it with continuous edges.

    Args:
        rng: Random numbers.
        size: Side of the square [m].
        count: Rows and columns of heights.
        amplitude: Height of the highest point above the lowest [m].
    """
    bulk, warp, detail = Noise(rng), (Noise(rng), Noise(rng)), Noise(rng)
    side = np.linspace(-1.0, 1.0, _WORN_SIDE)
    u, v = np.meshgrid(side, side)
    start = 1.0 + 0.9 * bulk.fractal(u, v, 0.75, octaves=5, gain=0.55)
    worn = worn_by_water(start * np.minimum(4.0 * (1.0 - np.maximum(np.abs(u), np.abs(v))), 1.0))

    line = np.linspace(-size / 2, size / 2, count)
    x, y = np.meshgrid(line, line)
    # Streams follow a coarse grid; sampling at shifted positions makes valleys wind.
    shift = [0.045 * noise.fractal(x, y, 0.13 * size, octaves=3) for noise in warp]
    part = np.clip((size / 2 - np.maximum(np.abs(x), np.abs(y))) / _BAND, 0.0, 1.0)
    part = part * part * (3.0 - 2.0 * part)
    ux, vy = (np.clip(2 * w / size + part * d, -1.0, 1.0) for w, d in zip((x, y), shift, strict=True))
    raw = smoothly_sampled(worn, *((_WORN_SIDE - 1) / 2 * (1.0 + w) for w in (ux, vy)))
    # Wide valleys and distinct crests.
    raw = np.maximum(raw / raw.max(), 0.0) ** 1.3
    # Small forms appear on ridges, not in valleys.
    raw = raw * (1.0 + 0.16 * detail.fractal(x, y, 0.06 * size, octaves=5, gain=0.55))
    heights = crumbled(raw * (amplitude / raw.max()), size / (count - 1))

    around = _land_around(bulk, size, amplitude)
    mixed = around.height(x, y) * (1.0 - part) + heights * part
    mixed = np.maximum(mixed, 0.0) * (amplitude / mixed.max())
    return Terrain(mixed, (size / (count - 1),) * 2), around


def worn_by_water(heights: Array) -> Array:
    """Return terrain by uplift and stream erosion with drainage over its edge, shape (N, N).

    Incision is proportional to slope and to the square root of the drainage area; each step is solved
    implicitly from the edge upwards (Braun and Willett 2013, "A very efficient O(n), implicit and
    parallel method to solve the stream power equation").

    Args:
        heights: Initial heights in cells, shape (N, N).
    """
    rows, columns = heights.shape
    z = heights.copy()
    edge = np.ones(z.shape, dtype=np.bool_)
    edge[1:-1, 1:-1] = False
    z[edge] = 0.0
    fixed = edge.ravel().tolist()
    for _ in range(_WORN_STEPS):
        z[~edge] += 0.35
        below, distance = _ways_down(z)
        order = np.argsort(z, axis=None, kind="stable").tolist()
        target, run, level = below.ravel().tolist(), distance.ravel().tolist(), z.ravel().tolist()
        area = [1.0] * (rows * columns)
        for place in reversed(order):
            if target[place] != place:
                area[target[place]] += area[place]
        for place in order:
            down = target[place]
            if down != place and not fixed[place]:
                cutting = _EROSION * area[place] ** 0.5 / run[place]
                level[place] = (level[place] + cutting * level[down]) / (1.0 + cutting)
        z = np.array(level).reshape(z.shape)
        # Soil creep rounds the crests.
        z[1:-1, 1:-1] += 0.12 * (
            z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:] - 4.0 * z[1:-1, 1:-1]
        )
    return z


def smoothly_sampled(values: Array, column: Array, row: Array) -> Array:
    """Return interpolated values of a grid with continuous slopes (Keys 1981, cubic convolution).

    Args:
        values: Values, shape (R, C).
        column: Columns of the points, shape (...).
        row: Rows of the points, shape (...).
    """
    rows, columns = values.shape
    left = np.clip(np.floor(column).astype(np.int64), 0, columns - 2)
    low = np.clip(np.floor(row).astype(np.int64), 0, rows - 2)
    across, along = _weights(column - left), _weights(row - low)
    total = np.zeros(column.shape)
    for j in range(4):
        r = np.clip(low + j - 1, 0, rows - 1)
        line = sum(across[i] * values[r, np.clip(left + i - 1, 0, columns - 1)] for i in range(4))
        total += along[j] * line
    return total


def _weights(t: Array) -> tuple[Array, Array, Array, Array]:
    """Return the weights of four neighbours at a share t between the middle two."""
    return (
        0.5 * t * (t * (2.0 - t) - 1.0),
        1.0 + 0.5 * t * t * (3.0 * t - 5.0),
        0.5 * t * (1.0 + t * (4.0 - 3.0 * t)),
        0.5 * t * t * (t - 1.0),
    )


def crumbled(heights: Array, cell: float) -> Array:
    """Return heights after thermal erosion of steep slopes.

    Thermal weathering (Musgrave, Kolb and Mace 1989, "The synthesis and rendering of eroded fractal
    terrains", sec. 5): a part of the excess over the talus angle moves to the lower neighbour.

    Args:
        heights: Heights [m], shape (rows, columns).
        cell: Spacing of them [m].
    """
    z = heights.copy()
    for _ in range(12):
        for axis in (0, 1):
            step = np.diff(z, axis=axis)
            excess = 0.2 * np.sign(step) * np.maximum(np.abs(step) - _TALUS * cell, 0.0)
            if axis == 0:
                z[:-1] += excess
                z[1:] -= excess
            else:
                z[:, :-1] += excess
                z[:, 1:] -= excess
    return z


def _ways_down(z: Array) -> tuple[IntArray, Array]:
    """Return the steepest lower neighbour of each cell, or itself, and its distance in cells."""
    rows, columns = z.shape
    padded = np.pad(z, 1, constant_values=np.inf)
    number = np.arange(rows * columns).reshape(rows, columns)
    best, target, distance = np.zeros(z.shape), number.copy(), np.ones(z.shape)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            if i == 0 and j == 0:
                continue
            run = float(np.hypot(i, j))
            drop = (z - padded[1 + i : 1 + i + rows, 1 + j : 1 + j + columns]) / run
            steeper = drop > best
            best = np.where(steeper, drop, best)
            target = np.where(steeper, number + i * columns + j, target)
            distance = np.where(steeper, run, distance)
    return target, distance


def _land_around(noise: Noise, size: float, amplitude: float) -> Terrain:
    """Return land that is low at the edge of the map and mountainous far away."""
    far = _REACH * size / 2
    line = np.linspace(-far, far, _REACH * _COARSE_CELLS + 1)
    x, y = np.meshgrid(line, line)
    distance = np.maximum(np.maximum(np.abs(x), np.abs(y)) / size - 0.5, 0.0)
    bulk = noise.fractal(x, y, 0.9 * size, octaves=3, gain=0.4)
    ridges = 0.45 - np.abs(noise.fractal(x + 7.0 * size, y, 0.6 * size, octaves=3, gain=0.45))
    rise = np.minimum(distance / 1.4, 1.0) ** 1.3
    heights = amplitude * (0.10 + 0.12 * bulk + rise * (0.9 + 1.6 * ridges + 0.8 * bulk))
    return Terrain(np.maximum(heights, 0.0), (size / _COARSE_CELLS,) * 2)


def plain_around(terrain: Terrain) -> Terrain:
    """Return level land around a map, at the height of its lowest point."""
    across, along = terrain.half
    count = _REACH * _COARSE_CELLS + 1
    level = np.full((count, count), float(terrain.heights.min()))
    return Terrain(level, (2 * across / _COARSE_CELLS, 2 * along / _COARSE_CELLS))


def surroundings(
    site: Site, terrain: Terrain, around: Terrain, grass: Surface, dry: Surface, rock: Surface
) -> None:
    """Write the land around a map; below the map it is lowered and not drawn.

    Args:
        site: The site.
        terrain: The map.
        around: The land, `_REACH` times as wide as the map.
        grass: Visual material and contact of the land.
        dry: Visual material of dry patches.
        rock: Visual material of steep land, and of the cut where the map's edge is above the land.
    """
    first = (_REACH - 1) // 2 * _COARSE_CELLS
    inner = slice(first + 1, first + _COARSE_CELLS)
    heights = around.heights.copy()
    heights[inner, inner] = terrain.heights.min() - _SUNK
    sunk = Terrain(heights, around.cell)
    solid = mesh(site.stage, f"{ROOT}/Surroundings/Collision", sunk.points, sunk.faces, grass)
    solid.CreatePurposeAttr(UsdGeom.Tokens.guide)
    points, faces = around.points, around.faces
    middle = points[faces].mean(axis=1)
    outside = (np.abs(middle[:, 0]) > terrain.half[0]) | (np.abs(middle[:, 1]) > terrain.half[1])
    patches = Noise(site.stream("surroundings")).fractal(points[:, 0], points[:, 1], 90.0, octaves=3) - 0.08
    steep = around.steepness.ravel() - 0.5
    rest = np.column_stack([points, around.normals, steep, patches]), faces[outside]
    for name, look, column in (("Rock", rock, 6), ("Dry", dry, 7)):
        part, rest = cut(*rest, column)
        if len(part[1]):
            draw(site, f"{ROOT}/Surroundings/{name}", part, look, "rock" if name == "Rock" else "grass")
    draw(site, f"{ROOT}/Surroundings/Grass", rest, grass, "grass")
    skirt = _skirt(terrain, around)
    if skirt is not None:
        visible = Surface(rock.material)
        u = np.repeat(np.arange(len(skirt) // 2) * terrain.cell[0], 2)
        uvs = np.column_stack([u, skirt[:, 2]])
        walls = mesh(
            site.stage, f"{ROOT}/Surroundings/Cut", skirt, grid_faces(len(skirt) // 2, 2), visible, uvs=uvs
        )
        label(walls.GetPrim(), "rock")


def _skirt(terrain: Terrain, around: Terrain) -> Array | None:
    """Return upright walls from the edge of a map down to the land, as rows of two points, or None."""
    x, y = terrain.lines
    z = terrain.heights
    edge = np.concatenate(
        [
            np.column_stack([x, np.full_like(x, y[0]), z[0]]),
            np.column_stack([np.full_like(y, x[-1]), y, z[:, -1]])[1:],
            np.column_stack([x[::-1], np.full_like(x, y[-1]), z[-1, ::-1]])[1:],
            np.column_stack([np.full_like(y, x[0]), y[::-1], z[::-1, 0]])[1:],
        ]
    )
    land = around.height(edge[:, 0], edge[:, 1])
    if np.abs(land - edge[:, 2]).max() < 0.01:
        return None
    foot = np.column_stack([edge[:, :2], np.minimum(land, edge[:, 2]) - 0.5])
    return np.stack([edge, foot], axis=1).reshape(-1, 3)
