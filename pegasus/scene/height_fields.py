"""Detection of height fields in meshes: one height over every point of a rectangle."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.scene.surfaces import Faces

# Tolerance by the spacing for points on a grid: authored points are float32.
_ON_GRID = 1e-3
_MOST_NODES = 2_000_000


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights over a regular grid; the diagonal of each cell starts at its corner of lowest x and y."""

    heights: Array
    """Heights along z [m], shape (rows along y, columns along x)."""
    spacing: tuple[float, float]
    """Spacing of columns and of rows [m]."""
    position: Array
    """Centre of the grid at height zero in the frame of the mesh [m], shape (3,)."""
    rotation: Array
    """Axes of the field in the frame of the mesh, shape (3, 3)."""
    deviation: float
    """Largest distance along z between field and mesh [m]."""


def height_field(vertices: Array, faces: Faces) -> HeightField | None:
    """Return a mesh over a regular grid along two of its axes as a height field, or None for other meshes.

    The field has the triangles of the mesh. If the mesh uses both diagonals, the rarer one is replaced by the
    other, and `deviation` tells the resulting error.

    Args:
        vertices: Vertices [m], shape (V, 3).
        faces: Triangles, counter-clockwise seen from outside, shape (F, 3).
    """
    return _along_an_axis(vertices, faces, _on_grid)


def sampled_height_field(vertices: Array, faces: Faces, tolerance: float) -> HeightField | None:
    """Return a sampled height field of a mesh that covers a rectangle once, or None for other meshes.

    The grid is refined until the field is within the tolerance at every vertex and edge midpoint, or has two
    million nodes.

    Args:
        vertices: Vertices [m], shape (V, 3).
        faces: Triangles, counter-clockwise seen from outside, shape (F, 3).
        tolerance: Largest error along z [m].
    """

    def sample(points: Array, triangles: Faces) -> HeightField | None:
        return _sampled(points, triangles, tolerance)

    return _along_an_axis(vertices, faces, sample)


def _along_an_axis(
    vertices: Array, faces: Faces, make: Callable[[Array, Faces], HeightField | None]
) -> HeightField | None:
    """Return the first field found with z along an axis of the mesh, on its front side."""
    edge, other = (vertices[faces[:, k]] - vertices[faces[:, 0]] for k in (1, 2))
    area = np.cross(edge, other)
    for axis in (2, 1, 0):
        facing = np.sign(area[:, axis])
        if not (facing == facing[0]).all() or facing[0] == 0:
            continue
        first, second, up = (np.eye(3)[(axis + k) % 3] for k in (1, 2, 0))
        frame = np.stack([first, second, up] if facing[0] > 0 else [second, first, -up], axis=1)
        field = make(vertices @ frame, faces)
        if field is not None:
            return HeightField(
                field.heights,
                field.spacing,
                frame @ field.position,
                frame @ field.rotation,
                field.deviation,
            )
    return None


def _on_grid(points: Array, faces: Faces) -> HeightField | None:
    """Return the field of an upward-facing mesh over a regular grid in x and y."""
    across, along = _grid_lines(points[:, 0]), _grid_lines(points[:, 1])
    if across is None or along is None:
        return None
    (column, columns, dx), (row, rows, dy) = across, along
    if len(faces) != 2 * (columns - 1) * (rows - 1):
        return None
    node = row * columns + column
    flat = np.full(rows * columns, np.nan)
    flat[node] = points[:, 2]
    if np.isnan(flat).any() or np.abs(flat[node] - points[:, 2]).max() > _ON_GRID * min(dx, dy):
        return None
    main = _main_diagonals(row[faces], column[faces], rows, columns)
    if main is None:
        return None
    heights = flat.reshape(rows, columns)
    middle = np.array([*((points.min(axis=0) + points.max(axis=0))[:2] / 2), 0.0])
    bend = np.abs(heights[:-1, :-1] + heights[1:, 1:] - heights[:-1, 1:] - heights[1:, :-1]) / 2
    if 2 * main.sum() >= main.size:
        return HeightField(heights, (dx, dy), middle, np.eye(3), float(np.max(bend[~main], initial=0.0)))
    # A quarter turn swaps the diagonals: x of the field runs along y, and its y along -x.
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    deviation = float(np.max(bend[main], initial=0.0))
    return HeightField(np.ascontiguousarray(heights.T[::-1]), (dy, dx), middle, turn, deviation)


def _grid_lines(values: Array) -> tuple[IntArray, int, float] | None:
    """Return the index of each value's grid line, the number of lines and their spacing."""
    low, extent = float(values.min()), float(np.ptp(values))
    gaps = np.diff(np.sort(values))
    count = int((gaps > 1e-5 * extent).sum()) + 1
    if count < 2:
        return None
    spacing = extent / (count - 1)
    at = (values - low) / spacing
    line = np.rint(at).astype(np.int64)
    return None if np.abs(at - line).max() > _ON_GRID else (line, count, spacing)


