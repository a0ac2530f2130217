"""Distances along rays to solid shapes and ground: of the first surface, from outside or from inside.

Rays start at a place in the frame of a shape and have a direction of unit length there. Boxes, spheres,
cylinders, frames and level ground are exact; the way to rings and terrain is found by steps that are at most
the distance from them (sphere tracing: Hart 1996).
"""

from collections.abc import Callable

from pegasus.base.step_math import Quat, Real, Vec3, dot, magnitude, maximum, minimum, rotate, sqrt
from pegasus.step.shapes import TINY, ring
from pegasus.step.surroundings import FAR, Heights, height_at

RING_STEPS, TERRAIN_STEPS = 40, 48
"""Numbers of steps along a ray to a ring, and to terrain."""
_REACHED = 1e-4
"""Distance at which a ray has reached a surface, by its way, and at least this [m]."""


def to_box(p: Vec3, d: Vec3, size: Vec3) -> Real:
    """Return the way to a box [m]; `FAR` if the ray misses it.

    Args:
        p: Start in the frame of the box [m].
        d: Direction.
        size: Its half lengths [m].
    """
    near: Real = -FAR
    far: Real = FAR
    for k in range(3):
        first, last = _slab(p[k], d[k], size[k])
        near, far = maximum(near, first), minimum(far, last)
    return _first(near, far)


def to_sphere(p: Vec3, d: Vec3, size: Vec3) -> Real:
    """Return the way to a sphere, whose radius is the first number of its size [m]; see `to_box`."""
    return _to_ball(p, d, size[0])


def to_cylinder(p: Vec3, d: Vec3, size: Vec3) -> Real:
    """Return the way to a cylinder along z, of radius size[0] and half height size[1] [m]; see `to_box`."""
    near, far = _tube(p[0], p[1], d[0], d[1], size[0])
    first, last = _slab(p[2], d[2], size[1])
    return _first(maximum(near, first), minimum(far, last))


def to_frame(p: Vec3, d: Vec3, size: Vec3) -> Real:
    """Return the way to a frame [m]; see `pegasus.step.shapes.frame` and `to_box`."""
    y, z, bar = size[0], size[1], size[2]
    least: Real = FAR
    for a in (-1.0, 1.0):
        for b in (-1.0, 1.0):
            least = minimum(least, _to_ball(Vec3(p[0], p[1] - a * y, p[2] - b * z), d, bar))
        least = minimum(least, _bar(p[0], p[2] - a * z, p[1], d[0], d[2], d[1], bar, y))
        least = minimum(least, _bar(p[0], p[1] - a * y, p[2], d[0], d[1], d[2], bar, z))
    return least


def to_ring(p: Vec3, d: Vec3, size: Vec3) -> Real:
    """Return the way to a ring [m]; see `pegasus.step.shapes.ring` and `to_box`."""
    outer = size[0] + size[1]
    middle = -dot(p, d)
    aside = p + d * middle
    chord = outer * outer - dot(aside, aside)
    half = sqrt(maximum(chord, 0.0))
    way = maximum(middle - half, 0.0)
    gap: Real = FAR
    for _ in range(RING_STEPS):
        gap, _ = ring(p + d * way, size)
        way = way + magnitude(gap)
    if magnitude(gap) > _REACHED:
        way = FAR
    # The steps are done for rays alone that pass the ring within its outer radius.
    found: Real = FAR
    if chord > 0.0 and middle + half > 0.0:
        found = way
    return found


def to_level(height: Real, p: Vec3, d: Vec3) -> Real:
    """Return the way to a level plane [m]; `FAR` if the ray leads away from it.

    Args:
        height: Height of the plane [m].
        p: Start in the world [m].
        d: Direction in the world.
    """
    fall = height - p[2]
    way: Real = FAR
    if fall * d[2] > 0.0:
        way = fall / d[2]
    return way


def to_terrain(terrain: Heights, p: Vec3, d: Vec3) -> Real:
    """Return the way to terrain [m]; `FAR` from below, or if the ray has not come near in all of its steps.

    Args:
        terrain: The terrain.
        p: Start in the world [m].
        d: Direction in the world.
    """
    # A step by which the height above steepest terrain cannot become negative.
    level = sqrt(d[0] * d[0] + d[1] * d[1])
    share = 1.0 / maximum(terrain.steepest * level - d[2], TINY)
    way: Real = 0.0
    gap: Real = FAR
    for _ in range(TERRAIN_STEPS):
        height, along, across = height_at(terrain, p[0] + d[0] * way, p[1] + d[1] * way)
        gap = p[2] + d[2] * way - height
        # On the plane below, if that is nearer than the bound allows, within a cell.
        closing = along * d[0] + across * d[1] - d[2]
        step = gap * share
        if closing > 0.0:
            step = maximum(step, minimum(gap / maximum(closing, TINY), 0.5 * minimum(terrain.dx, terrain.dy)))
        way = minimum(way + step, FAR)
    if magnitude(gap) > 10.0 * _REACHED + _REACHED * way:
        way = FAR
    return way


RAYS: dict[str, Callable[[Vec3, Vec3, Vec3], Real]] = {
    "boxes": to_box,
    "spheres": to_sphere,
    "cylinders": to_cylinder,
    "frames": to_frame,
    "rings": to_ring,
}
"""Way to each kind of shape."""


def turned_by(q: Quat, d: Vec3) -> Vec3:
    """Return a direction of a body in the world, by the axes of the body.

    Args:
        q: Orientation of the body.
        d: The direction.
    """
    x, y, z = (rotate(q, Vec3(*(float(k == n) for n in range(3)))) for k in range(3))
    return x * d[0] + y * d[1] + z * d[2]


def _slab(p: Real, d: Real, half: Real) -> tuple[Real, Real]:
    """Return the ways at which a ray enters and leaves what is within a distance of a plane [m]."""
    along = d
    if magnitude(d) < TINY:
        along = TINY
    share = 1.0 / along
    middle, reach = -p * share, half * magnitude(share)
    return middle - reach, middle + reach


def _tube(x: Real, y: Real, dx: Real, dy: Real, radius: Real) -> tuple[Real, Real]:
    """Return the ways at which a ray enters and leaves an endless cylinder [m]; the last is less if never."""
    square = maximum(dx * dx + dy * dy, TINY * TINY)
    middle = -(x * dx + y * dy) / square
    a, b = x + dx * middle, y + dy * middle
    chord = radius * radius - (a * a + b * b)
    half = sqrt(maximum(chord, 0.0) / square)
    near, far = middle - half, middle + half
    if chord < 0.0:
        near, far = FAR, -FAR
    return near, far


def _bar(x: Real, y: Real, z: Real, dx: Real, dy: Real, dz: Real, radius: Real, half: Real) -> Real:
    """Return the way to the side of a bar along z [m]."""
    near, far = _tube(x, y, dx, dy, radius)
    way: Real = FAR
    if near <= far and near > 0.0 and magnitude(z + dz * near) <= half:
        way = near
    return way


def _to_ball(p: Vec3, d: Vec3, radius: Real) -> Real:
    middle = -dot(p, d)
    aside = p + d * middle
    chord = radius * radius - dot(aside, aside)
    half = sqrt(maximum(chord, 0.0))
    near, far = middle - half, middle + half
    if chord < 0.0:
        near, far = FAR, -FAR
    return _first(near, far)


def _first(near: Real, far: Real) -> Real:
    """Return the first way in front of two at which a ray enters and leaves a shape [m]."""
    way: Real = FAR
    if near <= far and far > 0.0:
        way = near
        if near <= 0.0:
            way = far
    return way
