"""Gains and state of the law of a VTOL."""

from dataclasses import dataclass
from typing import Any

from pegasus.base.step_math import Real, Vec3
from pegasus.control.fixed_wing.attitude import PlaneGains
from pegasus.control.fixed_wing.law import PlaneState


@dataclass(frozen=True)
class VtolGains:
    """Gains and limits of `vtol_law`."""

    wings: PlaneGains
    """Those of flight on the wings."""
    hover: Any
    """Parameters of a geometric controller."""
    transition_airspeed: float
    """Airspeed from which the wings carry alone [m/s]."""
    blend_airspeed: float
    """Airspeed from which they begin to take over [m/s]."""
    transition_acceleration: float
    """Acceleration ahead [m/s^2]."""
    transition_time: float
    """Least time in which it turns forward, and control passes between rotors and surfaces [s]."""
    back_deceleration: float
    """Deceleration of a transition back that is expected [m/s^2]."""
    transition_timeout: float
    """Longest time of a transition [s]."""
    hover_speed: float
    """Largest speed over the ground in hover [m/s]."""
    climb_speed: float
    """Speed of climbs and descents in hover [m/s]."""
    landing_speed: float
    """Sink rate down to the ground [m/s]."""


@dataclass(frozen=True)
class VtolState(PlaneState):
    """State of the law of a copy."""

    hover: Vec3
    """Acceleration by the integral of the position error in hover [m/s^2]."""
    turned: Vec3
    """Angular velocity at the previous call [rad/s]."""
    target: Vec3
    """Place to be at in hover, on its way to that of the leg [m]."""
    share: Real
    """Progress from hover, 0, to flight on the wings, 1."""
    time: Real
    """Time on this leg [s]."""
