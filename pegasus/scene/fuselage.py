"""Fuselages, booms and wheels of drawn airplanes."""

from collections.abc import Sequence

import numpy as np
from pxr import Usd

from pegasus.base.arrays import Array
from pegasus.config.scenario import VehicleSpec
from pegasus.scene.authoring import CREASE, Surface, cylinder, group, place, rotation_to, smooth_mesh
from pegasus.scene.faces import Faces
from pegasus.scene.lofted_wings import loft

_CORNERS = 20
# Stations from the tail to the nose: place along the length, width and height, as parts of those of the body.
_STATIONS = (
    (-0.5, 0.14, 0.16),
    (-0.35, 0.34, 0.38),
    (-0.15, 0.72, 0.74),
    (0.0, 0.94, 0.95),
    (0.15, 1.0, 1.0),
    (0.3, 0.94, 0.92),
    (0.4, 0.76, 0.74),
    (0.47, 0.46, 0.44),
    (0.5, 0.2, 0.2),
)


def fuselage(size: Sequence[float]) -> tuple[Array, Faces]:
    """Return a fuselage along the greatest length of a box around its centre: points [m] and faces.

    Args:
        size: Lengths of the box along x, y, z [m].
    """
    along = int(np.argmax(size))
    across = [axis for axis in range(3) if axis != along]
    angle = 2 * np.pi * np.arange(_CORNERS) / _CORNERS
    rings = []
    for station, width, height in _STATIONS:
        ring = np.empty((_CORNERS, 3))
        ring[:, along] = station * size[along]
        ring[:, across[0]] = np.cos(angle) * width * size[across[0]] / 2
        ring[:, across[1]] = np.sin(angle) * height * size[across[1]] / 2
        rings.append(ring)
    return loft(rings)


def nearer_boom(spec: VehicleSpec, point: Array, middle: float) -> Array | None:
    """Return the nearest place of a boom to a point, or None if the body is nearer [m], shape (3,).

    Args:
        spec: The vehicle.
        point: The point [m], shape (3,).
        middle: Height of the body's middle [m].
    """
    center, half = np.array([spec.body.x, 0.0, middle]), np.array(spec.body.size) / 2
    found, gap = None, point - np.clip(point, center - half, center + half)
    for ends in spec.body.struts:
        start, along = np.array(ends[0]), np.subtract(ends[1], ends[0])
        near = start + np.clip((point - start) @ along / (along @ along), 0.0, 1.0) * along
        if (point - near) @ (point - near) < gap @ gap:
            found, gap = near, point - near
    return found


def draw_wheels(
    stage: Usd.Stage, root: str, spec: VehicleSpec, middle: float, tyre: Surface, metal: Surface
) -> None:
    """Write the wheels of a vehicle, each on a leg of the body that holds it from the side.

    Args:
        stage: The stage.
        root: Path of the vehicle.
        spec: The vehicle.
        middle: Height of the body's middle [m].
        tyre: Look of the tyres.
        metal: Look of rims and legs.
    """
    reach = 0.35 * spec.body.size[0]
    for name, wheel in spec.wheels.items():
        hub, axle, radius = np.array(wheel.position), np.array(wheel.axle), wheel.radius
        path = f"{root}/wheel_{name}"
        place(group(stage, path), hub, rotation=rotation_to(wheel.axle))
        smooth_mesh(stage, f"{path}/tyre", *_tyre(radius), tyre, crease=CREASE)
        cylinder(stage, f"{path}/rim", (0, 0, -0.18 * radius), (0, 0, 0.18 * radius), 0.7 * radius, metal)
        for k in range(_HOLES):
            angle = 2 * np.pi * k / _HOLES
            x, y, half = 0.42 * radius * np.cos(angle), 0.42 * radius * np.sin(angle), 0.19 * radius
            cylinder(stage, f"{path}/hole{k}", (x, y, -half), (x, y, half), 0.13 * radius, tyre)
        x = float(np.clip(hub[0], spec.body.x - reach, spec.body.x + reach))
        top = np.array([x, 0.2 * hub[1], middle - 0.2 * spec.body.size[2]])
        beside = hub + (1.0 if (top - hub) @ axle >= 0 else -1.0) * 0.5 * radius * axle
        cylinder(stage, f"{root}/body/{name}_leg", top, beside, 0.12 * radius, metal)
        cylinder(stage, f"{root}/body/{name}_axle", hub, beside, 0.12 * radius, metal)


_HOLES = 5
"""Holes of a rim, by which its turning is seen."""
_SEGMENTS = 28
_TREAD = np.array([[0.66, -0.3], [0.9, -0.3], [1.0, -0.15], [1.0, 0.15], [0.9, 0.3], [0.66, 0.3]])
"""Section of a tyre: distance from the axle, and place along it, by the radius."""


def _tyre(radius: float) -> tuple[Array, Faces]:
    """Return a tyre about the z axis: points [m] and faces."""
    angle = 2 * np.pi * np.arange(_SEGMENTS) / _SEGMENTS
    around = np.stack([np.cos(angle), np.sin(angle)], axis=-1)[:, None] * _TREAD[:, :1]
    along = np.broadcast_to(_TREAD[:, 1:], (*around.shape[:2], 1))
    points = radius * np.concatenate([around, along], axis=-1).reshape(-1, 3)
    size = len(_TREAD)
    faces = [
        [a * size + k, b * size + k, b * size + m, a * size + m]
        for a, b in ((a, (a + 1) % _SEGMENTS) for a in range(_SEGMENTS))
        for k, m in ((k, (k + 1) % size) for k in range(size))
    ]
    return points, faces
