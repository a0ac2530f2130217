"""Controllers, the trajectories that they follow, and the allocation of rotor thrusts."""

from pegasus.contracts.state import Plan, Reference
from pegasus.control import trajectories
from pegasus.control.allocation import Allocation
from pegasus.control.cascaded_pid import CascadedPIDController
from pegasus.control.control_step import Body, Law, torque_of
from pegasus.control.controller import Controller
from pegasus.control.fixed_wing.controller import PlaneController
from pegasus.control.geometric import GeometricController
from pegasus.control.guided import GuidedController, GuidedPIDController
from pegasus.control.mission import Mission
from pegasus.control.mission_step import Setpoint
from pegasus.control.vtol.controller import VtolController

__all__ = [
    "Allocation",
    "Body",
    "CascadedPIDController",
    "Controller",
    "GeometricController",
    "GuidedController",
    "GuidedPIDController",
    "Law",
    "Mission",
    "Plan",
    "PlaneController",
    "Reference",
    "Setpoint",
    "VtolController",
    "torque_of",
    "trajectories",
]
