"""Ground from heights over a regular grid: made by noise, looked up exactly, drawn by what covers it.

Every cell is cut from its corner of lowest x and y to the opposite one, as engines cut height fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from pxr import UsdGeom

from pegasus.arrays import Array, IntArray
from pegasus.scene.authoring import Surface, ground_plane, group, label, mesh
from pegasus.scene.flat_faces import tiles
from pegasus.scene.worlds.site import ROOT, Site

_HORIZON = 600.0


@dataclass(frozen=True, eq=False)
class Terrain:
    """Heights over a rectangle whose middle is the origin."""

    heights: Array
    """Heights [m], shape (rows along y, columns along x)."""
    cell: tuple[float, float]
    """Spacing of columns and of rows [m]."""

    @property
    def half(self) -> tuple[float, float]:
        """Half its length along x and along y [m]."""
        rows, columns = self.heights.shape
        return self.cell[0] * (columns - 1) / 2, self.cell[1] * (rows - 1) / 2

    @property
    def lines(self) -> tuple[Array, Array]:
        """Where its columns and its rows lie [m], shapes (columns,) and (rows,)."""
        rows, columns = self.heights.shape
        across, along = self.half
        return np.linspace(-across, across, columns), np.linspace(-along, along, rows)

    def height(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return heights of the triangles at places, shape as theirs; those at its edge beyond it [m].

        Args:
            x: East [m].
            y: North [m].
        """
        column, row, u, v = self._cell(x, y)
        z = self.heights
        a, b = z[row, column], z[row, column + 1]
        c, d = z[row + 1, column], z[row + 1, column + 1]
        inside: Array = np.where(u > v, a + u * (b - a) + v * (d - b), a + v * (c - a) + u * (d - c))
        return inside

    def slope(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return how much the ground rises along x and y at places, shape (..., 2).

        Args:
            x: East [m].
            y: North [m].
        """
        column, row, u, v = self._cell(x, y)
        z = self.heights
        a, b = z[row, column], z[row, column + 1]
        c, d = z[row + 1, column], z[row + 1, column + 1]
        across, along = np.where(u > v, b - a, d - c), np.where(u > v, d - b, c - a)
        return np.stack([across / self.cell[0], along / self.cell[1]], axis=-1)

    @property
    def steepness(self) -> Array:
        """How much it rises along its steepest way at each point of the grid, shape (rows, columns)."""
        along, across = np.gradient(self.heights, self.cell[1], self.cell[0])
        steepness: Array = np.hypot(across, along)
        return steepness

    @property
    def points(self) -> Array:
        """Points of the grid [m], row by row, shape (rows * columns, 3)."""
        x, y = self.lines
        return np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x)), self.heights.ravel()])

    @property
    def normals(self) -> Array:
        """Unit normals at the points of the grid, shape (rows * columns, 3)."""
        along, across = np.gradient(self.heights, self.cell[1], self.cell[0])
        normal = np.stack([-across, -along, np.ones_like(across)], axis=-1).reshape(-1, 3)
        unit: Array = normal / np.sqrt((normal * normal).sum(axis=1, keepdims=True))
        return unit

    @property
    def faces(self) -> IntArray:
        """Triangles of the grid, counter-clockwise seen from above, shape (2 * cells, 3)."""
        return grid_faces(*self.heights.shape)

    def write(
        self, site: Site, path: str, contact: Surface, covers: Sequence[tuple[str, Surface, Array | None]]
    ) -> None:
        """Write it: the grid, which collides and is not drawn, and a drawn mesh for each cover.

        Covers are cut out of the triangles along smooth lines where a field crosses zero; what is drawn
        lies in the planes of what collides.

        Args:
            site: Where it is written.
            path: Path of a new prim that all comes below.
            contact: A surface that collides.
            covers: Semantic class, look, and field at the points of the grid, shape (rows, columns): the
                cover lies where it is above zero and no cover before it lies; everywhere for None.
        """
        stage, points = site.stage, self.points
        group(stage, path, "ground")
        solid = mesh(stage, f"{path}/Collision", points, self.faces, contact, approximation="none")
        solid.CreatePurposeAttr(UsdGeom.Tokens.guide)
        fields = [np.zeros(len(points)) if field is None else field.ravel() for _, _, field in covers]
        rest = np.column_stack([points, self.normals, *fields]), self.faces
        for number, (name, look, field) in enumerate(covers):
            part, rest = (rest, rest) if field is None else cut(*rest, 6 + number)
            if len(part[1]):
                draw(site, f"{path}/{name.capitalize()}{number}", part, look, name)
            if field is None:
                break

    def _cell(self, x: ArrayLike, y: ArrayLike) -> tuple[IntArray, IntArray, Array, Array]:
        """Return column and row of the cells of places, and the parts of the cells that they lie at."""
        rows, columns = self.heights.shape
        across, along = self.half
        u = np.clip((np.asarray(x, dtype=np.float64) + across) / self.cell[0], 0.0, columns - 1.0)
        v = np.clip((np.asarray(y, dtype=np.float64) + along) / self.cell[1], 0.0, rows - 1.0)
        column = np.minimum(u.astype(np.int64), columns - 2)
        row = np.minimum(v.astype(np.int64), rows - 2)
        return column, row, u - column, v - row


def grid_faces(rows: int, columns: int) -> IntArray:
    """Return the triangles of a grid of points in rows, two to a cell, cut from its first corner.

    Args:
        rows: Rows of points.
        columns: Points of a row.
    """
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    lower = np.stack([first, first + 1, first + columns + 1], axis=1)
    upper = np.stack([first, first + columns + 1, first + columns], axis=1)
    return np.stack([lower, upper], axis=1).reshape(-1, 3)


def cut(points: Array, faces: IntArray, field: int) -> tuple[tuple[Array, IntArray], tuple[Array, IntArray]]:
    """Return a mesh cut where a field crosses zero: the part where it is above, and the rest.

    Args:
        points: What each point has, its place first, shape (P, K).
        faces: Triangles, shape (F, 3).
        field: Which column of the points is the field.
    """
    # A point on the line itself would leave slivers.
    value = np.where(np.abs(points[:, field]) < 1e-6, -1e-6, points[:, field])
    above = value > 0
    count = above[faces].sum(axis=1)
    crossed = faces[(count == 1) | (count == 2)]
    # Turn each crossed triangle so that the corner that is alone on its side comes first.
    alone = above[crossed] == (above[crossed].sum(axis=1) == 1)[:, None]
    first = alone.argmax(axis=1)
    rows = np.arange(len(crossed))
    a, b, c = (crossed[rows, (first + k) % 3] for k in range(3))
    edges = np.concatenate([np.stack([a, b], axis=1), np.stack([a, c], axis=1)])
    ordered, place = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    start, end = ordered[:, 0], ordered[:, 1]
    part = (value[start] / (value[start] - value[end]))[:, None]
    everything = np.concatenate([points, points[start] + part * (points[end] - points[start])])
    ab, ac = place[: len(a)] + len(points), place[len(a) :] + len(points)
    tip = np.stack([a, ab, ac], axis=1)
    foot = np.concatenate([np.stack([ab, b, c], axis=1), np.stack([ab, c, ac], axis=1)])
    tip_above = above[a]
    twice = np.concatenate([tip_above, tip_above])
    inside = np.concatenate([faces[count == 3], tip[tip_above], foot[~twice]])
    outside = np.concatenate([faces[count == 0], tip[~tip_above], foot[twice]])
    return _compact(everything, inside), _compact(everything, outside)


def draw(site: Site, path: str, part: tuple[Array, IntArray], look: Surface, semantic_class: str) -> None:
    """Write a part of the ground that does not collide, its texture laid out from above.

    Args:
        site: Where it is written.
        path: Path of the prim.
        part: Place and normal of each point in its first six columns, shape (P, 6 or more), and triangles.
        look: Its look.
        semantic_class: Its class.
    """
    points, faces = part
    visible = Surface(look.material)
    normals = points[:, 3:6] / np.sqrt((points[:, 3:6] ** 2).sum(axis=1, keepdims=True))
    schema = mesh(site.stage, path, points[:, :3], faces, visible, uvs=points[:, :2], normals=normals)
    label(schema.GetPrim(), semantic_class)


def level_surroundings(site: Site, inner: float, cover: Surface) -> None:
    """Write level ground at height 0 around a square, out to the horizon; it collides below the square too.

    Args:
        site: Where it is written; the ground's prim is there.
        inner: Half the side of the square [m].
        cover: Look and contact.
    """
    lines = np.array([-_HORIZON - inner, -inner, inner, inner + _HORIZON])
    points, faces = tiles(lines, lines)
    around = np.delete(faces, 4, axis=0)
    visible = Surface(cover.material)
    mesh(site.stage, f"{ROOT}/Ground/Surroundings", points, around, visible, uvs=points[:, :2])
    assert cover.physics is not None
    ground_plane(site.stage, f"{ROOT}/Ground/Plane", cover.physics)


class Noise:
    """Smooth random values over the plane, without repetition within 256 cells.

    Gradient noise (Perlin 2002, "Improving noise") with one random gradient for each node.

    Args:
        rng: Random numbers.
    """

    _SIZE = 256

    def __init__(self, rng: np.random.Generator) -> None:
        angle = rng.uniform(0.0, 2 * np.pi, (self._SIZE, self._SIZE))
        self._gradients = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        self._shift = rng.uniform(0.0, self._SIZE, 2)

    def __call__(self, x: ArrayLike, y: ArrayLike, length: float) -> Array:
        """Return values of mean 0, mostly within -0.7 to 0.7, shape as that of the places.

        Args:
            x: East [m].
            y: North [m].
            length: Size of a cell [m].
        """
        return self.with_slope(x, y, length)[0]

    def with_slope(self, x: ArrayLike, y: ArrayLike, length: float) -> tuple[Array, Array]:
        """Return values, and their slopes along x and y in values per cell, shape (..., 2).

        Args:
            x: East [m].
            y: North [m].
            length: Size of a cell [m].
        """
        px = np.asarray(x, dtype=np.float64) / length + self._shift[0]
        py = np.asarray(y, dtype=np.float64) / length + self._shift[1]
        column, row = np.floor(px).astype(np.int64), np.floor(py).astype(np.int64)
        u, v = px - column, py - row
        corner = {}
        for j in (0, 1):
            for i in (0, 1):
                g = self._gradients[(row + j) % self._SIZE, (column + i) % self._SIZE]
                corner[i, j] = g[..., 0] * (u - i) + g[..., 1] * (v - j), g
        s, t = u * u * u * (u * (6 * u - 15) + 10), v * v * v * (v * (6 * v - 15) + 10)
        ds, dt = 30 * u * u * (u * (u - 2) + 1), 30 * v * v * (v * (v - 2) + 1)
        (a, ga), (b, gb), (c, gc), (d, gd) = (corner[key] for key in ((0, 0), (1, 0), (0, 1), (1, 1)))
        low, high = a + s * (b - a), c + s * (d - c)
        value = low + t * (high - low)
        s2, t2 = s[..., None], t[..., None]
        slope_low, slope_high = ga + s2 * (gb - ga), gc + s2 * (gd - gc)
        slope = slope_low + t2 * (slope_high - slope_low)
        slope = slope + np.stack([ds * ((b - a) + t * ((d - c) - (b - a))), dt * (high - low)], axis=-1)
        return value, slope

    def fractal(
        self, x: ArrayLike, y: ArrayLike, length: float, *, octaves: int = 4, gain: float = 0.5
    ) -> Array:
        """Return a sum of octaves, each with half the length of the one before (Musgrave 2003, ch. 16).

        Args:
            x: East [m].
            y: North [m].
            length: Size of a cell of the coarsest octave [m].
            octaves: How many there are.
            gain: Amplitude of an octave by that of the one before.
        """
        total = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)))
        for k in range(octaves):
            # Octaves are shifted against each other: their nodes, where all are zero, must not meet.
            total = total + gain**k * self(np.asarray(x) + 37.7 * k, np.asarray(y) - 51.3 * k, length / 2**k)
        return total


def _compact(points: Array, faces: IntArray) -> tuple[Array, IntArray]:
    """Return only the points that faces use, with the faces renumbered."""
    used, numbers = np.unique(faces, return_inverse=True)
    return points[used], numbers.reshape(-1, 3)
