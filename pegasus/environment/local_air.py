"""Air at each vehicle: its turbulence, and the places at which its rotors feel a wind that varies."""

from collections.abc import Callable, Sequence
from typing import Any

from pegasus.base.step_math import Quat, Real, Vec3, Word, rotate
from pegasus.environment.turbulence import Filters, Passage, TurbulenceParameters


def turbulent_air(
    law: Callable[..., Any],
    p: TurbulenceParameters,
    filters: Filters,
    key: Word,
    copy: int,
    count: int,
    span: Real,
    position: Vec3,
    velocity: Vec3,
    wind: Vec3,
    dt: Real,
) -> dict[str, Any]:
    """Return the columns of `GustState` after a step, and the wind with the turbulence [m/s], by name.

    Args:
        law: Step function of the turbulence; see `pegasus.environment.turbulence.dryden`.
        p: Its parameters.
        filters: States of the filters.
        key: Key of the random numbers.
        copy: Index of the vehicle among its copies.
        count: Number of steps before this one.
        span: Width of the vehicle over its rotors [m].
        position: Position in the world [m].
        velocity: Velocity in the world [m/s].
        wind: Velocity of the air without turbulence, world [m/s].
        dt: Length of the step [s].
    """
    flown = Passage(key, copy, count, span, position[2] - p.ground, velocity - wind, dt)
    filters, gust, rate = law(p, filters, flown)
    return {
        "filters": filters,
        "gust_step": count + 1,
        "gust_velocity": gust,
        "gust_rate": rate,
        "wind": wind + gust,
    }


def rotor_points(position: Vec3, orientation: Quat, place: Sequence[Vec3]) -> list[Vec3]:
    """Return the position of a vehicle and those of its rotors [m].

    Args:
        position: Position in the world [m].
        orientation: Orientation of the body.
        place: Centre of each rotor in the body frame [m].
    """
    return [position, *(position + rotate(orientation, arm) for arm in place)]
