"""Servos, which turn control surfaces and nacelles to commanded angles."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.base.step_math import Real, exp, magnitude, maximum, minimum

_FASTEST = 1e9
"""Rate of a servo without a limit [rad/s]."""
_SHORTEST = 1e-9
"""Time constant of a servo without a lag [s]."""


@dataclass(frozen=True)
class ServoNumbers:
    """Numbers of `servo_angle`."""

    rate: Real
    """Largest rate [rad/s]."""
    time_constant: Real
    """Time constant [s]."""


def servo_angle(p: ServoNumbers, angle: Real, command: Real, dt: Real) -> Real:
    """Return the angle of a servo after dt [rad]; see `Servo`.

    Args:
        p: Its numbers.
        angle: Angle before [rad].
        command: Commanded angle, within the limits [rad].
        dt: Time [s].
    """
    error = command - angle
    # Within this distance the lag is slower than the limit of the rate.
    near = p.rate * p.time_constant
    racing = minimum(maximum(magnitude(error) - near, 0.0) / p.rate, dt)
    side = 1.0
    if error < 0.0:
        side = -1.0
    left = error - side * p.rate * racing
    return command - left * exp(-(dt - racing) / p.time_constant)


@dataclass(frozen=True, kw_only=True)
class Servo:
    """Servo: its angle a follows the command c at a' = (c - a) / T, but not faster than its rate limit.

    The response is exact for a command that is held.
    """

    law: ClassVar[Any] = staticmethod(servo_angle)

    low: float = -math.pi / 4
    """Least angle [rad]."""
    high: float = math.pi / 4
    """Largest angle [rad]."""
    idle: float = 0.0
    """Angle without a command, and at the start [rad]."""
    rate_limit: float | None = None
    """Largest rate [rad/s]; none when left out."""
    time_constant: float = 0.0
    """T [s]."""

    def __post_init__(self) -> None:
        for name in ("low", "high", "idle"):
            require(math.isfinite(getattr(self, name)), name, getattr(self, name), "must be finite")
        require(self.low < self.high, "low", self.low, f"must be below high = {self.high:g} rad")
        require(
            self.low <= self.idle <= self.high,
            "idle",
            self.idle,
            f"must be from low = {self.low:g} to high = {self.high:g} rad",
        )
        require(
            self.rate_limit is None or 0.0 < self.rate_limit < math.inf,
            "rate_limit",
            self.rate_limit,
            "must be above 0 rad/s",
            "leave it out for none",
        )
        require(
            0.0 <= self.time_constant < math.inf, "time_constant", self.time_constant, "must be 0 s or more"
        )

    def parameters(self) -> ServoNumbers:
        """Return the parameters of the law."""
        rate = _FASTEST if self.rate_limit is None else self.rate_limit
        return ServoNumbers(rate, max(self.time_constant, _SHORTEST))
