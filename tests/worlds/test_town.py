"""Tests of the town: houses, cars and crossings in place, and streets free to fly."""

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.base.streams import stream
from pegasus.scene.colliders import bounds
from pegasus.scene.scene import Collider, ColliderShape, Scene
from pegasus.scene.translation import translate
from pegasus.worlds import Site, make_world
from pegasus.worlds.finishes import FINISHES
from pegasus.worlds.town import Town, buildings, facades, streets
from pegasus.worlds.town.car_details import cast
from pegasus.worlds.town.car_shapes import SHAPES, smooth_line
from pegasus.worlds.town.cars import draw
from pegasus.worlds.town.layout import KERB_HEIGHT, SIDEWALK, Layout, Plan
from pegasus.worlds.town.town import tour

CAR_WIDTH = max(shape.width for shape in SHAPES.values())
LARGE = Town(seed=5, size=320.0, storeys=(1, 6), tree_density=1.0, car_density=1.0)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """The scene of a small town, with small images."""
    with pytest.MonkeyPatch.context() as patch:
        for name, finish in FINISHES.items():
            patch.setitem(FINISHES, name, dataclasses.replace(finish, pixels=256))
        town = Town(seed=3, size=60.0, park_share=0.0, storeys=(2, 3))
        file = make_world(town, tmp_path_factory.mktemp("town"))
    return translate(file.with_suffix(".usdc"))


@pytest.fixture
def layouts(tmp_path: Path) -> list[Layout]:
    """Layouts of towns of different seeds, sizes and streets."""
    towns = [Town(seed=seed) for seed in range(4)]
    towns += [LARGE, dataclasses.replace(LARGE, block_size=58.0, street_width=14.0)]
    return [town.layout(Site(tmp_path, town.seed)) for town in towns]


def off_blocks(layout: Layout, points: Array) -> Array:
    """Return the distance of points from the nearest block or the outer kerb, negative beyond it [m]."""
    gaps = [layout.size / 2 - np.abs(points).max(axis=1)]
    for block in layout.blocks:
        aside = np.abs(points - [block.x, block.y]) - layout.side / 2
        gaps.append(aside.max(axis=1))
    return np.min(gaps, axis=0)


def apart(first: Array, second: Array) -> float:
    """Return the separation of two convex outlines along their edge normals; negative if they overlap."""
    gaps = []
    for outline in (first, second):
        edges = np.roll(outline, -1, axis=0) - outline
        normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.hypot(*edges.T)[:, None]
        a, b = first @ normals.T, second @ normals.T
        gaps.append(np.maximum(a.min(axis=0) - b.max(axis=0), b.min(axis=0) - a.max(axis=0)).max())
    return float(max(gaps))


def test_no_two_houses_intersect(layouts: list[Layout]) -> None:
    """Two houses would overlap."""
    for layout in layouts:
        outlines = [lot.outline() for lot in layout.lots]
        assert len(outlines) > 12
        middles = np.array([outline.mean(axis=0) for outline in outlines])
        for i, outline in enumerate(outlines):
            for j in np.flatnonzero(np.hypot(*(middles[:i] - middles[i]).T) < 30.0):
                assert apart(outline, outlines[j]) > 0.005


def test_houses_stand_on_their_block_behind_the_sidewalk(layouts: list[Layout]) -> None:
    """A house would stand on a sidewalk or on the road."""
    for layout in layouts:
        for lot in layout.lots:
            assert off_blocks(layout, lot.outline()).max() < -SIDEWALK + 1e-6


def test_cars_stand_on_the_road_and_apart(layouts: list[Layout]) -> None:
    """A car would be on a sidewalk, above the road, or overlap another one."""
    for layout in layouts:
        cars = [item for item in layout.items if item.kind in SHAPES]
        assert len(cars) > 10
        places = np.array([(car.spot.x, car.spot.y) for car in cars])
        assert {car.ground for car in cars} == {0.0}
        for car, place in zip(cars, places, strict=True):
            half = SHAPES[car.kind].length / 2, SHAPES[car.kind].width / 2
            corners = [car.spot.ahead(x * half[0], y * half[1]) for x in (-1, 1) for y in (-1, 1)]
            assert off_blocks(layout, np.array([(c.x, c.y) for c in corners])).min() > 0.0
            distance = np.hypot(*(places - place).T)
            assert np.sort(distance)[1] > CAR_WIDTH
        across = [abs(car.spot.yaw) % 90.0 for car in cars]
        assert max(min(angle, 90.0 - angle) for angle in across) < 5.0


