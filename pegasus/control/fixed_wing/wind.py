"""Wind of vehicles that fly on estimates, by velocity over the ground, heading and airspeed."""

from dataclasses import dataclass

from pegasus.base.step_math import (
    Real,
    Vec3,
    dot,
    interpolate,
    magnitude,
    maximum,
    minimum,
    norm,
    rotate,
    sin,
    sqrt,
)
from pegasus.control.fixed_wing.figures import PlaneFigures
from pegasus.control.mission_step import Motion

_TIME = 3.0
"""Time constant of the wind [s], beyond the first while of flight, over which it is a mean."""
_RISE_TIME = 0.5
"""Time constant of the vertical wind [s]."""
_LEVEL = 0.5
"""Least level part of the axis of flight for which it has a heading."""
_SLOWEST = 0.7
"""Airspeed by the least one of level flight from which a vehicle flies along its axis."""


@dataclass(frozen=True)
class WingAxes:
    """Axes of flight on the wings, body frame."""

    ahead: Vec3
    left: Vec3
    above: Vec3


@dataclass(frozen=True)
class Pitot:
    """Last reading of the airspeed sensor of a copy."""

    axis: Vec3
    """Direction of the tube, body frame."""
    pressure: Real
    """Differential pressure [Pa]."""
    known: Real
    """1 if it is of the last half second."""


@dataclass(frozen=True)
class WindState:
    """Estimate of the wind of a copy."""

    wind: Vec3
    """Velocity of the air [m/s]."""
    time: Real
    """Time of flight on the wings [s]."""


def observed_wind(
    axes: WingAxes,
    p: PlaneFigures,
    motion: Motion,
    pitot: Pitot,
    air_density: Real,
    gravity: Vec3,
    state: WindState,
    elapsed: Real,
) -> WindState:
    """Return the estimate of the wind after a step.

    Coordinated flight has no velocity through the air across its heading; along it that is the airspeed. The
    wind moves by what these two are off, with a time constant: a wind triangle, of which without an airspeed
    sensor only the side across the heading is known, so that turns show the rest. The vertical wind is what
    the angle of attack is off from that of the polar at the load of the present pitch rate, V q + g cos.

    Args:
        axes: Axes of flight.
        p: Figures of the wings.
        motion: State of the copy.
        pitot: Its airspeed sensor.
        air_density: Air density [kg/m^3].
        gravity: Acceleration of free fall [m/s^2].
        state: Estimate before.
        elapsed: Time of the step [s].
    """
    through = motion.velocity - state.wind
    axis = rotate(motion.orientation, axes.ahead)
    level = sqrt(axis[0] * axis[0] + axis[1] * axis[1])
    x, y = axis[0] / maximum(level, _LEVEL), axis[1] / maximum(level, _LEVEL)
    pressure = pitot.pressure
    measured = sqrt(2.0 * magnitude(pressure) / maximum(air_density, 0.01))
    if pressure < 0.0:
        measured = -measured
    along, speed = 0.0, norm(through)
    if pitot.known == 1.0:
        along, speed = dot(rotate(motion.orientation, pitot.axis), through) - measured, measured
    across = x * through[1] - y * through[0]
    if level < _LEVEL or speed < _SLOWEST * p.least_airspeed:
        return state
    time = state.time + elapsed
    gain = elapsed / maximum(minimum(time, _TIME), 1e-9)
    above = rotate(motion.orientation, axes.above)
    # Turning about the left axis lowers the nose.
    load = -speed * dot(axes.left, motion.angular_velocity) - dot(above, gravity)
    lift = load * p.mass * 2.0 / (maximum(air_density, 0.01) * speed * speed)
    sinking = dot(above, through) + speed * sin(interpolate(lift, p.lift, p.alpha))
    rise = 0.0
    if speed >= p.least_airspeed:
        rise = above[2] * sinking * maximum(elapsed / maximum(minimum(time, _RISE_TIME), 1e-9), 0.0)
    moved = Vec3(along * x - across * y, along * y + across * x, 0.0)
    return WindState(state.wind + moved * gain + Vec3(0.0, 0.0, rise), time)
