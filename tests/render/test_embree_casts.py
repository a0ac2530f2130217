"""Tests of packets of rays in the Embree renderer."""

import numpy as np
import pytest
from embree_scenes import at, ball, scene

from pegasus.contracts.renderer import RenderObject
from pegasus.render.embree.renderer import EmbreeRenderer, packet_width
from pegasus.scene.scene import Entity

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


@pytest.mark.parametrize("moving", [False, True])
def test_rays_of_a_row_share_an_origin(moving: bool) -> None:
    """Lasers of one firing would start at the place of another, with or without moving objects."""
    world = scene(("ball", ball(1.0, 64), GRAY, at((0, 0, 1))))
    angle = np.linspace(-0.2, 0.2, 40)
    rays = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    origins = np.stack([np.linspace(-9.0, -4.0, 150), np.zeros(150), np.linspace(0.5, 1.5, 150)], axis=-1)
    made = EmbreeRenderer(threads=2, bounces=0)
    made.load(world)
    if moving:
        body = scene(("disc", ball(0.2, 16), GRAY, at((0, 0, 0))))
        made.add([RenderObject("/other/body", body, Entity("/other", {}, np.eye(4)))])
        made.move(["/other/body"], at((-2.0, 0.1, 1.0))[None])
    shared, apart = (
        made.cast(o, np.tile(rays, (150, 1)), 50.0, width=40) for o in (origins, origins.repeat(40, 0))
    )
    assert len(np.unique(shared.distance)) > 1000
    assert all(np.array_equal(one, two) for one, two in zip(shared, apart, strict=True))
    with pytest.raises(ValueError, match="7 origins cannot be shared by 6000 rays"):
        made.cast(origins[:7], np.tile(rays, (150, 1)), 50.0, width=40)
    made.close()


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
