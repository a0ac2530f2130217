"""Tests of the hangar: aircraft stand apart on their wheels, and the doors open by the parameter."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.scene.colliders import bounds
from pegasus.scene.scene import ColliderShape, Scene
from pegasus.worlds import Site, WorldGenerator
from pegasus.worlds.hangar import Hangar

WORLD = Hangar(seed=4, length=32.0, aircraft_count=4, door_opening=0.8)


@pytest.fixture(scope="module")
def scene(unpainted: Callable[[WorldGenerator], Scene]) -> Scene:
    """The scene of a full hangar."""
    return unpainted(WORLD)


def whole(scene: Scene, group: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Bounds of each object of a group, over all its colliders."""
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for item in scene.colliders:
        if item.path.startswith(f"/World/{group}/"):
            low, high = bounds(item)
            name = item.path.split("/")[3]
            before = found.get(name, (low, high))
            found[name] = (np.minimum(before[0], low), np.maximum(before[1], high))
    return found


def test_aircraft_stand_on_the_floor_and_apart(scene: Scene) -> None:
    """Aircraft would float, sink, or overlap each other, a bench or a wall."""
    aircraft = whole(scene, "Aircraft")
    assert len(aircraft) == 4
    for low, high in aircraft.values():
        assert low[2] == pytest.approx(0.0, abs=0.01)
        np.testing.assert_allclose(high[2] - low[2], 2.7, atol=0.1)
        # A span of 11 m and a length of 8 m, turned by some degrees.
        np.testing.assert_allclose((high - low)[:2], [8.1, 11.0], atol=0.9)
    others = [*aircraft.values(), *whole(scene, "Workshop").values(), *whole(scene, "Doors").values()]
    for k, (low, high) in enumerate(aircraft.values()):
        for j, (their_low, their_high) in enumerate(others):
            if j != k:
                assert (low >= their_high).any() or (high <= their_low).any()
        assert (np.abs([low[1], high[1]]) < WORLD.width / 2 - 1.0).all()


@pytest.mark.parametrize("opening", [0.0, 0.5, 1.0])
def test_doors_open_as_far_as_asked_for(unpainted: Callable[[WorldGenerator], Scene], opening: float) -> None:
    """The opening would differ from the parameter, or door leaves overlap."""
    world = Hangar(door_opening=opening, aircraft_count=0)
    leaves = sorted(whole(unpainted(world), "Doors").values(), key=lambda item: item[0][1])
    south = max(high[1] for low, high in leaves if low[1] < -0.01)
    north = min(low[1] for low, high in leaves if high[1] > 0.01)
    assert north - south == pytest.approx(world._shell.gap, abs=1e-3)
    # Two thirds of the doors' width at most: three leaves on either side stack into one.
    assert world._shell.gap == pytest.approx(opening * 0.76 * world.width * 2 / 3)
    for k, (low, high) in enumerate(leaves):
        for their_low, their_high in leaves[k + 1 :]:
            assert (low >= their_high - 1e-4).any() or (high <= their_low + 1e-4).any()


def test_the_lane_is_free_and_the_arch_is_high_enough(scene: Scene) -> None:
    """An object would block the middle lane, or the roof be too low."""
    for item in scene.colliders:
        if item.shape is ColliderShape.PLANE:
            continue
        low, high = bounds(item)
        if -WORLD.length / 2 + 1.8 < low[0] and high[0] < WORLD.length / 2 and high[2] < 4.0:
            assert high[1] < -2.0 or low[1] > 2.0, item.path
    # The skin's slabs leave the height below the crown but for what a chord cuts off an arc.
    tops = [bounds(c)[0][2] for c in scene.colliders if c.path.endswith(("/Slab10", "/Slab11"))]
    assert WORLD.height - 0.2 < min(tops) <= WORLD.height


def test_without_a_way_out_the_tour_stays_inside(tmp_path: Path) -> None:
    """A tour would lead through closed doors."""
    site = Site(tmp_path, 0)
    closed = Hangar(door_opening=0.1)
    closed._ways(site, closed._shell)
    assert max(x for x, _, _ in site.paths["tour"]) < closed.length / 2 - 1.5
    WORLD._ways(site, WORLD._shell)
    assert max(x for x, _, _ in site.paths["tour"]) > WORLD.length / 2 + 10.0


def test_it_holds_what_a_hangar_holds(scene: Scene) -> None:
    """A part would be missing or not labelled."""
    count = Counter(item.labels["class"] for item in scene.instances)
    assert set(count) >= {
        "aircraft",
        "rib",
        "roof",
        "wall",
        "door",
        "window",
        "workbench",
        "lamp",
        "marking",
        "apron",
    }
    assert {light.kind for light in scene.lights} == {"DistantLight", "DomeLight", "RectLight"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"aircraft_count": 5}, r"aircraft_count = 5: must be from 0 to 4 in a length of 30 m"),
        ({"width": 20.0}, "width = 20.0: must be from 32 to 120 m"),
        ({"height": 8.0}, "height = 8.0: must be from 10 to 36 m"),
        ({"length": 15.0}, "length = 15.0: must be from 20 to 200 m"),
        ({"door_opening": 1.2}, "door_opening = 1.2: must be from 0 to 1"),
    ],
)
def test_what_does_not_fit_is_refused(parameters: dict[str, float], message: str) -> None:
    """Aircraft would overlap."""
    with pytest.raises(ConfigError, match=message):
        Hangar(**parameters)


def test_the_floor_is_worn_where_aircraft_stand_and_roll(scene: Scene) -> None:
    """Oil would be beside the engines, or what is drawn on the floor would be high enough to hit."""
    parked = whole(scene, "Aircraft")
    by_path = {item.path: scene.geometries[item.geometry].vertices for item in scene.instances}
    oil, tracks = by_path["/World/Wear/Oil"], by_path["/World/Wear/Tracks"]
    assert max(oil[:, 2].max(), tracks[:, 2].max()) < 0.002
    for low, high in parked.values():
        near = (
            (np.abs(oil[:, 1] - (low[1] + high[1]) / 2) < 1.5)
            & (oil[:, 0] > low[0])
            & (oil[:, 0] < high[0] + 0.5)
        )
        assert near.sum() > 50
        assert np.hypot(*(tracks[:, :2] - (low[:2] + high[:2]) / 2).T).min() < 2.0


def test_slabs_show_different_parts_of_the_image(scene: Scene) -> None:
    """The floor would repeat every four metres."""
    slabs = [g for name, g in scene.geometries.items() if "/floor_" in name or "/apron_" in name]
    corners = np.concatenate([np.round(g.uvs[g.faces[::2, 0]] % 4.0, 3) for g in slabs])
    assert len(corners) > 60
    assert len(np.unique(corners, axis=0)) == len(corners)