def test_what_stands_along_the_streets_stands_off_the_road(layouts: list[Layout]) -> None:
    """A lamp, a tree, a sign or a bench would be on the road, or in a house."""
    for layout in layouts:
        outlines = [lot.outline() for lot in layout.lots]
        things = [item for item in layout.items if item.kind not in SHAPES]
        assert {"lamp", "birch", "bollard"} <= {item.kind for item in things}
        points = np.array([(item.spot.x, item.spot.y) for item in things])
        assert off_blocks(layout, points).max() < -0.2
        for outline in outlines:
            edges = np.roll(outline, -1, axis=0) - outline
            out = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.hypot(*edges.T)[:, None]
            beyond = (points @ out.T - (outline * out).sum(axis=1)).max(axis=1)
            assert beyond.min() > 0.1


def test_density_share_and_size_say_how_much_there_is(tmp_path: Path) -> None:
    """A parameter would have no effect, or the memory estimate not grow with the town."""

    def count(town: Town, *kinds: str) -> int:
        return sum(item.kind in kinds for item in town.layout(Site(tmp_path, town.seed)).items)

    town = Town(seed=2, size=190.0)
    cars = [count(dataclasses.replace(town, car_density=share), *SHAPES) for share in (0.0, 0.5, 1.0)]
    assert cars[0] == 0
    assert 0.35 * cars[2] < cars[1] < 0.65 * cars[2]
    trees = [
        count(dataclasses.replace(town, tree_density=share), "birch", "broadleaf")
        for share in (0.0, 0.5, 1.0)
    ]
    assert trees[0] == 0 < trees[1] < trees[2]
    parks = [
        sum(
            block.kind in ("park", "square")
            for block in dataclasses.replace(town, park_share=share).layout(Site(tmp_path, 2)).blocks
        )
        for share in (0.0, 0.25, 1.0)
    ]
    assert parks == [0, 4, 15]
    amounts = [dataclasses.replace(town, size=size).quantities() for size in (100.0, 200.0, 400.0, 1000.0)]
    assert all(a.object_count < b.object_count for a, b in itertools.pairwise(amounts))
    assert all(a.triangle_count <= b.triangle_count for a, b in itertools.pairwise(amounts))


def test_storeys_bound_the_height_of_houses(layouts: list[Layout]) -> None:
    """Houses would be lower or higher than asked for."""
    rows = [lot.plan.storeys for lot in layouts[4].lots if lot.plan.style != "house"]
    assert (min(rows), max(rows)) == (1, 6)


def test_every_house_reaches_the_ground(scene: Scene) -> None:
    """A house would float above the sidewalk, or its collider differ from its walls."""
    low: dict[str, float] = {}
    for instance in scene.instances:
        if instance.path.startswith("/World/Houses/"):
            vertices = scene.geometries[instance.geometry].vertices @ instance.transform[:3, :3].T
            house = instance.path.split("/")[3]
            low[house] = min(low.get(house, np.inf), float(vertices[:, 2].min() + instance.transform[2, 3]))
    assert len(low) >= 4
    assert max(low.values()) < KERB_HEIGHT
    solid = {
        item.path.split("/")[3]: bounds(item)[0][2]
        for item in scene.colliders
        if item.path.endswith("Solid0") and "/Houses/" in item.path
    }
    assert solid.keys() == low.keys()
    assert max(solid.values()) < KERB_HEIGHT


def test_what_is_seen_of_a_house_collides(scene: Scene) -> None:
    """A vehicle would fly through a wall, or collide in front of one."""
    walls = [i for i in scene.instances if i.path.startswith("/World/Houses/") and i.path.endswith("/Glass")]
    for instance in walls:
        house = "/".join(instance.path.split("/")[:4]) + "/"
        solids = [item for item in scene.colliders if item.path.startswith(house)]
        vertices = scene.geometries[instance.geometry].vertices @ instance.transform[:3, :3].T
        vertices = vertices + instance.transform[:3, 3]
        inside = np.zeros(len(vertices), dtype=bool)
        for item in solids:
            # Panes lie behind the face of the wall, dormers stand out of the roof.
            low, high = bounds(item)
            inside |= ((vertices > low - 0.7) & (vertices < high + 0.7)).all(axis=1)
        assert inside.all(), instance.path


