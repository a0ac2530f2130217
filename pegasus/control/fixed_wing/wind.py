"""Wind of vehicles that fly on estimates, by velocity over the ground, heading and airspeed."""

from dataclasses import dataclass

from pegasus.base.step_math import Real, Vec3, dot, magnitude, maximum, minimum, norm, rotate, sqrt
from pegasus.control.mission_step import Motion

_TIME = 3.0
"""Time constant of the wind [s], beyond the first while of flight, over which it is a mean."""
_LEVEL = 0.5
"""Least level part of the axis of flight for which it has a heading."""
_SLOWEST = 0.7
"""Airspeed by the least one of level flight from which a vehicle flies along its axis."""


@dataclass(frozen=True)
class WindNumbers:
    """Parameters of `observed_wind`."""

    axis: Vec3
    """Axis of flight on the wings, body frame."""
    least_airspeed: float
    """Least airspeed of level flight [m/s]."""


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
    """Velocity of the air, level [m/s]."""
    time: Real
    """Time of flight on the wings [s]."""


def observed_wind(
    p: WindNumbers, motion: Motion, pitot: Pitot, air_density: Real, state: WindState, elapsed: Real
) -> WindState:
    """Return the estimate of the wind after a step.

    Coordinated flight has no velocity through the air across its heading; along it that is the airspeed. The
    wind moves by what these two are off, with a time constant: a wind triangle, of which without an airspeed
    sensor only the side across the heading is known, so that turns show the rest.

    Args:
        p: Parameters.
        motion: State of the copy.
        pitot: Its airspeed sensor.
        air_density: Air density [kg/m^3].
        state: Estimate before.
        elapsed: Time of the step [s].
    """
    through = motion.velocity - state.wind
    axis = rotate(motion.orientation, p.axis)
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
    moved = Vec3(along * x - across * y, along * y + across * x, 0.0)
    return WindState(state.wind + moved * gain, time)
