"""The shipped generators."""

from pegasus.scene.worlds.box_room import BoxRoom
from pegasus.scene.worlds.box_with_cylinders import BoxWithCylinders
from pegasus.scene.worlds.courtyard import Courtyard
from pegasus.scene.worlds.flat import Flat
from pegasus.scene.worlds.forest import Forest
from pegasus.scene.worlds.generator import WorldGenerator
from pegasus.scene.worlds.hangar import Hangar
from pegasus.scene.worlds.hills import Hills
from pegasus.scene.worlds.race_gates import RaceGates
from pegasus.scene.worlds.town import Town
from pegasus.scene.worlds.warehouse import Warehouse

GENERATORS: dict[str, type[WorldGenerator]] = {
    kind.name: kind
    for kind in (
        Flat,
        Courtyard,
        Town,
        BoxRoom,
        BoxWithCylinders,
        Warehouse,
        Hangar,
        Forest,
        Hills,
        RaceGates,
    )
}
"""Shipped generators of worlds by their name in YAML."""
