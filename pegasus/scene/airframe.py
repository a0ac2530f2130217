"""Shapes of a drawn airframe: central body, propeller blades, convex hull."""

from collections.abc import Sequence

import numpy as np

from pegasus.arrays import Array
from pegasus.scenario import VehicleSpec
from pegasus.scene.authoring import rotation_to

Faces = list[list[int]]

# Cross-sections of the central body: height and width as parts of its size.
_BODY_SECTIONS = ((-0.5, 0.82), (-0.32, 1.0), (0.08, 1.0), (0.3, 0.82), (0.45, 0.55), (0.5, 0.3))
_BODY_CORNERS = 20

# Stations of a blade: distance from the axis and chord as parts of the radius (roughly a 10 x 4.7 propeller).
_BLADE_STATIONS = (
    (0.06, 0.10),
    (0.2, 0.18),
    (0.35, 0.21),
    (0.55, 0.18),
    (0.75, 0.14),
    (0.9, 0.10),
    (1.0, 0.04),
)
_PITCH = 0.47
# An aerofoil from the leading edge over the top to the trailing edge and back, in parts of the chord.
_SECTION = np.array([[0.5, 0.0], [0.25, 0.07], [-0.1, 0.06], [-0.5, 0.0], [-0.1, -0.02], [0.25, -0.03]])

_DISC_CORNERS = 6


def body_height(spec: VehicleSpec) -> float:
    """Return the height of the central body's middle above the body's origin [m]: that of the rotors.

    Args:
        spec: The vehicle.
    """
    return float(np.mean([rotor.position[2] for rotor in spec.rotor_list()]))


def footprint(spec: VehicleSpec) -> tuple[float, float, float]:
    """Return half the length and width that the vehicle stands on, and the height of its feet [m].

    Args:
        spec: The vehicle.
    """
    length, width, height = spec.body.size
    feet = body_height(spec) - height / 2 - spec.body.leg_height
    return length / 2, width * (0.6 if spec.body.leg_height else 0.5), feet


def central_body(size: Sequence[float]) -> tuple[Array, Faces]:
    """Return the central body as a loft of rounded rectangles about its middle: points [m] and faces.

    Args:
        size: Lengths along x, y, z [m].
    """
    angle = 2 * np.pi * (np.arange(_BODY_CORNERS) + 0.5) / _BODY_CORNERS
    cosine, sine = np.cos(angle), np.sin(angle)
    # A superellipse of exponent four: a rectangle with round corners.
    outline = np.stack(
        [np.sign(cosine) * np.sqrt(np.abs(cosine)), np.sign(sine) * np.sqrt(np.abs(sine))], axis=1
    )
    outline = outline / outline.max(axis=0) / 2 * np.asarray(size[:2])
    rings = [
        np.column_stack([outline * width, np.full(_BODY_CORNERS, height * size[2])])
        for height, width in _BODY_SECTIONS
    ]
    return np.concatenate(rings), _loft(len(rings), _BODY_CORNERS)


def blades(diameter: float, count: int, direction: str) -> tuple[Array, Faces]:
    """Return the blades of a propeller that lifts along +z: points [m] and faces.

    Each section is turned by the angle atan(pitch / (2 pi r)), leading edge up, and the blades of a clockwise
    propeller are the mirror image of those of a counter-clockwise one.

    Args:
        diameter: Diameter [m].
        count: Number of blades.
        direction: `ccw` or `cw`, seen from above.
    """
    rings = []
    for part, chord in _BLADE_STATIONS:
        twist = np.arctan2(_PITCH, np.pi * part)
        along, up = (diameter / 2 * chord * _SECTION).T
        y = along * np.cos(twist) - up * np.sin(twist)
        z = along * np.sin(twist) + up * np.cos(twist)
        rings.append(np.column_stack([np.full(len(y), part * diameter / 2), y, z]))
    blade = np.concatenate(rings)
    faces = _loft(len(rings), len(_SECTION))
    points, all_faces = [], []
    for k in range(count):
        angle = 2 * np.pi * k / count
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        points.append(blade @ turn.T)
        all_faces += [[index + k * len(blade) for index in face] for face in faces]
    if direction == "cw":
        return np.concatenate(points) * [1.0, -1.0, 1.0], [face[::-1] for face in all_faces]
    return np.concatenate(points), all_faces


