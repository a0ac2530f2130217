"""Building blocks of plants: tapered limbs, and cards of leaves or needles."""

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import Surface, Vector, mesh
from pegasus.worlds.finishes.vegetation import Outline
from pegasus.worlds.site import Site


class Growth:
    """Wood and foliage of one plant.

    Args:
        center: Centre of the crown, from which the foliage faces away [m], shape (3,).
    """

    def __init__(self, center: Vector) -> None:
        self._center = np.asarray(center, dtype=np.float64)
        self._limbs: list[tuple[Array, Array, int]] = []
        self._cards: list[tuple[Array, Array, Array, float, float, float]] = []

    def limb(self, line: Array, radius: ArrayLike, *, sides: int = 5) -> None:
        """Add a limb along a line.

        Args:
            line: Points along the centre line [m], shape (P, 3).
            radius: Radius at each point [m], shape (P,).
            sides: Number of flat sides; shading is smooth.
        """
        reach = np.broadcast_to(np.asarray(radius, dtype=np.float64), len(line))
        self._limbs.append((line, reach, sides))

    def card(
        self,
        base: Vector,
        along: Vector,
        face: Vector,
        *,
        length: float,
        fold: float = 0.2,
        sag: float = 0.0,
    ) -> None:
        """Add a card with the square image of a twig.

        Args:
            base: Start of the twig [m], shape (3,).
            along: Direction of the twig, shape (3,).
            face: Approximate normal of its upper side, shape (3,).
            length: Side of the image [m].
            fold: Lift of its edges relative to its length.
            sag: Sag of its tip relative to its length.
        """
        self._cards.append((np.asarray(base, dtype=np.float64), _unit(along), _unit(face), length, fold, sag))

    def write_wood(self, site: Site, path: str, surface: Surface) -> None:
        """Write all limbs as one mesh."""
        corners = np.array([len(line) * (sides + 1) for line, _, sides in self._limbs])
        triangles = np.array([2 * (len(line) - 1) * sides for line, _, sides in self._limbs])
        corner, triangle = np.cumsum(corners) - corners, np.cumsum(triangles) - triangles
        points, normals = np.empty((corners.sum(), 3)), np.empty((corners.sum(), 3))
        uvs, faces = np.empty((corners.sum(), 2)), np.empty((triangles.sum(), 3), dtype=np.int64)
        alike: dict[tuple[int, int], list[int]] = {}
        for k, (line, _, sides) in enumerate(self._limbs):
            alike.setdefault((len(line), sides), []).append(k)
        # Limbs of one size are computed together: calls of NumPy per limb would take most of the time.
        for (_, sides), members in alike.items():
            lines, reaches = (np.stack([self._limbs[k][n] for k in members]) for n in (0, 1))
            at = corner[members]
            into = at[:, None] + np.arange(corners[members[0]])
            points[into], normals[into], uvs[into], tube = _tubes(lines, reaches, sides)
            faces[triangle[members][:, None] + np.arange(len(tube))] = tube + at[:, None, None]
        mesh(site.stage, path, points, faces, surface, uvs=uvs, normals=normals)

    def write_foliage(
        self, site: Site, path: str, surface: Surface, outline: Outline, *, rows: int = 2
    ) -> None:
        """Write all cards as one mesh.

        Args:
            site: The site.
            path: Path of the prim.
            surface: Visual material with cut-outs.
            outline: Outline of the cut-outs; the rest of the cards is left out.
            rows: Rows of points along a whole card, at least; two make it straight.
        """
        base, along, face = (np.stack([card[k] for card in self._cards]) for k in range(3))
        length, fold, sag = (np.array([card[k] for card in self._cards])[:, None, None] for k in (3, 4, 5))
        across = np.cross(along, face)
        across /= np.maximum(np.sqrt((across * across).sum(axis=1, keepdims=True)), 1e-9)
        up = np.cross(across, along)
        places, cells = _fans(outline) if rows == 2 else _strips(outline, 1.0 / (rows - 1))
        u, v = places[None, :, :1], places[None, :, 1:]
        lift = fold * np.abs(2 * u - 1.0) - sag * (v if rows == 2 else v * v)
        points = base[:, None] + length * (
            (u - 0.5) * across[:, None] + v * along[:, None] + lift * up[:, None]
        )
        count = len(places)
        faces = (cells[None] + count * np.arange(len(points))[:, None, None]).reshape(-1, 3)
        outward = points - self._center
        outward /= np.maximum(np.sqrt((outward * outward).sum(axis=2, keepdims=True)), 1e-9)
        # Mean of the card's and the crown's normals, so that single cards do not stand out.
        facing = np.where((up[:, None] * outward).sum(axis=2, keepdims=True) < 0, -1.0, 1.0)
        normals = 0.5 * facing * up[:, None] + 0.5 * outward
        normals /= np.maximum(np.sqrt((normals * normals).sum(axis=2, keepdims=True)), 1e-9)
        uvs = np.broadcast_to(places, (len(points), count, 2))
        mesh(
            site.stage,
            path,
            points.reshape(-1, 3),
            faces,
            surface,
            uvs=uvs.reshape(-1, 2),
            normals=normals.reshape(-1, 3),
        )


