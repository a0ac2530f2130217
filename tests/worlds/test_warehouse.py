"""Tests of the warehouse: rows, bays and loads follow the parameters, aisles are free, nothing floats."""

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.scene.colliders import bounds
from pegasus.scene.scene import Collider, ColliderShape, Scene
from pegasus.worlds import WorldGenerator
from pegasus.worlds.warehouse import Warehouse
from pegasus.worlds.warehouse.layout import LEVEL_HEIGHT, NARROWEST_AISLE, RACK_DEPTH
from pegasus.worlds.warehouse.racks import aisle_name

SMALL = Warehouse(seed=3, length=25.0, width=14.0, height=8.0, aisle_count=2, level_count=3, fill_factor=0.7)


@pytest.fixture(scope="module")
def scene(unpainted: Callable[[WorldGenerator], Scene]) -> Scene:
    """The scene of a small warehouse."""
    return unpainted(SMALL)


def below(scene: Scene, group: str, ending: str = "") -> list[Collider]:
    return [c for c in scene.colliders if c.path.startswith(f"/World/{group}/") and ending in c.path]


def test_rows_bays_and_levels_follow_the_parameters(scene: Scene) -> None:
    """A parameter would not have its effect."""
    layout = SMALL.layout
    assert layout.bay_count == 3
    assert len(layout.rows) == 4
    assert (
        len(below(scene, "Racks", "Post")) == 4 * (layout.bay_count + 1) * 2 + 4 * 2
    )  # and the guards' posts
    drawn = [i for i in scene.instances if "/Racks/" in i.path and i.path.endswith(("/Front", "/Back"))]
    assert len(drawn) == 4 * layout.bay_count * (SMALL.level_count - 1) * 2
    solid = below(scene, "Racks", "/Level")
    assert len(solid) == 4 * (SMALL.level_count - 1) * 2
    for item in solid:
        low, high = bounds(item)
        assert (low[0], high[0]) == pytest.approx((layout.front, layout.back), abs=1e-4)
        assert min(abs(high[2] - LEVEL_HEIGHT * k) for k in (1, 2)) < 1e-4


def test_the_fill_factor_is_the_share_of_places_with_a_pallet(scene: Scene) -> None:
    """Racks would be fuller or emptier than asked for."""
    places = 4 * SMALL.layout.bay_count * SMALL.level_count * 3
    pallets = sum(path.endswith("_Pallet/Boards") for path in (c.path for c in below(scene, "Stock")))
    # Within four standard deviations of a binomial count.
    spread = 4.0 * np.sqrt(places * 0.7 * 0.3)
    assert abs(pallets - 0.7 * places) < spread


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (1.0, 2 * 3 * 3)])
def test_racks_can_be_empty_or_full(
    unpainted: Callable[[WorldGenerator], Scene], share: float, expected: int
) -> None:
    """An extreme fill factor would leave out or add pallets."""
    world = Warehouse(length=20.0, width=10.0, height=7.4, aisle_count=1, level_count=3, fill_factor=share)
    assert world.layout.bay_count == 1
    pallets = sum(c.path.endswith("_Pallet/Boards") for c in below(unpainted(world), "Stock"))
    assert pallets == expected


def test_pallets_stand_on_the_floor_or_on_beams_and_loads_on_pallets(scene: Scene) -> None:
    """Goods would float, or sink into what they stand on."""
    pallets = {c.path.split("_Pallet")[0]: bounds(c) for c in below(scene, "Stock", "_Pallet")}
    levels = np.arange(SMALL.level_count) * LEVEL_HEIGHT
    for low, _ in pallets.values():
        assert np.abs(levels + 0.002 - low[2]).min() < 1e-3
    loads = [c for c in below(scene, "Stock", "_Load") if not c.path.endswith("/Picked")]
    assert len({c.path.split("_Load")[0] for c in loads}) > 0.8 * len(pallets)
    for load in loads:
        low, high = bounds(load)
        under = pallets[load.path.split("_Load")[0]][1]
        assert low[2] == pytest.approx(under[2], abs=0.02)
        # A load stays below the beams above it.
        assert high[2] < np.ceil((under[2]) / LEVEL_HEIGHT) * LEVEL_HEIGHT - 0.12


def test_loads_do_not_touch_their_neighbours_in_the_row(scene: Scene) -> None:
    """Loads would overlap each other or the uprights."""
    rows: dict[str, list[tuple[float, float]]] = {}
    for item in below(scene, "Stock", "_Pallet"):
        place = item.path.split("/Place")[1].split("_")
        low, high = bounds(item)
        rows.setdefault(f"{item.path.split('/')[3]} {place[1]}", []).append((float(low[0]), float(high[0])))
    posts = [bounds(c) for c in below(scene, "Racks", "Post") if "/Frame" in c.path]
    edges = sorted({(round(float(low[0]), 4), round(float(high[0]), 4)) for low, high in posts})
    for spans in rows.values():
        line = sorted([*spans, *edges])
        assert all(a[1] < b[0] for a, b in itertools.pairwise(line))


def test_aisles_are_free(scene: Scene) -> None:
    """An object would stand in an aisle or reach into it."""
    layout = SMALL.layout
    assert layout.aisle_width >= NARROWEST_AISLE
    free = layout.aisle_width / 2 - 0.2
    for item in scene.colliders:
        if item.shape is ColliderShape.PLANE:
            continue
        low, high = bounds(item)
        if high[2] < 0.01 or low[2] > layout.height - 1.2 or high[0] < layout.front or low[0] > layout.back:
            continue
        for y in layout.aisles:
            assert high[1] < y - free or low[1] > y + free, item.path


