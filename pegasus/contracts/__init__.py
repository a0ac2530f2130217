"""Contracts between the rooms: what a vehicle, a sensor, a backend, an engine are for those who use them."""

from pegasus.contracts.vehicle import Rotorcraft, Vehicle, as_rotorcraft

__all__ = ["Rotorcraft", "Vehicle", "as_rotorcraft"]