def _main_diagonals(row: IntArray, column: IntArray, rows: int, columns: int) -> BoolArray | None:
    """Return which cells have the diagonal x = y, shape (rows - 1, columns - 1).

    The result is None if a cell is not made of two triangles.

    Args:
        row: Rows of the corners of the triangles, shape (T, 3).
        column: Columns of the corners, shape (T, 3).
        rows: Rows of the grid.
        columns: Columns of the grid.
    """
    bottom, left = row.min(axis=1), column.min(axis=1)
    if ((row.max(axis=1) - bottom) != 1).any() or ((column.max(axis=1) - left) != 1).any():
        return None
    # A triangle has all but one of the four corners of its cell.
    present = np.zeros((len(row), 4), dtype=np.bool_)
    corner = 2 * (row - bottom[:, None]) + column - left[:, None]
    np.put_along_axis(present, corner, values=True, axis=1)
    if (present.sum(axis=1) != 3).any():
        return None
    missing = present.argmin(axis=1)
    cell = bottom * (columns - 1) + left
    order = np.argsort(cell, kind="stable").reshape(-1, 2)
    if not np.array_equal(cell[order], np.repeat(np.arange(len(order))[:, None], 2, axis=1)):
        return None
    if (missing[order].sum(axis=1) != 3).any():
        return None
    main: BoolArray = np.isin(missing[order[:, 0]], (1, 2)).reshape(rows - 1, columns - 1)
    return main


def _sampled(points: Array, faces: Faces, tolerance: float) -> HeightField | None:
    """Return the sampled field of an upward-facing mesh that covers a rectangle in x and y once."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = (high - low)[:2]
    corners = points[faces]
    area = _doubled_area(corners[:, 0], corners[:, 1], corners[:, 2]) / 2
    # Upward-facing triangles with the total area of the rectangle neither overlap nor leave holes.
    if not abs(area.sum() - size.prod()) < 1e-4 * size.prod():
        return None
    checked = np.concatenate(
        [points[np.unique(faces)], *((corners[:, k] + corners[:, k - 1]) / 2 for k in range(3))]
    )
    spacing, best = float(np.sqrt(2 * size.prod() / len(faces))), None
    while True:
        columns, rows = (int(np.ceil(length / spacing)) + 1 for length in size)
        if columns * rows > _MOST_NODES:
            return best
        step = size / (columns - 1, rows - 1)
        heights = _heights(corners, low, step, rows, columns)
        if heights is None:
            return None
        off = float(np.abs(_interpolated(heights, (checked[:, :2] - low[:2]) / step) - checked[:, 2]).max())
        middle = np.array([*((low + high)[:2] / 2), 0.0])
        best = HeightField(heights, (float(step[0]), float(step[1])), middle, np.eye(3), off)
        if off <= tolerance:
            return best
        spacing /= 2


def _heights(corners: Array, low: Array, step: Array, rows: int, columns: int) -> Array | None:
    """Return the heights of triangles at the nodes of a grid, shape (rows, columns); None if one has none."""
    heights = np.full(rows * columns, np.nan)
    at = (corners[:, :, :2] - low[:2]) / step
    first = np.maximum(np.ceil(at.min(axis=1) - 1e-6).astype(np.int64), 0)
    last = np.minimum(np.floor(at.max(axis=1) + 1e-6).astype(np.int64), (columns - 1, rows - 1))
    wide, deep = np.maximum(last - first + 1, 0).T
    count = wide * deep
    # In portions, to bound the memory.
    for portion in np.array_split(np.arange(len(count)), int(count.sum()) // 4_000_000 + 1):
        triangle = np.repeat(portion, count[portion])
        rank = np.arange(len(triangle)) - np.repeat(
            np.cumsum(count[portion]) - count[portion], count[portion]
        )
        x = first[triangle, 0] + rank % np.maximum(wide[triangle], 1)
        y = first[triangle, 1] + rank // np.maximum(wide[triangle], 1)
        a, b, c = (at[triangle, k] for k in range(3))
        node = np.stack([x, y], axis=1)
        whole = _doubled_area(a, b, c)
        weights = np.stack(
            [
                _doubled_area(b, c, node) / whole,
                _doubled_area(c, a, node) / whole,
                _doubled_area(a, b, node) / whole,
            ]
        )
        inside = weights.min(axis=0) >= -1e-6
        z = (weights * corners[triangle, :, 2].T).sum(axis=0)
        heights[(y * columns + x)[inside]] = z[inside]
    return None if np.isnan(heights).any() else heights.reshape(rows, columns)


def _interpolated(heights: Array, at: Array) -> Array:
    """Return the heights of a field at points in units of its cells, shape (K,)."""
    rows, columns = heights.shape
    x = np.clip(at[:, 0].astype(np.int64), 0, columns - 2)
    y = np.clip(at[:, 1].astype(np.int64), 0, rows - 2)
    u, v = at[:, 0] - x, at[:, 1] - y
    corner, opposite = heights[y, x], heights[y + 1, x + 1]
    lower = corner + u * (heights[y, x + 1] - corner) + v * (opposite - heights[y, x + 1])
    upper = corner + v * (heights[y + 1, x] - corner) + u * (opposite - heights[y + 1, x])
    return np.where(u > v, lower, upper)


def _doubled_area(a: Array, b: Array, c: Array) -> Array:
    """Return twice the signed areas of triangles in x and y."""
    doubled: Array = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return doubled
