"""The world `town`: streets, crossings, houses, cars, trees, lamps, a park."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasus.base.components import require
from pegasus.scene.authoring import (
    ground_plane,
    group,
    instance,
    physics_material,
    sun_and_sky,
)
from pegasus.scene.generator import Quantities
from pegasus.worlds import vegetation
from pegasus.worlds.horizon import distant_land
from pegasus.worlds.site import ROOT, Site, SiteGenerator
from pegasus.worlds.town import buildings, cars, furniture, grounds, palette, streets
from pegasus.worlds.town.car_shapes import SHAPES
from pegasus.worlds.town.layout import KERB_HEIGHT, SIDEWALK, Item, Layout, divide
from pegasus.worlds.town.objects import CONTACT, draw, fill, solid_box
from pegasus.worlds.town.parts import Parts
from pegasus.worlds.town.planning import lay_out

_TREES = ("broadleaf", "birch", "conifer", "bush")
_CLASSES = {"glass": "window", "shop_glass": "window", "curtain": "window"}
_STREET_VARIANTS = 4
_TOUR_HEIGHT = 4.0
_SPAWN_COUNT = 9


@dataclass(frozen=True)
class Town(SiteGenerator):
    """Town: streets with crossings, houses, parked cars, trees, lamps, a park; any size up to a kilometre."""

    name: ClassVar[str] = "town"

    size: float = 100.0
    """Side of the town, from outer kerb to outer kerb [m]."""
    block_size: float = 35.0
    """Least side of a block, from kerb to kerb; blocks grow until they fill the town [m]."""
    street_width: float = 10.0
    """Width of the streets, from kerb to kerb; cars park where it is at least 8.5 m [m]."""
    storeys: tuple[int, int] = (2, 5)
    """Least and largest number of storeys of houses in rows."""
    park_share: float = 0.2
    """Share of the blocks that are parks and squares, 0 to 1; above 0 there is at least one."""
    tree_density: float = 0.7
    """Share of tree positions with a tree, 0 to 1."""
    car_density: float = 0.6
    """Share of parking bays with a car, 0 to 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(50.0 <= self.size <= 1000.0, "size", self.size, "must be from 50 to 1000 m")
        require(30.0 <= self.block_size <= 120.0, "block_size", self.block_size, "must be from 30 to 120 m")
        require(6.0 <= self.street_width <= 20.0, "street_width", self.street_width, "must be from 6 to 20 m")
        needed = self.block_size + 2 * self.street_width
        require(
            self.size >= needed,
            "size",
            self.size,
            f"must be at least {needed:g} m, for one block and the streets around it",
            "choose a greater size, smaller blocks or narrower streets",
        )
        low, high = self.storeys
        require(1 <= low <= high <= 12, "storeys", self.storeys, "must be two numbers from 1 to 12, in order")
        for field in ("park_share", "tree_density", "car_density"):
            value = getattr(self, field)
            require(0.0 <= value <= 1.0, field, value, "must be from 0 to 1")

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        count, side = divide(self.size, self.block_size, self.street_width)
        blocks, frontage = count**2, 4 * side / 9.5
        houses = blocks * (1.0 - 0.9 * self.park_share) * frontage
        cars_parked = 2 * count * (count + 1) * 2 * max(0.0, side - 18.0) / 5.6 * self.car_density
        trees = (blocks * side / 2.5 + 4 * self.size / 3) * self.tree_density
        storeys = sum(self.storeys) / 2
        drawn = min(houses, 150.0) * 900.0 * (1.0 + storeys)
        return Quantities(
            round(200_000 + drawn),
            round(1000 + 14 * houses + 9 * cars_parked + 4 * trees + 60 * blocks),
        )

    def layout(self, site: Site) -> Layout:
        """Return the plan of the town."""
        return lay_out(
            site.stream,
            size=self.size,
            block_size=self.block_size,
            street=self.street_width,
            storeys=self.storeys,
            park_share=self.park_share,
            tree_density=self.tree_density,
            car_density=self.car_density,
        )

    def build(self, site: Site) -> None:
        """Write the world."""
        town = self.layout(site)
        sun_and_sky(site.stage, ROOT, elevation=42.0, azimuth=205.0)
        site.camera((-3.5, -0.3 * self.size, 9.5), (5.5, 0.1 * self.size, 2.0))
        distant_land(site, self.size / 2)
        _ground(site, town)
        _blocks(site, town)
        _streets(site, town)
        _houses(site, town)
        _items(site, town)
        _spawn_points(site, town)
        site.paths["tour"] = tour(town, self.storeys[1])


