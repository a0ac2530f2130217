"""Worlds from generators: the shipped ones and one's own."""

from pegasus.scene.worlds.files import made_world, make_world
from pegasus.scene.worlds.generator import Quantities, WorldGenerator
from pegasus.scene.worlds.registry import GENERATORS
from pegasus.scene.worlds.site import ROOT, Site

__all__ = ["GENERATORS", "ROOT", "Quantities", "Site", "WorldGenerator", "made_world", "make_world"]
