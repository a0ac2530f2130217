"""Fleets: thousands of copies of a vehicle by the very step of a simulation, for learning and sampling."""

from pegasus.fleet.fleet import Fleet, FleetState
from pegasus.fleet.rays import DepthCamera, Rays
from pegasus.fleet.world import Boxes, Cylinders, Frames, Rings, Spheres, Terrain, World
from pegasus.fleet.world_files import world_of_file

__all__ = [
    "Boxes",
    "Cylinders",
    "DepthCamera",
    "Fleet",
    "FleetState",
    "Frames",
    "Rays",
    "Rings",
    "Spheres",
    "Terrain",
    "World",
    "world_of_file",
]