def convex_hull(spec: VehicleSpec) -> tuple[Array, Faces]:
    """Return one convex shape around feet, body and rotor discs: points [m] and faces.

    It stands on the rectangle of the feet, is widest at the rotors and ends flat on top, so that it rests on
    four points whichever way up.

    Args:
        spec: The vehicle.
    """
    length, width, _ = spec.body.size
    foot_x, foot_y, feet = footprint(spec)
    top = body_height(spec) + spec.body.size[2] / 2
    signs = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    stand, lid = signs * [foot_x, foot_y], signs * [length / 2, width / 2]
    radius = spec.propeller.diameter / 2
    angle = 2 * np.pi * np.arange(_DISC_CORNERS) / _DISC_CORNERS
    circle = radius * np.stack([np.cos(angle), np.sin(angle), np.zeros(_DISC_CORNERS)], axis=1)
    discs = np.concatenate(
        [circle @ rotation_to(rotor.axis).T + rotor.position for rotor in spec.rotor_list()]
    )
    widest = _outline(np.concatenate([discs[:, :2], stand, lid]))
    low, high = discs[:, 2].min(), discs[:, 2].max()
    layers = [(feet, stand)] if feet < low else []
    layers += [(low, widest)] + ([(high, widest)] if high > low else [])
    layers += [(top, lid)] if top > high else []
    return _stack(layers)


def _loft(ring_count: int, corner_count: int) -> Faces:
    """Return quads between rings of points that follow each other, and both ends closed."""
    faces = []
    for ring in range(ring_count - 1):
        for corner in range(corner_count):
            a, b = ring * corner_count + corner, ring * corner_count + (corner + 1) % corner_count
            faces.append([a, b, b + corner_count, a + corner_count])
    last = (ring_count - 1) * corner_count
    return [*faces, list(range(corner_count))[::-1], list(range(last, last + corner_count))]


def _stack(layers: Sequence[tuple[float, Array]]) -> tuple[Array, Faces]:
    """Return the hull of convex polygons at ascending heights."""
    points = np.concatenate([np.column_stack([polygon, np.full(len(polygon), z)]) for z, polygon in layers])
    first = np.concatenate([[0], np.cumsum([len(polygon) for _, polygon in layers])])
    faces: Faces = []
    for k in range(len(layers) - 1):
        faces += _zip(layers[k][1], layers[k + 1][1], int(first[k]), int(first[k + 1]))
    bottom, top = list(range(len(layers[0][1])))[::-1], list(range(int(first[-2]), int(first[-1])))
    return points, [bottom, *faces, top]


def _zip(lower: Array, upper: Array, lower_first: int, upper_first: int) -> Faces:
    """Return the triangles between two convex polygons, both counter-clockwise, one above the other.

    Their edges are taken in the order of their directions, as in a Minkowski sum.
    """
    n, m = len(lower), len(upper)
    i, j = (int(np.lexsort((polygon[:, 0], polygon[:, 1]))[0]) for polygon in (lower, upper))
    faces, taken, other = [], 0, 0
    while taken < n or other < m:
        a, b = lower[(i + 1) % n] - lower[i], upper[(j + 1) % m] - upper[j]
        here, above = lower_first + i, upper_first + j
        if other == m or (taken < n and a[0] * b[1] - a[1] * b[0] >= 0):
            i, taken = (i + 1) % n, taken + 1
            faces.append([here, lower_first + i, above])
        else:
            j, other = (j + 1) % m, other + 1
            faces.append([here, upper_first + j, above])
    return faces


def _outline(points: Array) -> Array:
    """Return the convex outline of points in the plane, counter-clockwise (Andrew 1979), shape (K, 2)."""
    ordered = [tuple(point) for point in np.unique(np.round(points, 6), axis=0)]

    def chain(walk: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
        kept: list[tuple[float, ...]] = []
        for point in walk:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 1e-12:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _turn(a: Sequence[float], b: Sequence[float], c: Sequence[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
