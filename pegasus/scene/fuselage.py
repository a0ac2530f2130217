"""Fuselages and wheels of drawn airplanes."""

from collections.abc import Sequence

import numpy as np
from pxr import Usd

from pegasus.base.arrays import Array
from pegasus.config.scenario import VehicleSpec
from pegasus.scene.authoring import Surface, cylinder
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
    for place, width, height in _STATIONS:
        ring = np.empty((_CORNERS, 3))
        ring[:, along] = place * size[along]
        ring[:, across[0]] = np.cos(angle) * width * size[across[0]] / 2
        ring[:, across[1]] = np.sin(angle) * height * size[across[1]] / 2
        rings.append(ring)
    return loft(rings)


def draw_wheels(
    stage: Usd.Stage, path: str, spec: VehicleSpec, middle: float, tyre: Surface, leg: Surface
) -> None:
    """Write the wheels of a vehicle, each on a leg from the body.

    Args:
        stage: The stage.
        path: Path of the body.
        spec: The vehicle.
        middle: Height of the body's middle [m].
        tyre: Look of the tyres.
        leg: Look of the legs.
    """
    reach = 0.35 * spec.body.size[0]
    for name, wheel in spec.wheels.items():
        hub, axle = np.array(wheel.position), np.array(wheel.axle)
        half = 0.3 * wheel.radius * axle
        cylinder(stage, f"{path}/{name}", hub - half, hub + half, wheel.radius, tyre)
        x = float(np.clip(hub[0], spec.body.x - reach, spec.body.x + reach))
        top = (x, 0.2 * hub[1], middle - 0.2 * spec.body.size[2])
        cylinder(stage, f"{path}/{name}_leg", top, hub, 0.15 * wheel.radius, leg)
