"""Inverse of thrust curves as step functions: thrust to rotor speed in still air."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.step_math import Real, interpolate, sqrt
from pegasus.dynamics import ThrustCurve
from pegasus.dynamics.thrust_curves import speed_by_bisection

Inverse = Callable[..., Real]
"""Step function (parameters, thrust [N], air density [kg/m^3]) -> rotor speed in still air [rad/s]."""

_TABLE_DENSITY = 1.225
"""Air density of tables of thrust [kg/m^3]."""


@dataclass(frozen=True)
class TabulatedCurve:
    """Parameters of `tabulated_speed`."""

    thrust: tuple[float, ...]
    """Rising thrusts in still air [N]."""
    square: tuple[float, ...]
    """Square of the rotor speed at each [(rad/s)^2]."""
    air_density: float
    """Air density of the table, to which thrust is proportional; 0 if it has no effect [kg/m^3]."""


def tabulated_speed(p: TabulatedCurve, thrust: Real, air_density: Real) -> Real:
    """Return the rotor speed of a table, linear in the square of the speed."""
    scale = p.air_density / air_density if p.air_density > 0.0 else 1.0
    return sqrt(interpolate(thrust * scale, p.thrust, p.square))


def inverse_of(curve: ThrustCurve) -> tuple[Inverse, Any] | None:
    """Return the inverse of a thrust curve as a step function, and its parameters.

    That of a curve in NumPy is a table, exact to 1e-5 for a curve of second degree. A curve with a method
    `rotor_speed` of its own, or whose thrust does not rise, has none.

    Args:
        curve: The thrust curve.
    """
    kind = type(curve)
    if kind.rotor_speed is not ThrustCurve.rotor_speed:
        return None
    if kind.law is not None and kind.thrust is ThrustCurve.thrust:
        return kind.inverse_law or _bisected(kind.law), curve.parameters()
    table = _tabulated(curve)
    return None if table is None else (tabulated_speed, table)


@functools.cache
def _bisected(law: Any) -> Inverse:
    """Return the inverse of a thrust curve that rises with speed; the same one at each call."""
    return functools.partial(speed_by_bisection, law)


def _tabulated(curve: ThrustCurve) -> TabulatedCurve | None:
    """Return the table of a curve in NumPy; None if its thrust does not rise."""
    speed = np.append(0.0, np.geomspace(1.0, 1e5, 2048))[:, None]
    thrust = curve.thrust(speed, np.zeros_like(speed), np.full_like(speed, _TABLE_DENSITY))[0][:, 0]
    rising = np.append(True, thrust[1:] > np.maximum.accumulate(thrust)[:-1])
    if rising.sum() < 2:
        return None
    density = _TABLE_DENSITY if curve.uses_air_density else 0.0
    return TabulatedCurve(tuple(thrust[rising].tolist()), tuple((speed[rising, 0] ** 2).tolist()), density)
