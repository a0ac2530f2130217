"""Check of whole flights against a vehicle before they are flown: tilt, thrust and turning."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.control.approach import LOWEST
from pegasus.control.trajectories import sequence

_SPACING = 0.02
"""Time between the instants that are looked at, at least [s]."""
_MOST = 10_000
"""Largest number of these instants for all flights of a controller."""
_LEAST = 100
"""Least number of them for each flight."""
_HORIZON = 200.0
"""Time of an endless flight that is looked at [s]."""
_WINDOW = 0.1
"""Time over which the change of the body rates is taken: about that of the motors [s]."""
_ROUNDING = 1.002
"""Excess by the limit that counts as none."""


@dataclass(frozen=True)
class Limits:
    """What a vehicle and its controller can do."""

    gravity: Array
    """Acceleration of free fall [m/s^2], shape (3,)."""
    thrust: float
    """Largest thrust for acceleration by mass [m/s^2]; infinite if not known."""
    tilt: float
    """Largest commanded tilt [rad]; infinite without a limit."""
    turning: float
    """Angular acceleration about the roll and pitch axes that the rotors have in hover [rad/s^2]."""


@dataclass(frozen=True)
class Excess:
    """The worst instant of a flight in one quantity."""

    ratio: float
    """What is needed by what there is."""
    figure: str
    """What is needed and what there is, with the segment and the time."""
    remedy: str
    """Remedy."""


def excesses_of(flights: list[sequence], limits: list[Limits]) -> list[Excess]:
    """Return the worst excess of tilt, thrust and turning of several flights, those of no excess left out.

    A flight is looked at every 0.02 s, or more seldom if it is long or one of many. Drag is not counted.

    Args:
        flights: The flights.
        limits: Limits of the vehicle that flies each.
    """
    count = max(_MOST // len(flights), _LEAST)
    found = [_excesses(flight, own, count) for flight, own in zip(flights, limits, strict=True)]
    worst = [max(kind, key=lambda excess: excess.ratio) for kind in zip(*found, strict=True)]
    return [excess for excess in worst if excess.ratio > _ROUNDING]


def _excesses(flight: sequence, limits: Limits, most: int) -> tuple[Excess, Excess, Excess]:
    duration = min(flight.duration, _HORIZON)
    count = min(max(math.ceil(duration / _SPACING), 2), most)
    times: Array = duration / count * np.arange(count + 1, dtype=np.float64)
    points, idle = flight.samples(times)
    force = points[:, 6:9] - limits.gravity
    size = np.sqrt((force * force).sum(axis=1))
    weight = math.sqrt(float((limits.gravity * limits.gravity).sum()))
    # Nearly without thrust its direction is free.
    directed = (idle == 0) & (size > LOWEST)
    axis = force / np.maximum(size, LOWEST)[:, None]
    tilt = np.where(directed, np.arccos(np.clip(axis[:, 2], -1.0, 1.0)), 0.0)
    thrust = np.where(idle, 0.0, size)
    turning = _turning(points[:, 9:12], axis, size, directed, step=duration / count)

    def worst(needed: Array, limit: float, text: str, remedy: str) -> Excess:
        k = int(needed.argmax())
        figure = f"{flight.segment(float(times[k]))} at {times[k]:.1f} s {text}"
        return Excess(float(needed[k]) / limit, figure, remedy)

    steepest, hardest = math.degrees(float(tilt.max())), float(thrust.max()) / weight
    return (
        worst(
            tilt,
            limits.tilt,
            f"needs a tilt of {steepest:.0f} degrees, {math.degrees(limits.tilt):.0f} are allowed",
            "raise tilt_limit",
        ),
        worst(
            thrust,
            limits.thrust,
            f"needs {hardest:.3g} times the weight, {limits.thrust / weight:.3g} are available",
            "lower its thrust or the mass",
        ),
        worst(
            turning,
            limits.turning,
            f"turns with {float(turning.max()):.0f} rad/s^2, {limits.turning:.0f} are available",
            "smooth its corners",
        ),
    )


def _turning(jerk: Array, axis: Array, size: Array, directed: BoolArray, *, step: float) -> Array:
    """Return the angular acceleration of the thrust's direction at each instant [rad/s^2], shape (n,)."""
    apart = max(round(_WINDOW / step), 1)
    change = np.zeros(len(size))
    if step > _WINDOW or len(size) <= apart:
        return change
    along = (jerk * axis).sum(axis=1, keepdims=True)
    rate = (jerk - along * axis) / np.maximum(size, LOWEST)[:, None]
    gap = rate[apart:] - rate[:-apart]
    both = directed[apart:] & directed[:-apart]
    change[:-apart] = np.where(both, np.sqrt((gap * gap).sum(axis=1)), 0.0) / (apart * step)
    return change
