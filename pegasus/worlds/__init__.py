"""Shipped world generators, and the base for custom ones."""

from pegasus.scene.authoring import block, group, sun_and_sky
from pegasus.scene.generator import (
    GENERATORS,
    GeneratedWorld,
    Quantities,
    WorldGenerator,
    made_world,
    make_world,
)
from pegasus.worlds.site import ROOT, Site, SiteGenerator

__all__ = [
    "GENERATORS",
    "ROOT",
    "GeneratedWorld",
    "Quantities",
    "Site",
    "SiteGenerator",
    "WorldGenerator",
    "block",
    "group",
    "made_world",
    "make_world",
    "sun_and_sky",
]
