"""Contracts between the rooms: what a vehicle, a sensor, a backend, an engine are for those who use them."""

from pegasus.contracts.vehicle import Vehicle

__all__ = ["Vehicle"]
