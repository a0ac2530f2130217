"""Controllers, the trajectories that they follow, and the allocation of rotor thrusts."""

from pegasus.control import trajectories
from pegasus.control.allocation import Allocation
from pegasus.control.cascaded_pid import CascadedPIDController
from pegasus.control.controller import Controller
from pegasus.control.geometric import GeometricController
from pegasus.control.mission import Mission
from pegasus.control.plan import Plan
from pegasus.control.reference import Reference

CONTROLLERS: dict[str, type[Controller]] = {
    "geometric": GeometricController,
    "cascaded_pid": CascadedPIDController,
}
"""Shipped controllers by their name in YAML."""

__all__ = [
    "CONTROLLERS",
    "Allocation",
    "CascadedPIDController",
    "Controller",
    "GeometricController",
    "Mission",
    "Plan",
    "Reference",
    "trajectories",
]
