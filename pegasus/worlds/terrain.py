"""Terrain from heights over a regular grid: noise, exact heights, drawn covers.

The diagonal of each cell starts at its corner of lowest x and y, as in engines' height fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from pxr import UsdGeom

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import Surface, ground_plane, group, label, mesh
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import tiles

_HORIZON = 600.0


@dataclass(frozen=True, eq=False)
class Terrain:
    """Heights over a rectangle centred on the origin."""

    heights: Array
    """Heights [m], shape (rows along y, columns along x)."""
    cell: tuple[float, float]
    """Spacing of columns and of rows [m]."""

    @property
    def half(self) -> tuple[float, float]:
        """Half lengths along x and y [m]."""
        rows, columns = self.heights.shape
        return self.cell[0] * (columns - 1) / 2, self.cell[1] * (rows - 1) / 2

    @property
    def lines(self) -> tuple[Array, Array]:
        """Positions of columns and rows [m], shapes (columns,) and (rows,)."""
        rows, columns = self.heights.shape
        across, along = self.half
        return np.linspace(-across, across, columns), np.linspace(-along, along, rows)

    def height(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return heights of the triangles at positions, with edge values outside [m].

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
        """Return the slopes along x and y at positions, shape (..., 2).

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
        """Steepest slope at each point of the grid, shape (rows, columns)."""
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
        """Write the terrain: an invisible collision grid, and a drawn mesh for each cover.

        Covers are cut out of the triangles along smooth lines where a field crosses zero; drawn faces are in
        the planes of colliding ones.

        Args:
            site: The site.
            path: Path of a new parent prim.
            contact: A surface that collides.
            covers: Semantic class, visual material, and field at the points of the grid, shape (rows,
                columns). A cover fills the area where its field is above zero and no earlier cover is; None
                for all.
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
        """Return column and row of the cells of positions, and the positions within the cells."""
        rows, columns = self.heights.shape
        across, along = self.half
        u = np.clip((np.asarray(x, dtype=np.float64) + across) / self.cell[0], 0.0, columns - 1.0)
        v = np.clip((np.asarray(y, dtype=np.float64) + along) / self.cell[1], 0.0, rows - 1.0)
        column = np.minimum(u.astype(np.int64), columns - 2)
        row = np.minimum(v.astype(np.int64), rows - 2)
        return column, row, u - column, v - row


def grid_faces(rows: int, columns: int) -> IntArray:
    """Return the triangles of a grid of points in rows, two per cell; diagonals start at the first corner."""
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    lower = np.stack([first, first + 1, first + columns + 1], axis=1)
    upper = np.stack([first, first + columns + 1, first + columns], axis=1)
    return np.stack([lower, upper], axis=1).reshape(-1, 3)


def cut(points: Array, faces: IntArray, field: int) -> tuple[tuple[Array, IntArray], tuple[Array, IntArray]]:
    """Return the parts of a mesh where a field is above zero, and where it is not.

    Args:
        points: Attributes of each point, its position first, shape (P, K).
        faces: Triangles, shape (F, 3).
        field: Column of the field in the points.
    """
    # A point on the line would produce slivers.
    value = np.where(np.abs(points[:, field]) < 1e-6, -1e-6, points[:, field])
    above = value > 0
    count = above[faces].sum(axis=1)
    crossed = faces[(count == 1) | (count == 2)]
    # Rotate each crossed triangle so that its single corner comes first.
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
    """Write a part of the ground without collision, textured from above, on steep slopes from the side.

    Args:
        site: The site.
        path: Path of the prim.
        part: Points with position and normal in the first six columns, shape (P, 6 or more), and triangles.
        look: Visual material.
        semantic_class: Semantic class.
    """
    points, faces, uvs = textured(*part)
    visible = Surface(look.material)
    normals = points[:, 3:6] / np.sqrt((points[:, 3:6] ** 2).sum(axis=1, keepdims=True))
    schema = mesh(site.stage, path, points[:, :3], faces, visible, uvs=uvs, normals=normals)
    label(schema.GetPrim(), semantic_class)


def textured(points: Array, faces: IntArray) -> tuple[Array, IntArray, Array]:
    """Return points, triangles and texture coordinates [m], projected along x, y or z by the slope.

    Points between triangles of different axes are doubled.

    Args:
        points: Attributes of each point, its position first [m], shape (P, K).
        faces: Triangles, shape (F, 3).
    """
    a, b, c = (points[faces[:, k], :3] for k in range(3))
    slope = np.abs(np.cross(b - a, c - a))
    # Images viewed from above are stretched by at most 1.4.
    steep = slope[:, 2] < 0.72 * np.sqrt((slope * slope).sum(axis=1))
    axis = np.where(steep, (slope[:, 1] > slope[:, 0]).astype(np.int64), 2)
    parts = [_compact(points, faces[axis == k]) for k in range(3)]
    starts = np.cumsum([0, *(len(places) for places, _ in parts[:-1])])
    uvs = [places[:, plane] for (places, _), plane in zip(parts, ([1, 2], [0, 2], [0, 1]), strict=True)]
    return (
        np.concatenate([places for places, _ in parts]),
        np.concatenate([corners + start for (_, corners), start in zip(parts, starts, strict=True)]),
        np.concatenate(uvs),
    )


def level_surroundings(site: Site, inner: float, cover: Surface) -> None:
    """Write horizontal ground at height 0 around a square, out to the horizon; it collides below the square.

    Args:
        site: The site, with the ground's prim.
        inner: Half the side of the square [m].
        cover: Visual material and contact properties.
    """
    lines = np.array([-_HORIZON - inner, -inner, inner, inner + _HORIZON])
    points, faces = tiles(lines, lines)
    around = np.delete(faces, 4, axis=0)
    visible = Surface(cover.material)
    mesh(site.stage, f"{ROOT}/Ground/Surroundings", points, around, visible, uvs=points[:, :2])
    assert cover.physics is not None
    ground_plane(site.stage, f"{ROOT}/Ground/Plane", cover.physics)


class Noise:
    """Gradient noise over the plane with a period of 256 cells (Perlin 2002, "Improving noise").

    Each node has one random gradient.
    """

    _SIZE = 256

    def __init__(self, rng: np.random.Generator) -> None:
        angle = rng.uniform(0.0, 2 * np.pi, (self._SIZE, self._SIZE))
        self._gradients = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        self._shift = rng.uniform(0.0, self._SIZE, 2)

    def __call__(self, x: ArrayLike, y: ArrayLike, length: float) -> Array:
        """Return values of mean 0, mostly within -0.7 to 0.7, shape of x and y.

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
            octaves: Number of octaves.
            gain: Amplitude ratio of consecutive octaves.
        """
        total = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)))
        for k in range(octaves):
            # Octaves are shifted, so that their nodes, where values are zero, do not coincide.
            total = total + gain**k * self(np.asarray(x) + 37.7 * k, np.asarray(y) - 51.3 * k, length / 2**k)
        return total


def _compact(points: Array, faces: IntArray) -> tuple[Array, IntArray]:
    """Return the used points, and the faces over them."""
    used, numbers = np.unique(faces, return_inverse=True)
    return points[used], numbers.reshape(-1, 3)
