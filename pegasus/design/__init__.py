"""Design of vehicles: propellers, motors, batteries, mass properties; trim, stall and modes."""

from pegasus.core.flight_modes import LinearModel, Mode, linearized
from pegasus.core.trim import Trim, stall_speed, trim
from pegasus.design.mass_properties import Part, box, combined, disc, point, rod
from pegasus.design.propulsion import Battery, Motor, Propeller

__all__ = [
    "Battery",
    "LinearModel",
    "Mode",
    "Motor",
    "Part",
    "Propeller",
    "Trim",
    "box",
    "combined",
    "disc",
    "linearized",
    "point",
    "rod",
    "stall_speed",
    "trim",
]
