"""Table of finishes by name."""

from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.finishes import (
    distance,
    facades,
    ground,
    indoors,
    masonry,
    metal,
    roads,
    vegetation,
    wood,
)
from pegasus.worlds.finishes.finish import Finish

_HARD = PhysicsMaterial(0.8, 0.7, 0.1)
_LOOSE = PhysicsMaterial(0.7, 0.6, 0.0)
_SMOOTH = PhysicsMaterial(0.5, 0.4, 0.2)
_SOFT = PhysicsMaterial(0.8, 0.7, 0.0)
_RUBBER = PhysicsMaterial(1.0, 0.9, 0.3)

FINISHES: dict[str, Finish] = {
    "asphalt": Finish(ground.asphalt, side=6.0, contact=_HARD, pixels=896),
    "bark": Finish(wood.bark, side=1.0, contact=_HARD),
    "birch_bark": Finish(wood.birch_bark, side=1.0, contact=_HARD),
    "brick": Finish(masonry.brick, side=2.0, contact=_HARD),
    "brushed_metal": Finish(metal.brushed_metal, side=1.0, contact=_SMOOTH, metallic=1.0),
    "cardboard": Finish(indoors.cardboard, side=0.6, contact=_SOFT, pixels=768),
    "carpet": Finish(indoors.carpet, side=2.0, contact=_SOFT),
    "ceiling_panels": Finish(indoors.ceiling_panels, side=2.4, contact=_HARD),
    "cliff": Finish(ground.cliff, side=16.0, contact=_HARD, pixels=1024),
    "concrete": Finish(masonry.concrete, side=4.0, contact=_HARD),
    "corrugated_metal": Finish(metal.corrugated_metal, side=3.0, contact=_SMOOTH, metallic=0.5),
    "fabric": Finish(indoors.fabric, side=0.3, contact=_SOFT),
    "facade_brick": Finish(facades.facade_brick, side=12.0, contact=_HARD, pixels=1024),
    "facade_flats": Finish(facades.facade_flats, side=12.0, contact=_HARD, pixels=1024),
    "facade_office": Finish(facades.facade_office, side=12.0, contact=_HARD, pixels=1024),
    "facade_shop": Finish(facades.facade_shop, side=12.0, contact=_HARD, pixels=1024),
    "far_hills": Finish(distance.far_hills, side=160.0, contact=_LOOSE),
    "far_mountains": Finish(distance.far_mountains, side=400.0, contact=_LOOSE),
    "far_wood": Finish(distance.far_wood, side=120.0, contact=_LOOSE),
    "floor_epoxy": Finish(indoors.floor_epoxy, side=6.0, contact=_SMOOTH, pixels=768),
    "forest_floor": Finish(vegetation.forest_floor, side=4.0, contact=_LOOSE, pixels=768),
    "glass_panes": Finish(facades.glass_panes, side=12.0, contact=_SMOOTH, pixels=1024),
    "grass": Finish(vegetation.grass, side=4.0, contact=_LOOSE, pixels=768),
    "gravel": Finish(ground.gravel, side=2.0, contact=_LOOSE),
    "hazard_stripes": Finish(metal.hazard_stripes, side=1.0, contact=_SMOOTH),
    "leaves": Finish(vegetation.leaves, side=1.0, contact=_LOOSE),
    "meadow": Finish(vegetation.meadow, side=4.0, contact=_LOOSE, pixels=768),
    "needles": Finish(vegetation.needles, side=1.0, contact=_LOOSE),
    "old_plaster": Finish(masonry.old_plaster, side=4.0, contact=_HARD, pixels=768),
    "painted_metal": Finish(metal.painted_metal, side=2.0, contact=_SMOOTH),
    "paving": Finish(masonry.paving, side=4.0, contact=_HARD, pixels=768),
    "plain_cardboard": Finish(indoors.plain_cardboard, side=1.2, contact=_SOFT),
    "plaster": Finish(masonry.plaster, side=8.0, contact=_HARD, pixels=768),
    "plywood": Finish(wood.plywood, side=2.0, contact=_SMOOTH),
    "road_marking": Finish(metal.road_marking, side=2.0, contact=_HARD),
    "roadway": Finish(roads.roadway, side=10.0, contact=_HARD, pixels=1024),
    "rock": Finish(ground.rock, side=4.0, contact=_HARD, pixels=768),
    "roof_tiles": Finish(masonry.roof_tiles, side=3.0, contact=_HARD),
    "rubber": Finish(indoors.rubber, side=0.5, contact=_RUBBER),
    "sand": Finish(ground.sand, side=4.0, contact=_LOOSE),
    "sidewalk": Finish(masonry.sidewalk, side=3.0, contact=_HARD),
    "snow": Finish(ground.snow, side=6.0, contact=PhysicsMaterial(0.3, 0.25, 0.0)),
    "soil": Finish(ground.soil, side=4.0, contact=_LOOSE, pixels=768),
    "tarpaulin": Finish(indoors.tarpaulin, side=2.0, contact=_SOFT),
    "thin_grass": Finish(vegetation.thin_grass, side=4.0, contact=_LOOSE, pixels=768),
    "wall_paint": Finish(masonry.wall_paint, side=4.0, contact=_HARD),
    "wood_planks": Finish(wood.wood_planks, side=2.0, contact=_HARD),
}
"""Finishes by name."""
