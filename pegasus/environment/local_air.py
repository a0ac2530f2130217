"""Air at each vehicle and its rotors: wind, turbulence and the jets of others, composed in one function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pegasus.base.step_math import Quat, Real, Vec3, Word, rotate
from pegasus.environment.samples import SampledLaws, sample_at
from pegasus.environment.turbulence import Filters, Passage, TurbulenceParameters


@dataclass(frozen=True)
class Passing:
    """What the turbulence at a vehicle depends on besides the place."""

    key: Word
    """Key of the random numbers."""
    copy: int
    """Index of the vehicle among its copies."""
    gust_step: int
    """Number of steps before this one."""
    span: Real
    """Width of the vehicle over its rotors [m]."""
    velocity: Vec3
    """Velocity in the world [m/s]."""


def air_at(
    laws: SampledLaws,
    parameters: Any,
    position: Vec3,
    t: Real,
    origin_altitude: Real,
    mean: Vec3 | None,
    field: Sequence[Vec3] | None,
    jets: Sequence[Vec3] | None,
    gust_law: Callable[..., Any] | None,
    gust_parameters: TurbulenceParameters | None,
    filters: Filters | None,
    passing: Passing | None,
    dt: Real,
) -> dict[str, Any]:
    """Return gravity, the air of a step at a vehicle, and the state of its turbulence, by column.

    Args:
        laws: Laws of gravity, air and wind.
        parameters: Theirs.
        position: Position in the world [m].
        t: Time [s].
        origin_altitude: Altitude of the world's origin [m].
        mean: Velocity of the air where the wind has no law, world [m/s]; None in calm air.
        field: Velocity of the air that varies in space, at the vehicle and at each rotor; None for none.
        jets: Velocity of the air in the jets of other vehicles at each rotor; None for none.
        gust_law: Law of the turbulence, see `pegasus.environment.turbulence.dryden`; None for none.
        gust_parameters: Its parameters.
        filters: States of its filters.
        passing: How the vehicle passes through it.
        dt: Length of the step [s].
    """
    found = sample_at(laws, parameters, position, t, origin_altitude)
    calm = Vec3(0.0, 0.0, 0.0) if mean is None else mean
    wind = found.pop("wind_velocity", calm)
    if gust_law is not None and gust_parameters is not None and passing is not None:
        p, steps = gust_parameters, passing.gust_step
        height, through = position[2] - p.ground, passing.velocity - wind
        flown = Passage(passing.key, passing.copy, steps, passing.span, height, through, dt)
        found[""], gust, found["gust_rate"] = gust_law(p, filters, flown)
        found["gust_velocity"] = gust
        found["gust_step"] = steps + 1
        wind = wind + gust
    found["wind"] = wind
    if field is not None:
        changes = [there - field[0] for there in field[1:]]
        pairs = changes if jets is None else [a + b for a, b in zip(jets, changes, strict=True)]
        found["wake"] = pairs
    elif jets is not None:
        found["wake"] = list(jets)
    return found


def rotor_points(position: Vec3, orientation: Quat, place: Sequence[Vec3]) -> list[Vec3]:
    """Return the position of a vehicle and those of its rotors [m].

    Args:
        position: Position in the world [m].
        orientation: Orientation of the body.
        place: Centre of each rotor in the body frame [m].
    """
    return [position, *(position + rotate(orientation, arm) for arm in place)]