def test_crossings_lie_on_the_road(scene: Scene) -> None:
    """A crossing would be on a sidewalk, under the asphalt, or above it."""
    crossings = [instance for instance in scene.instances if instance.labels["class"] == "crossing"]
    half = 35.0 / 2 + 2.5
    for instance in crossings:
        vertices = scene.geometries[instance.geometry].vertices @ instance.transform[:3, :3].T
        vertices = vertices + instance.transform[:3, 3]
        assert (vertices[:, 2] > 0.003).all()
        assert (vertices[:, 2] < 0.02).all()
        # One block of 40 m, from -20 to 20 m; streets reach to 30 m.
        assert (np.abs(vertices[:, :2]).max(axis=1) > half).all()
        assert (np.abs(vertices[:, :2]).max(axis=1) < 30.0).all()
    assert len(crossings) == 4


def test_lanes_run_along_their_streets(layouts: list[Layout]) -> None:
    """Wheel tracks would cross a street, lie beside its lanes, or asphalt would be missing or double."""
    for layout in layouts:
        roads = streets.roads(layout, np.random.default_rng(2))
        area = 0.0
        for key in roads.keys:
            points, faces = roads.shape(key)
            a, b, c = (points[faces[:, k]] for k in range(3))
            area += 0.5 * np.cross(b - a, c - a)[:, 2].sum()
        assert area == pytest.approx(layout.size**2)
        pieces = roads._pieces["roadway"]
        assert len(pieces) == len(layout.streets)
        centers = {(round(spot.x, 3), round(spot.y, 3)): spot.yaw for spot in layout.streets}
        for points, _, _, uvs in pieces:
            assert uvs is not None
            middle = points[:, :2].mean(axis=0)
            yaw = centers[round(float(middle[0]), 3), round(float(middle[1]), 3)]
            across = 1 if yaw == 0.0 else 0
            shown = (points[:, across] - middle[across]) / layout.street
            np.testing.assert_allclose(uvs[:, 1] / streets.ROADWAY, shown + 0.5, atol=1e-6)
            np.testing.assert_allclose(np.ptp(uvs[:, 0]), layout.side, atol=1e-6)


