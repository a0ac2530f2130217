"""Solid things around a machine: ground, and the nearest of many shapes."""

from dataclasses import dataclass
from typing import Any

from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    clamped,
    floor,
    maximum,
    minimum,
    rotate,
    rotate_inverse,
    sqrt,
)
from pegasus.step.shapes import KINDS

FAR = 1e6
"""Distance from nothing [m]."""
_UP = Vec3(0.0, 0.0, 1.0)
_LEVEL = Quat(0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Heights:
    """Heights over a regular grid; the diagonal of each cell starts at its corner of lowest x and y."""

    heights: Any
    """Heights [m], row by row along y, shape (rows * columns,)."""
    columns: int
    rows: int
    x: Real
    """Place of the first height [m]."""
    y: Real
    dx: Real
    """Distance of columns and of rows [m]."""
    dy: Real
    steepest: Real
    """Largest slope of all triangles."""


@dataclass(frozen=True)
class Shapes:
    """Shapes of a kind."""

    position: tuple[Vec3, ...]
    """Their middles in the world [m]."""
    orientation: tuple[Quat, ...]
    """Their frames to the world."""
    size: tuple[Vec3, ...]
    """Their sizes, see `pegasus.step.shapes`."""


@dataclass(frozen=True)
class Solids:
    """What stands around a machine."""

    level: Real | None
    """Height of level ground [m]; None for none."""
    terrain: Heights | None
    shapes: dict[str, Shapes]
    """Shapes by kind."""


@dataclass(frozen=True)
class Nearest:
    """Shape that is nearest to a place."""

    distance: Real
    """Distance from the place [m]; `FAR` without shapes."""
    kind: int
    position: Vec3
    orientation: Quat
    size: Vec3


def ground_below(solids: Solids, p: Vec3) -> tuple[Real, Vec3]:
    """Return the signed distance of a place from the ground [m], and the normal of that.

    Of terrain it is the distance from the plane of the triangle below.

    Args:
        solids: What stands around.
        p: The place in the world [m].
    """
    if solids.level is not None:
        return p[2] - solids.level, _UP
    if solids.terrain is None:
        return FAR, _UP
    height, x, y = height_at(solids.terrain, p[0], p[1])
    share = 1.0 / sqrt(1.0 + x * x + y * y)
    return (p[2] - height) * share, Vec3(-x * share, -y * share, share)


def height_at(terrain: Heights, x: Real, y: Real) -> tuple[Real, Real, Real]:
    """Return height [m] and slopes along x and y of terrain; beyond its edge those of the edge go on.

    Args:
        terrain: The terrain.
        x: Place in the world [m].
        y: Place in the world [m].
    """
    u = clamped((x - terrain.x) / terrain.dx, 0.0, float(terrain.columns - 1))
    v = clamped((y - terrain.y) / terrain.dy, 0.0, float(terrain.rows - 1))
    column = minimum(floor(u), float(terrain.columns - 2))
    row = minimum(floor(v), float(terrain.rows - 2))
    first = int(row) * terrain.columns + int(column)
    a, b = terrain.heights[first], terrain.heights[first + 1]
    c = terrain.heights[first + terrain.columns]
    d = terrain.heights[first + terrain.columns + 1]
    u, v = u - column, v - row
    along, across = d - c, c - a
    if u >= v:
        along, across = b - a, d - b
    return a + along * u + across * v, along / terrain.dx, across / terrain.dy


def nearest_shape(solids: Solids, p: Vec3) -> Nearest:
    """Return the shape nearest to a place.

    Args:
        solids: What stands around.
        p: The place in the world [m].
    """
    least: Real = FAR
    kind = 0
    position, orientation, size = Vec3(FAR, FAR, FAR), _LEVEL, _UP
    for k, name in enumerate(KINDS):
        if name in solids.shapes:
            shapes = solids.shapes[name]
            for place, turn, extent in zip(shapes.position, shapes.orientation, shapes.size, strict=True):
                distance, _ = KINDS[name](rotate_inverse(turn, p - place), extent)
                if distance < least:
                    least, kind = distance, k
                    position, orientation, size = place, turn, extent
    return Nearest(least, kind, position, orientation, size)


def away_from(solids: Solids, shape: Nearest, p: Vec3) -> tuple[Real, Vec3]:
    """Return the signed distance of a place from a shape [m], and the unit vector away from it.

    Args:
        solids: What stands around.
        shape: One of these shapes.
        p: The place in the world [m].
    """
    local = rotate_inverse(shape.orientation, p - shape.position)
    least: Real = FAR
    away = _UP
    for k, name in enumerate(KINDS):
        if name in solids.shapes:
            distance, out = KINDS[name](local, shape.size)
            if shape.kind == k:
                least, away = distance, out
    return least, rotate(shape.orientation, away)


def clearance(solids: Solids, shape: Nearest, p: Vec3) -> Real:
    """Return the distance of a place from the ground or a shape, whichever is nearer [m].

    Args:
        solids: What stands around.
        shape: One of the shapes.
        p: The place in the world [m].
    """
    return minimum(ground_below(solids, p)[0], away_from(solids, shape, p)[0])


def lowest(heights: tuple[Real, ...]) -> Real:
    """Return the least of some numbers."""
    least = heights[0]
    for height in heights[1:]:
        least = minimum(least, height)
    return least


def reach_on_slope(terrain: Heights, reach: Real) -> Real:
    """Return the height above terrain within which something may be nearer than a distance [m]."""
    return reach * sqrt(1.0 + maximum(terrain.steepest, 0.0) * terrain.steepest)
