"""Distant land around a world: a wood's edge and two ranges of hills, hazy with distance.

Nothing of it collides.
"""

from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.scene.authoring import Surface, group, mesh
from pegasus.scene.scene import Color
from pegasus.worlds.growth import grid_sheet
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.terrain import Noise


@dataclass(frozen=True)
class _Range:
    """A closed strip of land that rises outwards."""

    name: str
    distance: float
    """Distance of its foot from the edge of the world [m]."""
    depth: float
    """Horizontal distance from its foot to its crest [m]."""
    low: float
    """Least height of its crest [m]."""
    high: float
    """Largest height of its crest [m]."""
    form: float
    """Length of its largest forms [m]."""
    points: int
    """Points around it."""
    color: Color
    """Diffuse colour with the haze in front of it, linear."""


_RANGES = (
    _Range("Wood", 300.0, 8.0, 3.0, 15.0, 60.0, 720, (0.030, 0.045, 0.022)),
    _Range("Hills", 420.0, 160.0, 8.0, 44.0, 300.0, 480, (0.070, 0.095, 0.075)),
    _Range("Mountains", 900.0, 420.0, 30.0, 130.0, 520.0, 480, (0.145, 0.180, 0.205)),
)
_SUNK = 3.0
_ROWS = 5


def distant_land(site: Site, reach: float) -> None:
    """Write a wood's edge 300 m away, and two ranges of hills behind it.

    Args:
        site: The site.
        reach: Distance from the origin to the edge of the world [m].
    """
    group(site.stage, f"{ROOT}/Horizon", "hill")
    for item in _RANGES:
        points, faces, normals = grid_sheet(_strip(item, reach, Noise(site.stream("horizon", item.name))))
        look = site.paint(f"{item.name}_far", item.color, roughness=1.0, collides=False)
        path = f"{ROOT}/Horizon/{item.name}"
        mesh(site.stage, path, points, faces, Surface(look.material), normals=normals)


def _strip(item: _Range, reach: float, noise: Noise) -> Array:
    """Return points from the foot to the crest of a range, shape (rows, points around it, 3)."""
    angle = np.linspace(0.0, -2.0 * np.pi, item.points + 1)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    up = np.linspace(0.0, 1.0, _ROWS)[:, None]
    x, y = (reach + item.distance + item.depth * up) * direction[:, None, :].T
    # The noise is mostly within -0.6 to 0.6.
    part = np.minimum(np.maximum(0.5 + 0.8 * noise.fractal(x, y, item.form, octaves=6), 0.0), 1.0)
    rise = up * up * (3.0 - 2.0 * up)
    z = rise * (item.low + (item.high - item.low) * part) - _SUNK * (1.0 - rise)
    return np.stack([x, y, z], axis=-1)
