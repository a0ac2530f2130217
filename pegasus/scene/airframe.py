"""Shapes of a drawn airframe: central body, propeller blades, convex hull."""

from collections.abc import Sequence

import numpy as np

from pegasus.arrays import Array
from pegasus.rotor_specs import RotorSpec
from pegasus.scenario import VehicleSpec
from pegasus.scene.authoring import rotation_to
from pegasus.scene.lofting import Faces, loft_faces

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

_DISC_CORNERS = 8
_CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def body_height(spec: VehicleSpec) -> float:
    """Return the height of the central body's middle above the body's origin [m].

    Args:
        spec: The vehicle.
    """
    if spec.body.height is not None:
        return spec.body.height
    return float(np.mean([rotor.position[2] for rotor in spec.rotor_list()]))


def feet_height(spec: VehicleSpec) -> float:
    """Return the height of the feet above the body's origin [m].

    Args:
        spec: The vehicle.
    """
    return body_height(spec) - spec.body.size[2] / 2 - spec.body.leg_height


def footprint(spec: VehicleSpec) -> Array:
    """Return the corners of what the vehicle stands on, counter-clockwise [m], shape (K, 2).

    Skids lie beside the body, the wider apart the higher it stands; feet are below the rotors.

    Args:
        spec: The vehicle.
    """
    if spec.body.landing_gear == "feet":
        return _outline(np.array([rotor.position[:2] for rotor in spec.rotor_list()]))
    (length, width, _), legs = spec.body.size, spec.body.leg_height
    half = max(0.6 * width, 0.5 * width + 0.2 * legs) if legs else 0.5 * width
    return _CORNERS * [max(0.5 * length, 0.8 * half if legs else 0.0), half]


def partner_above(spec: VehicleSpec, index: int) -> int | None:
    """Return the rotor that another one hangs below in a coaxial pair, or None.

    Args:
        spec: The vehicle.
        index: The rotor.
    """
    return _partner(spec.rotor_list(), index, spec.propeller.diameter)


def _partner(rotors: Sequence[RotorSpec], index: int, diameter: float) -> int | None:
    axis = rotation_to(rotors[index].axis)[:, 2]
    for k, other in enumerate(rotors):
        way = np.subtract(other.position, rotors[index].position)
        along = way @ axis
        if 0.0 < along < diameter and np.linalg.norm(way - along * axis) < diameter / 4:
            return k
    return None


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
    return np.concatenate(rings), loft_faces(len(rings), _BODY_CORNERS)


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
    faces = loft_faces(len(rings), len(_SECTION))
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

    It stands on the corners of its footprint, is widest at the rotors and ends flat on top, so that it rests
    on its corners whichever way up.

    Args:
        spec: The vehicle.
    """
    length, width, height = spec.body.size
    feet, top = feet_height(spec), body_height(spec) + height / 2
    stand, lid = footprint(spec), _CORNERS * [length / 2, width / 2]
    # The corners lie around the circle of the tips, not on it.
    radius = spec.propeller.diameter / 2 / np.cos(np.pi / _DISC_CORNERS)
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
