"""Tests of the box room: closed, and of the given size."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.scene.colliders import bounds
from pegasus.scene.scene import Scene
from pegasus.worlds import Site, WorldGenerator
from pegasus.worlds.box_room import BoxRoom


def test_walls_and_ceiling_enclose_what_was_asked_for(unpainted: Callable[[WorldGenerator], Scene]) -> None:
    """The room would have a wrong size, or be open at a corner."""
    scene = unpainted(BoxRoom(seed=2, length=9.0, width=7.0, height=4.5))
    box = {c.path.split("/")[-1]: bounds(c) for c in scene.colliders}
    assert box["East"][0][0] == pytest.approx(4.5)
    assert box["West"][1][0] == pytest.approx(-4.5)
    assert box["North"][0][1] == pytest.approx(3.5)
    assert box["South"][1][1] == pytest.approx(-3.5)
    assert box["Slab"][0][2] == pytest.approx(4.5)
    # North and south reach over the ends of east and west, the ceiling over all four.
    for wall in ("North", "South"):
        assert box[wall][0][0] <= box["West"][0][0] + 1e-6
        assert box[wall][1][0] >= box["East"][1][0] - 1e-6
    for wall in ("North", "South", "East", "West"):
        assert (box["Slab"][0][:2] <= box[wall][0][:2] + 1e-6).all()
        assert (box["Slab"][1][:2] >= box[wall][1][:2] - 1e-6).all()
        assert box[wall][0][2] == pytest.approx(0.0)
        assert box[wall][1][2] == pytest.approx(4.5)


def test_fittings_lie_flat_on_the_walls(unpainted: Callable[[WorldGenerator], Scene]) -> None:
    """A vehicle would fly through a door or duct that stands out, or something would hang in the air."""
    scene = unpainted(BoxRoom(seed=2, length=9.0, width=7.0, height=4.5))
    fittings = ("/World/Wainscot/", "/World/Ducts/", "/World/Door/", "/World/Grilles/")
    drawn = [item for item in scene.instances if item.path.startswith(fittings)]
    assert {item.path.split("/")[2] for item in drawn} == {"Wainscot", "Ducts", "Door", "Grilles"}
    for item in drawn:
        vertices = scene.geometries[item.geometry].vertices
        away = np.abs(vertices[:, :2]) - [4.5, 3.5]
        assert (away.max(axis=1) > -0.041).all(), item.path
        assert (away.max(axis=1) < 0.05).all(), item.path
        assert vertices[:, 2].min() > -1e-6
        assert vertices[:, 2].max() < 4.5
    assert not any(collider.path.startswith(fittings) for collider in scene.colliders)


def test_the_tour_and_the_spawn_points_lie_inside(tmp_path: Path) -> None:
    """Vehicles would start in a wall of a small room or hit one."""
    world = BoxRoom(length=5.0, width=5.0, height=3.2)
    site = Site(tmp_path, world.seed)
    world._ways(site)
    inside = np.array([world.length, world.width]) / 2
    assert len({point.position for point in site.spawn_points}) >= 6
    for point in site.spawn_points:
        assert (np.abs(point.position[:2]) <= inside - 0.5).all()
    for x, y, z in site.paths["tour"]:
        assert (np.abs([x, y]) <= inside - 1.5).all()
        assert 1.5 <= z <= world.height - 1.5


@pytest.mark.parametrize(("field", "value"), [("length", 4.0), ("width", 301.0), ("height", 2.0)])
def test_rooms_too_small_or_too_large_are_refused(field: str, value: float) -> None:
    """A tour would not fit."""
    with pytest.raises(ConfigError, match=f"{field} = {value}: must be from"):
        BoxRoom(**{field: value})