def _fans(outline: Outline) -> tuple[Array, IntArray]:
    """Return the two plane halves of a card within an outline: places in its image, and triangles."""
    heights, widths = np.array(outline).T
    outside = widths > 0.0
    height = np.concatenate([heights[:1], heights[outside], heights[-1:]])
    width = np.concatenate([[0.0], widths[outside], [0.0]])
    half = np.arange(1, len(height) - 1)
    left = np.stack([0 * half, half + 1, half], axis=1)
    right = len(height) + np.stack([0 * half, half, half + 1], axis=1)
    places = np.concatenate([np.stack([0.5 + side * width, height], axis=1) for side in (-1.0, 1.0)])
    return places, np.concatenate([left, right])


def _strips(outline: Outline, step: float) -> tuple[Array, IntArray]:
    """Return a card within an outline that can be bent along its middle, in rows a step apart at most."""
    heights, widths = np.array(outline).T
    parts = [
        np.linspace(low, high, math.ceil((high - low) / step), endpoint=False)
        for low, high in itertools.pairwise(heights.tolist())
    ]
    height = np.concatenate([*parts, heights[-1:]])
    width = np.interp(height, heights, widths)
    u = 0.5 + np.stack([-width, 0.0 * width, width], axis=1)
    places = np.stack([u, np.broadcast_to(height[:, None], u.shape)], axis=-1).reshape(-1, 2)
    cells = _grid_faces(len(height), 3)
    corners = places[cells]
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return places, cells[one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0] > 1e-9]


def _tubes(lines: Array, reaches: Array, sides: int) -> tuple[Array, Array, Array, IntArray]:
    """Return tubes around lines: points, normals and texture coordinates of each, and triangles of one.

    Args:
        lines: Points along the centre lines [m], shape (L, P, 3).
        reaches: Radius at each point [m], shape (L, P).
        sides: Number of flat sides.
    """
    count, length = lines.shape[:2]
    along = np.gradient(lines, axis=1)
    along /= np.sqrt((along * along).sum(axis=2, keepdims=True))
    # A constant guide vector for each line avoids twist.
    guide = np.eye(3)[np.abs(along).max(axis=1).argmin(axis=1)]
    side = np.cross(guide[:, None], along)
    side /= np.sqrt((side * side).sum(axis=2, keepdims=True))
    other = np.cross(along, side)
    angle = np.linspace(0.0, 2 * np.pi, sides + 1)[:, None]
    normal = np.cos(angle) * side[:, :, None] + np.sin(angle) * other[:, :, None]
    points = lines[:, :, None] + reaches[:, :, None, None] * normal
    steps = np.sqrt((np.diff(lines, axis=1) ** 2).sum(axis=2))
    uvs = np.zeros((count, length, sides + 1, 2))
    # Whole repeats of the bark texture avoid a seam.
    around = np.maximum(np.rint(2 * np.pi * reaches.max(axis=1)), 1.0)
    uvs[..., 0] = np.linspace(0.0, around, sides + 1, axis=1)[:, None]
    uvs[:, 1:, :, 1] = np.cumsum(steps, axis=1)[:, :, None]
    first = (np.arange(length - 1)[:, None] * (sides + 1) + np.arange(sides)).ravel()
    quads = np.stack([first, first + 1, first + sides + 2, first + sides + 1], axis=1)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    corners = length * (sides + 1)
    return (
        points.reshape(count, corners, 3),
        normal.reshape(count, corners, 3),
        uvs.reshape(count, corners, 2),
        faces,
    )


def limb_line(
    start: Vector,
    direction: Vector,
    length: float,
    rng: np.random.Generator,
    *,
    count: int = 5,
    lift: float = 0.0,
    wander: float = 0.1,
) -> Array:
    """Return points along a bent limb, shape (count, 3).

    Args:
        start: First point [m], shape (3,).
        direction: Initial direction, shape (3,).
        length: Length [m].
        rng: Random numbers.
        count: Number of points.
        lift: Upward bend over the length; negative for downward.
        wander: Lateral deviation relative to the length.
    """
    step = length / (count - 1)
    way = _unit(direction)
    points = [np.asarray(start, dtype=np.float64)]
    for _ in range(count - 1):
        points.append(points[-1] + step * way)
        way = _unit(way + np.array([0.0, 0.0, lift / (count - 1)]) + wander * rng.normal(size=3))
    return np.array(points)


def _unit(vector: Vector) -> Array:
    values = np.asarray(vector, dtype=np.float64)
    unit: Array = values / np.sqrt(values @ values)
    return unit


def grid_sheet(grid: Array) -> tuple[Array, IntArray, Array]:
    """Return a sheet through a grid of points: points, triangles row by row, and smooth normals.

    Args:
        grid: Points [m], shape (R, C, 3).
    """
    faces = _grid_faces(*grid.shape[:2])
    normal = np.cross(np.gradient(grid, axis=1), np.gradient(grid, axis=0))
    length = np.sqrt((normal * normal).sum(axis=2, keepdims=True))
    normal = normal / np.where(length > 1e-12, length, 1.0)
    return grid.reshape(-1, 3), faces, normal.reshape(-1, 3)


def _grid_faces(rows: int, columns: int) -> IntArray:
    """Return the triangles between the points of a grid, row by row."""
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    lower = np.stack([first, first + 1, first + columns + 1], axis=1)
    upper = np.stack([first, first + columns + 1, first + columns], axis=1)
    return np.stack([lower, upper], axis=1).reshape(-1, 3)