def test_the_tour_keeps_away_from_everything(scene: Scene) -> None:
    """A flight along the tour would hit a rack."""
    points = np.array(SMALL.layout.tour())
    assert np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1)).sum() > 2 * (
        SMALL.layout.back - SMALL.layout.front
    )
    np.testing.assert_array_equal(points[0], points[-1])
    stations = np.concatenate(
        [a + (b - a) * np.linspace(0, 1, 60)[:, None] for a, b in itertools.pairwise(points)]
    )
    for item in scene.colliders:
        if item.shape is ColliderShape.PLANE:
            continue
        low, high = bounds(item)
        away = np.maximum(np.maximum(low - stations, stations - high), 0.0)
        assert np.sqrt((away**2).sum(axis=1)).min() > 1.45, item.path


def test_it_holds_what_a_warehouse_holds(scene: Scene) -> None:
    """A part would be missing or not labelled."""
    count = Counter(item.labels["class"] for item in scene.instances)
    assert set(count) >= {
        *("shelf", "pallet", "box", "forklift", "pallet_jack", "dock", "sign", "marking", "lamp", "truss"),
        *("column", "wall", "floor", "roof", "truck", "barrier", "extinguisher", "pipe", "duct"),
    }
    assert sum(light.kind == "RectLight" for light in scene.lights) > 10
    trucks = {item.path.split("/")[3] for item in scene.instances if item.labels["class"] == "truck"}
    doors = [item.path for item in scene.instances if item.path.endswith("/Section0")]
    assert len(trucks) + len(doors) == len(SMALL.layout.doors)


def test_cartons_differ_without_becoming_several_objects(scene: Scene) -> None:
    """Every carton would show the same print, or a stack would count as several boxes."""
    looks: dict[str, set[str]] = {}
    objects: dict[str, set[str]] = {}
    for item in scene.instances:
        if item.labels["class"] == "box" and "/Cartons" in item.path and item.path.startswith("/World/Stock"):
            stack = item.path.split("/Cartons")[0]
            looks.setdefault(stack, set()).add(scene.materials[item.material].path.rsplit("/", 1)[1])
            objects.setdefault(stack, set()).add(item.entity)
    assert len(looks) > 10
    assert {len(found) for found in objects.values()} == {1}
    assert sum(len(found) > 1 for found in looks.values()) > 0.8 * len(looks)


def test_tyre_marks_lie_on_the_floor_before_the_aisles(scene: Scene) -> None:
    """Marks would be high enough to hit, or below racks."""
    layout = SMALL.layout
    marks = [scene.geometries[item.geometry] for item in scene.instances if "/Wear/" in item.path]
    points = np.concatenate([mark.vertices for mark in marks])
    assert len(points) > 100
    assert points[:, 2].min() > 0.0
    assert points[:, 2].max() < 0.003
    assert np.abs(points[:, 0] - layout.lane).max() < 4.0
    for mark in marks:
        a, b, c = (mark.vertices[mark.faces[:, k]] for k in range(3))
        assert (np.cross(b - a, c - a)[:, 2] > 0.0).all()


def test_racks_stand_between_the_walls() -> None:
    """The outer rows would stand in a wall."""
    for count, width in ((1, 10.0), (3, 24.0), (5, 32.0), (9, 60.0)):
        layout = Warehouse(width=width, aisle_count=count).layout
        edges = [row.y + side * RACK_DEPTH / 2 for row in layout.rows for side in (-1, 1)]
        assert min(edges) >= -width / 2 + 0.5 - 1e-9
        assert max(edges) <= width / 2 - 0.5 + 1e-9
        assert (np.diff(sorted(edges)) > 0.25).all()


def test_aisles_are_named_like_columns_of_a_table() -> None:
    """The 27th aisle would have no sign."""
    assert [aisle_name(k) for k in (0, 4, 25, 26, 27, 701)] == ["A", "E", "Z", "AA", "AB", "ZZ"]


def test_more_of_everything_is_estimated_larger() -> None:
    """A hall too large for the memory would be generated."""
    small, large = Warehouse().quantities(), Warehouse(length=200.0, width=100.0, aisle_count=15).quantities()
    assert large.object_count > 5 * small.object_count
    assert large.triangle_count > small.triangle_count


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"aisle_count": 8}, r"aisle_count = 8: must leave aisles of at least 3.4 m in a width of 32 m"),
        ({"aisle_count": 0}, "aisle_count = 0: must be at least 1"),
        ({"height": 5.0}, "height = 5.0: must be from 9.2 to 40 m above 4 levels"),
        ({"length": 10.0}, "length = 10.0: must be from 17.8 to 500 m"),
        ({"width": 5.0}, "width = 5.0: must be from 10 to 500 m"),
        ({"level_count": 0}, "level_count = 0: must be from 1 to 12"),
        ({"fill_factor": 1.5}, "fill_factor = 1.5: must be from 0 to 1"),
    ],
)
def test_what_cannot_be_built_is_refused(parameters: dict[str, float], message: str) -> None:
    """Racks would overlap, or stand through the roof."""
    with pytest.raises(ConfigError, match=message):
        Warehouse(**parameters)
