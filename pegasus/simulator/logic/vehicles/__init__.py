"""Vehicles."""

from pegasus.simulator.logic.vehicles.multirotor import Multirotor, MultirotorConfig

__all__ = ["Multirotor", "MultirotorConfig"]
