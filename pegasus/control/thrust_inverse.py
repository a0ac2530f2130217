"""Inverse of thrust curves as laws: thrust to rotor speed in still air."""

import functools
from collections.abc import Callable
from typing import Any

from pegasus.base.step_math import Real
from pegasus.dynamics import ThrustCurve
from pegasus.dynamics.thrust_curves import speed_by_bisection

Inverse = Callable[..., Real]
"""Law (parameters, thrust [N], air density [kg/m^3]) -> rotor speed in still air [rad/s]."""


def inverse_of(curve: ThrustCurve) -> tuple[Inverse, Any]:
    """Return the inverse of a thrust curve as a law, by bisection if it has none, and its parameters.

    Args:
        curve: The thrust curve.
    """
    kind = type(curve)
    return kind.inverse_law or _bisected(kind.law), curve.parameters()


@functools.cache
def _bisected(law: Any) -> Inverse:
    """Return the inverse of a thrust curve that rises with speed; the same one at each call."""
    return functools.partial(speed_by_bisection, law)
