"""Randomizers of scenes, flights, cameras and light in datasets."""

from pegasus.base.registry import Registry
from pegasus.dataset.randomizers.camera_jitter import CameraJitter
from pegasus.dataset.randomizers.clearance import Clearance
from pegasus.dataset.randomizers.distractors import Distractors
from pegasus.dataset.randomizers.flights import Flights
from pegasus.dataset.randomizers.fog import Fog
from pegasus.dataset.randomizers.materials import Materials, WorldSeed
from pegasus.dataset.randomizers.poses import InView, Poses
from pegasus.dataset.randomizers.randomizer import Moment, Mount, Randomizer, note
from pegasus.dataset.randomizers.sun import Sky, Sun

RANDOMIZERS: Registry[Randomizer] = Registry(
    "randomiser",
    group="pegasus.randomizers",
    shipped={
        "world_seed": WorldSeed,
        "sun": Sun,
        "sky": Sky,
        "fog": Fog,
        "materials": Materials,
        "distractors": Distractors,
        "flights": Flights,
        "poses": Poses,
        "in_view": InView,
        "camera_jitter": CameraJitter,
    },
)
"""Randomisers by their name in YAML."""

__all__ = [
    "RANDOMIZERS",
    "CameraJitter",
    "Clearance",
    "Distractors",
    "Flights",
    "Fog",
    "InView",
    "Materials",
    "Moment",
    "Mount",
    "Poses",
    "Randomizer",
    "Sky",
    "Sun",
    "WorldSeed",
    "note",
]