def test_streaks_hang_below_sills_and_change_no_collider() -> None:
    """Rain would have run upwards or over panes, or dirt have moved a dormer that vehicles hit."""
    plans = [Plan(10.0, 9.0, 4, "plaster", 0, k) for k in range(6)]
    found = 0
    for plan in plans:
        house = buildings.draw(plan, stream(1, "house", repr(plan)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(facades, "streaks", lambda *_: None)
            clean = buildings.draw(plan, stream(1, "house", repr(plan)))
        assert house.boxes == clean.boxes
        for one, other in zip(house.hulls, clean.hulls, strict=True):
            np.testing.assert_array_equal(one, other)
        dirty = [key for key in house.parts.keys if key.startswith("streak_")]
        for key in dirty:
            points, faces = house.parts.shape(key)
            wall = key.replace("streak", "plaster")
            for name, frame, holes in house.windows:
                if name != wall:
                    continue
                u = (points - frame.origin) @ np.asarray(frame.right)
                depth = (points - frame.origin) @ np.cross(frame.right, frame.up)
                near = np.abs(depth - 0.003) < 1e-6
                for left, bottom, right, top in holes:
                    inside = near & (u > left) & (u < right) & (points[:, 2] > bottom) & (points[:, 2] < top)
                    assert not inside.any()
            corners = points[faces]
            assert (corners[:, 1, 2] < corners[:, [0, 2], 2].min(axis=1) - 0.05).all()
            found += len(faces)
    assert found > 200


def test_the_town_has_what_it_says(scene: Scene) -> None:
    """A class of objects would be missing from semantic images."""
    classes = {instance.labels["class"] for instance in scene.instances}
    assert {
        "road",
        "road_marking",
        "crossing",
        "sidewalk",
        "kerb",
        "building",
        "window",
        "car",
        "tree",
        "lamp",
        "sign",
    } <= classes
    assert scene.warnings == []
    assert all(np.isfinite(geometry.normals).all() for geometry in scene.geometries.values())


def test_shapes_of_cars_hull_what_is_seen(scene: Scene) -> None:
    """A vehicle would fly through a car's roof or land above it."""
    cars = [
        item
        for item in scene.colliders
        if "/Hull" in item.path and item.path.split("/")[2] in ("Hatchback", "Estate", "Van")
    ]
    assert cars
    for item in cars:
        assert item.shape is ColliderShape.MESH
        assert item.approximation == "convexHull"
    by_car: dict[str, list[Collider]] = {}
    for item in cars:
        by_car.setdefault("/".join(item.path.split("/")[:4]), []).append(item)
    for car, hulls in by_car.items():
        seen = [
            scene.geometries[i.geometry].vertices @ i.transform[:3, :3].T + i.transform[:3, 3]
            for i in scene.instances
            if i.path.startswith(car + "/") and not i.path.endswith("Rubber")
        ]
        points = np.concatenate(
            [hull.vertices @ matrix_from_quaternion(hull.orientation).T + hull.position for hull in hulls]
        )
        drawn = np.concatenate(seen)
        assert np.abs(points.max(axis=0)[2] - drawn.max(axis=0)[2]) < 0.1
        # Mirrors stand out at both sides.
        assert np.abs(points.max(axis=0)[:2] - drawn.max(axis=0)[:2]).max() < 0.25


def test_a_car_stands_on_its_wheels() -> None:
    """A car would sink into the road, float, or have a wrong length."""
    for shape in SHAPES.values():
        parts = draw(shape)
        points = np.concatenate([parts.shape(key)[0] for key in parts.keys])
        assert points[:, 2].min() == pytest.approx(0.0, abs=1e-3)
        assert points[:, 0].max() - points[:, 0].min() == pytest.approx(shape.length, abs=0.1)
        assert points[:, 2].max() == pytest.approx(max(z for _, z in shape.top), abs=0.02)


def test_rays_meet_a_triangle_where_its_plane_says() -> None:
    """Details of cars would float above the body."""
    triangle = np.array([[(0.0, 0.0, 1.0), (2.0, 0.0, 1.0), (0.0, 2.0, 3.0)]])
    origins = np.array([(0.5, 0.5, 9.0), (0.1, 1.5, 9.0), (1.5, 1.5, 9.0)])
    # The plane is z = 1 + y.
    assert cast(triangle, origins, np.array([0.0, 0.0, -1.0])) == pytest.approx([7.5, 6.5, np.inf])


def test_lines_of_cars_pass_through_their_points_without_overshoot() -> None:
    """A roof would dent or bulge between its control points."""
    for shape in SHAPES.values():
        x, z = np.array(shape.top).T
        assert smooth_line(shape.top, x) == pytest.approx(z)
        between = smooth_line(shape.top, np.linspace(x[0], x[-1], 400))
        assert between.max() <= z.max() + 1e-9
        assert between.min() >= z.min() - 1e-9


def test_the_tour_keeps_to_the_middle_of_the_streets_or_above_the_roofs(tmp_path: Path) -> None:
    """The tour would lead through houses."""
    for size in (60.0, 100.0, 190.0):
        town = Town(seed=1, size=size)
        site = Site(tmp_path, 1)
        layout = town.layout(site)
        points = np.array(tour(layout, town.storeys[1]))
        assert np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1)).sum() > 100.0
        for start, end in itertools.pairwise(points):
            for point in start + (end - start) * np.linspace(0.0, 1.0, 60)[:, None]:
                over_roofs = point[2] > 28.0
                on_street = np.abs(layout.lines[:, None] - point[:2]).min() < 1e-6
                assert over_roofs or on_street


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("size", 30.0, "from 50 to 1000"),
        ("size", 2000.0, "from 50 to 1000"),
        ("size", 54.0, "at least 55 m"),
        ("storeys", (4, 2), "two numbers from 1 to 12"),
        ("car_density", 1.5, "from 0 to 1"),
        ("street_width", 3.0, "from 6 to 20"),
    ],
)
def test_towns_that_cannot_be_are_refused(field: str, value: object, message: str) -> None:
    """A wrong parameter would generate an invalid world, or end in a traceback."""
    with pytest.raises(ConfigError, match=message):
        Town(**{field: value})
