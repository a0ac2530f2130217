"""Fleets: thousands of copies of a vehicle by the very step of a simulation, for learning and sampling."""

from pegasus.fleet.fleet import Fleet, FleetState

__all__ = ["Fleet", "FleetState"]
