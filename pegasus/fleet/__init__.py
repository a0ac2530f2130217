"""Fleets: thousands of copies of a vehicle by the very step of a simulation, for learning and sampling."""

from pegasus.fleet.estimates import Estimate, Identification
from pegasus.fleet.fleet import Fleet, FleetState
from pegasus.fleet.identification import identify
from pegasus.fleet.records import FlightRecord, Measured

__all__ = ["Estimate", "Fleet", "FleetState", "FlightRecord", "Identification", "Measured", "identify"]
