"""Distant land around a world: a wood's edge and two ranges of wooded hills, hazy with distance.

Nothing of it collides.
"""

from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.scene.authoring import Surface, group, mesh
from pegasus.worlds.finishes import FINISHES
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
    crowns: float
    """Height of the tree crowns on its crest [m]."""
    finish: str
    """Finish with the haze in front of it."""


_RANGES = (
    _Range("Wood", 300.0, 8.0, 3.0, 15.0, 60.0, 720, 2.0, "far_wood"),
    _Range("Hills", 420.0, 160.0, 8.0, 44.0, 300.0, 1200, 2.5, "far_hills"),
    _Range("Mountains", 900.0, 420.0, 30.0, 130.0, 520.0, 480, 0.0, "far_mountains"),
)
_SUNK = 3.0
_ROWS = 5
_SHIFT, _SHIFT_LENGTH = 0.8, 2.5
"""Shift of images along a range and its wave length, by the side of the image."""


def distant_land(site: Site, reach: float) -> None:
    """Write a wood's edge 300 m away, and two ranges of hills behind it.

    Args:
        site: The site.
        reach: Distance from the origin to the edge of the world [m].
    """
    group(site.stage, f"{ROOT}/Horizon", "hill")
    for item in _RANGES:
        rng = site.stream("horizon", item.name)
        points, uvs = _strip(item, reach, Noise(rng), rng)
        places, faces, normals = grid_sheet(points)
        look = Surface(site.finish(item.finish, collides=False, roughness=1.0).material)
        path = f"{ROOT}/Horizon/{item.name}"
        mesh(site.stage, path, places, faces, look, uvs=uvs.reshape(-1, 2), normals=normals)


def _strip(item: _Range, reach: float, noise: Noise, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return points from the foot to the crest of a range, and their texture coordinates [m].

    Their shapes are (rows, points around it + 1, 3) and (rows, points around it + 1, 2). Images are upright,
    and shifted up and down along the range, so that their repetitions differ.
    """
    angle = np.linspace(0.0, -2.0 * np.pi, item.points + 1)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    up = np.linspace(0.0, 1.0, _ROWS)[:, None]
    x, y = (reach + item.distance + item.depth * up) * direction[:, None, :].T
    # The noise is mostly within -0.6 to 0.6.
    part = np.minimum(np.maximum(0.5 + 0.8 * noise.fractal(x, y, item.form, octaves=6), 0.0), 1.0)
    rise = up * up * (3.0 - 2.0 * up)
    z = rise * (item.low + (item.high - item.low) * part) - _SUNK * (1.0 - rise)
    crest = item.crowns * rng.uniform(0.0, 1.0, item.points)
    z[-1] += np.append(crest, crest[0])
    side = FINISHES[item.finish].side
    # A whole number of images closes the ring without a seam.
    count = round(2.0 * np.pi * (reach + item.distance + item.depth) / side)
    u = np.broadcast_to(np.linspace(0.0, count * side, item.points + 1), z.shape)
    shift = _SHIFT * side * noise.fractal(x[:1], y[:1], _SHIFT_LENGTH * side, octaves=1)
    return np.stack([x, y, z], axis=-1), np.stack([u, z + shift], axis=-1)
