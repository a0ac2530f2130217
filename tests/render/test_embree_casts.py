"""Tests of packets of rays in the Embree renderer."""

import numpy as np
import pytest
from embree_scenes import at, ball, scene

from pegasus.render.embree.renderer import EmbreeRenderer, packet_width

GRAY = {"diffuse_color": (0.5, 0.5, 0.5)}


@pytest.mark.parametrize("width", [0, 12, 50])
def test_rays_meet_the_same_with_any_number_of_threads(width: int) -> None:
    """Threads would cut packets of rays, so that hits near edges depend on their number."""
    world = scene(("ball", ball(1.0, 64), GRAY, at((0, 0, 1))))
    azimuth, elevation = np.meshgrid(np.linspace(-0.2, 0.2, 1203), np.linspace(-0.2, 0.2, 50), indexing="ij")
    rays = np.stack([np.cos(elevation) * np.cos(azimuth), np.sin(azimuth), np.sin(elevation)], axis=-1)
    rays = (rays / np.linalg.norm(rays, axis=-1, keepdims=True)).reshape(-1, 3)
    found = []
    for threads in (1, 2, 3):
        made = EmbreeRenderer(threads=threads, bounces=0)
        made.load(world)
        found.append(made.cast(np.tile((-5.0, 0.0, 1.0), (len(rays), 1)), rays, 50.0, width=width))
        made.close()
    assert np.isfinite(found[0].distance).any()
    for other in found[1:]:
        assert all((one == two).all() for one, two in zip(found[0], other, strict=True))


@pytest.mark.parametrize(
    ("along", "across", "width", "tile"),
    [
        (0.035, 0.0035, 16, 1),
        (0.01, 0.006, 64, 2),
        (0.002, 0.003, 64, 4),
        (0.001, 0.02, 64, 8),
        (0.001, 0.02, 6, 2),
    ],
)
def test_packets_hold_the_nearest_rays(along: float, across: float, width: int, tile: int) -> None:
    """Rays of lasers far apart would share a packet, and be cast more slowly."""
    row, column = np.divmod(np.arange(10 * width), width)
    angle, height = row * across, column * along
    rays = np.stack([np.cos(angle), np.sin(angle), np.tan(height)], axis=-1)
    assert packet_width(rays / np.linalg.norm(rays, axis=1, keepdims=True), width) == tile