def tour(town: Layout, storeys: int) -> list[tuple[float, float, float]]:
    """Return a tour through the central streets of a town and back over its roofs."""
    first = max(0, (town.count - 2) // 2)
    lines = town.lines[first : first + 3].tolist()
    low, high = lines[0], lines[-1]
    middle = lines[len(lines) // 2]
    # Storeys, roof, chimney and mast plus a margin.
    above = 4.2 + 3.3 * storeys + 10.0
    points = [(low, low, _TOUR_HEIGHT), (high, low, _TOUR_HEIGHT)]
    points += (
        [(high, middle, _TOUR_HEIGHT + 1.0), (middle, middle, _TOUR_HEIGHT + 1.0)] if len(lines) > 2 else []
    )
    points += [(middle, high, _TOUR_HEIGHT + 2.0), (low, high, above)]
    points += [(middle, middle, above), (high, low, above), (low, low, _TOUR_HEIGHT)]
    return [(round(x, 3), round(y, 3), round(z, 3)) for x, y, z in points]


def _ground(site: Site, town: Layout) -> None:
    stage = site.stage
    path = f"{ROOT}/Road"
    group(stage, path, "road")
    contact = physics_material(stage, f"{ROOT}/Looks/GroundContact", CONTACT)
    ground_plane(stage, f"{ROOT}/Ground", contact)
    half = town.size / 2
    draw(site, path, streets.roads(town, site.stream("roads")), scope=ROOT)
    path = f"{ROOT}/Outskirts"
    group(stage, path, "sidewalk")
    classes = dict.fromkeys(("meadow", "field_0", "field_1", "field_2", "field_3"), "field")
    draw(
        site, path, streets.rim(town, site.stream("fields")), scope=ROOT, classes={**classes, "kerb": "kerb"}
    )
    for k, (x, y) in enumerate(((0, -1), (0, 1), (-1, 0), (1, 0))):
        reach, wide = half + SIDEWALK, SIDEWALK / 2
        center = np.array([x, y]) * (half + wide)
        extent = np.array([reach, wide]) if y else np.array([wide, half])
        low, high = center - extent, center + extent
        solid_box(stage, f"{path}/Solid{k}", (*low, 0.0), (*high, KERB_HEIGHT), contact)


def _blocks(site: Site, town: Layout) -> None:
    stage = site.stage
    group(stage, f"{ROOT}/Blocks")
    path = site.prototype("Plate", "sidewalk")
    outline = streets.rounded_square(town.side / 2, 3.0, 3)
    rings = np.stack([np.column_stack([outline, np.full(len(outline), z)]) for z in (0.0, KERB_HEIGHT)])
    fill(site, path, streets.plate(town.side), hulls=[rings], classes={"kerb": "kerb"})
    labels = {"rows": "courtyard", "villas": "garden", "park": "park", "square": "square"}
    for number, block in enumerate(town.blocks):
        name = block.kind.capitalize()
        if not stage.GetPrimAtPath(f"/Prototypes/{name}"):
            fill(site, site.prototype(name, labels[block.kind]), grounds.ground(block.kind, town.side))
        where = (block.x, block.y, 0.0)
        instance(stage, f"{ROOT}/Blocks/Plate{number}", path, where)
        instance(stage, f"{ROOT}/Blocks/Ground{number}", f"/Prototypes/{name}", where)


def _streets(site: Site, town: Layout) -> None:
    stage = site.stage
    group(stage, f"{ROOT}/Streets")
    for variant in range(_STREET_VARIANTS):
        lines, crossings = streets.street(town, site.stream("street", str(variant)))
        classes = {"gutter": "road", "patch": "road", "iron": "manhole_cover", "black": "manhole_cover"}
        fill(site, site.prototype(f"Lines{variant}", "road_marking"), lines, classes=classes)
        fill(site, site.prototype(f"Crossings{variant}", "crossing"), crossings)
        path = site.prototype(f"Junction{variant}", "road")
        fill(site, path, streets.junction(town, site.stream("junction", str(variant))))
    rng = site.stream("streets")
    for number, spot in enumerate(town.streets):
        variant, turn = int(rng.integers(_STREET_VARIANTS)), 180.0 * float(rng.integers(2))
        for kind in ("Lines", "Crossings"):
            at = f"{ROOT}/Streets/{kind}{number}"
            instance(stage, at, f"/Prototypes/{kind}{variant}", (spot.x, spot.y, 0.0), yaw=spot.yaw + turn)
    lines_at = town.lines.tolist()
    for row, y in enumerate(lines_at):
        for column, x in enumerate(lines_at):
            path = f"/Prototypes/Junction{rng.integers(_STREET_VARIANTS)}"
            at = f"{ROOT}/Streets/Junction{row}_{column}"
            instance(stage, at, path, (x, y, 0.0), yaw=90.0 * float(rng.integers(4)))


def _houses(site: Site, town: Layout) -> None:
    group(site.stage, f"{ROOT}/Houses")
    paths: dict[object, str] = {}
    for number, lot in enumerate(town.lots):
        if lot.plan not in paths:
            name = f"House{len(paths)}"
            path = paths[lot.plan] = site.prototype(name, "building")
            house = buildings.draw(lot.plan, site.stream("house", repr(lot.plan)))
            fill(site, path, house.parts, boxes=house.boxes, hulls=house.hulls, classes=_CLASSES)
        at = f"{ROOT}/Houses/House{number}"
        instance(site.stage, at, paths[lot.plan], (lot.spot.x, lot.spot.y, 0.0), yaw=lot.spot.yaw % 360.0)


def _items(site: Site, town: Layout) -> None:
    for kind in sorted({item.kind for item in town.items}):
        group(site.stage, f"{ROOT}/{_title(kind)}")
    shapes = {
        kind: cars.draw(SHAPES[kind]) for kind in sorted({item.kind for item in town.items} & {*SHAPES})
    }
    for number, item in enumerate(town.items):
        path = _item_path(site, item, shapes)
        scale = (item.stretch, 1.0, 1.0) if item.stretch != 1.0 else (item.scale,) * 3
        where = (item.spot.x, item.spot.y, item.ground)
        at = f"{ROOT}/{_title(item.kind)}/{_title(item.kind)}{number}"
        instance(site.stage, at, path, where, yaw=item.spot.yaw % 360.0, scale=scale)


def _item_path(site: Site, item: Item, shapes: Mapping[str, Parts]) -> str:
    """Return the prototype of an item, created on first use."""
    if item.kind in _TREES:
        return vegetation.tree(site, item.kind, item.variant)
    name = _title(item.kind) + (str(item.variant) if item.kind in SHAPES else "")
    path = f"/Prototypes/{name}"
    if site.stage.GetPrimAtPath(path):
        return path
    if item.kind in SHAPES:
        site.prototype(name, "car")
        color, metallic = palette.PAINTS[item.variant]
        paint = site.paint("paint", color, roughness=0.22, metallic=metallic, scope=path, collides=False)
        fill(site, path, shapes[item.kind], hulls=cars.hulls(SHAPES[item.kind]), given={"paint": paint})
        return path
    thing = furniture.hedge(site.stream("hedge")) if item.kind == "hedge" else furniture.THINGS[item.kind]()
    site.prototype(name, thing.label)
    fill(site, path, thing.parts, boxes=thing.boxes, posts=thing.posts, hulls=thing.hulls)
    return path


def _title(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.split("_"))


def _spawn_points(site: Site, town: Layout) -> None:
    """Add spawn points at the central junctions and on streets between them."""
    lines = town.lines.tolist()
    places = [(x, y) for x in lines for y in lines]
    places += [(street.x, street.y) for street in town.streets]
    places.sort(key=lambda point: (round(point[0] ** 2 + point[1] ** 2, 3), point))
    for number, (x, y) in enumerate(places[:_SPAWN_COUNT]):
        site.spawn(x, y, heading=0.0 if number % 2 == 0 else float(np.pi / 2))
