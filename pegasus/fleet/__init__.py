"""Fleets: thousands of copies of a vehicle by the very step of a simulation, for learning and sampling."""

from pegasus.contracts.flight_record import FlightRecord, Measured
from pegasus.fleet.estimates import Estimate, Identification
from pegasus.fleet.fleet import Fleet, FleetState
from pegasus.fleet.identification import identify
from pegasus.fleet.rays import DepthCamera, Rays
from pegasus.fleet.world import Boxes, Cylinders, Frames, Rings, Spheres, Terrain, World
from pegasus.fleet.world_files import world_of_file

__all__ = [
    "Boxes",
    "Cylinders",
    "DepthCamera",
    "Estimate",
    "Fleet",
    "FleetState",
    "FlightRecord",
    "Frames",
    "Identification",
    "Measured",
    "Rays",
    "Rings",
    "Spheres",
    "Terrain",
    "World",
    "identify",
    "world_of_file",
]
