"""Gains and distances of a plane's controller, from the figures of the plane."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.control.fixed_wing.attitude import PlaneGains
from pegasus.control.fixed_wing.course import Paces
from pegasus.control.fixed_wing.figures import PlaneFigures
from pegasus.control.fixed_wing.legs import LAUNCH

_LAG = 0.04
"""Least lag for which the rates are controlled [s]."""
_GENTLE = math.tan(math.radians(25.0))
"""Tangent of the bank of circles."""


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """Parameters of a controller from which the others follow; see `PlaneController`."""

    airspeed: float | None
    loiter_radius: float | None
    bank_limit: float
    approach_airspeed: float | None = None
    launch_speed: float | None = None
    glide_slope: float | None = None
    launch_kind: float = LAUNCH
    run_acceleration: float = 0.0
    run_press: float = 0.0


def paces_of(own: Wishes, p: PlaneFigures, air_density: float, g: float) -> Paces:
    """Return airspeeds and distances of legs.

    Args:
        own: Parameters of the controller.
        p: Figures of the plane.
        air_density: Air density [kg/m^3].
        g: Acceleration of free fall [m/s^2].
    """
    airspeed = own.airspeed or min(1.4 * p.least_airspeed, p.most_airspeed)
    approach = own.approach_airspeed or min(1.2 * p.least_airspeed, airspeed)
    glide = _glide(p, approach, air_density, g)
    circle = own.loiter_radius or airspeed * airspeed / (g * _GENTLE)
    return Paces(
        airspeed=airspeed,
        approach_airspeed=approach,
        launch_kind=own.launch_kind,
        launch_speed=own.launch_speed or 1.2 * p.least_airspeed,
        turn_radius=airspeed * airspeed / (g * math.tan(0.8 * own.bank_limit)),
        loiter_radius=circle,
        glide_slope=own.glide_slope or min(0.1, 0.7 * glide),
        glide_height=40.0,
    )


def gains_of(own: Wishes, p: PlaneFigures, paces: Paces, air_density: float, g: float) -> PlaneGains:
    """Return the gains of a plane; see the arguments of `paces_of`.

    The rates are controlled at half the inverse of the largest lag of servos and of 0.04 s, bank and pitch at
    a fifth of that, path and energy at a quarter and an eighth of the latter. Commanded rates keep to 70 % of
    those that the surfaces give against the damping at the airspeed.
    """
    airspeed = paces.airspeed
    rate = 0.5 / max(p.servo_lag, _LAG)
    attitude = rate / 5.0
    damping = -p.damping_x[0], -p.damping_y[1]
    limits = [
        min(0.7 * airspeed * most / max(d, 1e-9), 1.5) for d, most in zip(damping, p.authority, strict=False)
    ]
    pressure = 0.5 * air_density * airspeed * airspeed
    glide = _glide(p, airspeed, air_density, g)
    spare = p.thrust[-1] / (p.mass * g) - glide
    return PlaneGains(
        reach_time=4.0 * math.sqrt(2.0) / attitude,
        bank_limit=own.bank_limit,
        least_airspeed=1.1 * p.least_airspeed,
        height_gain=attitude / 8.0,
        climb_limit=airspeed * min(0.6 * spare, 0.3),
        sink_limit=airspeed * min(0.8 * glide, 0.3),
        energy_gain=attitude / 4.0,
        balance_gain=0.3,
        balance_integral_gain=attitude / 4.0,
        roll_gain=attitude,
        pitch_gain=attitude,
        slip_gain=attitude,
        roll_rate_limit=limits[0],
        pitch_rate_limit=min(limits[1], 2.0 * math.sqrt(p.authority[1] * pressure)),
        rate_gain=rate,
        rate_integral_gain=rate * attitude / 2.0,
        flare_time=2.0,
        run_acceleration=own.run_acceleration,
        run_press=own.run_press,
    )


def _glide(p: PlaneFigures, airspeed: float, air_density: float, g: float) -> float:
    """Return drag by weight of level flight at an airspeed [m/s]."""
    pressure = 0.5 * air_density * airspeed * airspeed
    drag = pressure * float(np.interp(p.mass * g / pressure, p.lift, p.drag))
    return drag / (p.mass * g)
