"""Tests of the room with cylinders: their number, their size and the gaps between them."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.scene.scene import ColliderShape, Scene
from pegasus.worlds import Site, WorldGenerator
from pegasus.worlds.box_with_cylinders import BoxWithCylinders

WORLD = BoxWithCylinders(seed=5, length=26.0, width=20.0, height=4.0, cylinder_count=18, minimum_gap=1.4)


@pytest.fixture(scope="module")
def cylinders(unpainted: Callable[[WorldGenerator], Scene]) -> np.ndarray:
    """Position and radius of each cylinder's collider, shape (18, 3)."""
    found = [c for c in unpainted(WORLD).colliders if c.shape is ColliderShape.CYLINDER]
    for item in found:
        assert item.size[1] == pytest.approx(2.0, rel=1e-5)
        assert item.position[2] == pytest.approx(2.0, rel=1e-5)
    return np.array([[*item.position[:2], item.size[0]] for item in found])


def test_what_is_drawn_of_a_cylinder_fills_its_collider(unpainted: Callable[[WorldGenerator], Scene]) -> None:
    """A pillar would have a gap between its coat of paint and its bare part, or float."""
    scene = unpainted(WORLD)
    shafts = {c.path.rsplit("/", 1)[0]: c for c in scene.colliders if c.shape is ColliderShape.CYLINDER}
    for path, shaft in shafts.items():
        parts = [item for item in scene.instances if item.path.rsplit("/", 1)[0] == path]
        assert {item.labels["class"] for item in parts} == {"cylinder"}
        assert len({item.material for item in parts}) == 3
        ends = []
        for item in parts:
            points = scene.geometries[item.geometry].vertices
            # A chord of a circle of 48 sides is 0.2 % of the radius within it.
            reach = np.hypot(*(points[:, :2] - shaft.position[:2]).T)
            assert reach.max() == pytest.approx(shaft.size[0], rel=1e-3)
            ends.append((points[:, 2].min(), points[:, 2].max()))
        ends.sort()
        assert (ends[0][0], ends[-1][1]) == pytest.approx((0.0, 4.0), abs=1e-5)
        for (_, top), (bottom, _) in itertools.pairwise(ends):
            assert top == pytest.approx(bottom, abs=1e-5)


def test_there_are_as_many_as_asked_for_of_the_sizes_asked_for(cylinders: np.ndarray) -> None:
    """Count or radius would not follow the parameters."""
    assert len(cylinders) == 18
    assert cylinders[:, 2].min() >= WORLD.smallest_radius - 1e-4
    assert cylinders[:, 2].max() <= WORLD.largest_radius + 1e-4
    assert np.ptp(cylinders[:, 2]) > 0.2


def test_a_vehicle_can_always_pass(cylinders: np.ndarray) -> None:
    """Two cylinders, or a cylinder and a wall, would leave no gap for a vehicle."""
    x, y, radius = cylinders.T
    apart = np.hypot(x[:, None] - x, y[:, None] - y) - radius[:, None] - radius
    assert apart[~np.eye(len(x), dtype=bool)].min() >= WORLD.minimum_gap - 1e-3
    assert (WORLD.length / 2 - np.abs(x) - radius).min() >= WORLD.minimum_gap - 1e-3
    assert (WORLD.width / 2 - np.abs(y) - radius).min() >= WORLD.minimum_gap - 1e-3


def test_the_tour_is_free(cylinders: np.ndarray, tmp_path: Path) -> None:
    """A flight along the tour would hit a cylinder or a wall."""
    site = Site(tmp_path, WORLD.seed)
    points = WORLD._tour(site)
    stations = np.concatenate(
        [a + (b - a) * np.linspace(0, 1, 9)[:, None] for a, b in itertools.pairwise(points)]
    )
    away = (
        np.hypot(stations[:, None, 0] - cylinders[:, 0], stations[:, None, 1] - cylinders[:, 1])
        - cylinders[:, 2]
    )
    assert away.min() > 1.5
    assert (np.abs(stations[:, :2]) <= np.array([13.0, 10.0]) - 1.5).all()
    assert stations[:, 2].min() >= 1.5
    assert stations[:, 2].max() <= WORLD.height - 1.5
    np.testing.assert_allclose(points[0], points[-1], atol=1e-9)


def test_more_than_the_room_holds_is_refused(tmp_path: Path) -> None:
    """Cylinders would overlap, or the search would never end."""
    world = BoxWithCylinders(length=10.0, width=10.0, cylinder_count=60)
    with pytest.raises(ConfigError, match=r"cylinder_count = 60: only \d+ cylinders found room; take fewer"):
        world._cylinders(Site(tmp_path, 0), world._tour(Site(tmp_path, 0)), np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"smallest_radius": 0.7},
            "smallest_radius = 0.7: must be from 0.02 m to the largest radius of 0.6 m",
        ),
        ({"largest_radius": 4.0}, "largest_radius = 4.0: must be at most 3 m"),
        ({"minimum_gap": 0.5}, "minimum_gap = 0.5: must be from 0.8 to 20 m"),
        ({"cylinder_count": -1}, "cylinder_count = -1: must be from 0 to 5000"),
    ],
)
def test_what_no_vehicle_could_pass_is_refused(parameters: dict[str, float], message: str) -> None:
    """A room without gaps for a vehicle would be generated."""
    with pytest.raises(ConfigError, match=message):
        BoxWithCylinders(**parameters)
