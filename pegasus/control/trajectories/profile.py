"""How far along a path: rest to rest with limited rate and acceleration and continuous jerk."""

import math

# Largest slope of the quintic smooth step.
_STEEPEST = 15 / 8


class Profile:
    """Progress from 0 to a distance: ramp up, cruise, ramp down.

    The rate follows the smooth step s(x) = 10 x^3 - 15 x^4 + 6 x^5 over each ramp, so that rate,
    acceleration and jerk are continuous and zero at both ends. A distance too short for the rate is
    covered at a lower one.

    Args:
        distance: What is covered, in metres or radians; not negative, may be infinite.
        rate: Rate of the cruise, by second.
        acceleration: Largest acceleration, by second squared.
    """

    def __init__(self, distance: float, *, rate: float, acceleration: float) -> None:
        self.distance = distance
        self._rate = min(rate, math.sqrt(distance * acceleration / _STEEPEST))
        self._ramp = _STEEPEST * self._rate / acceleration
        self.duration = distance / self._rate + self._ramp if distance > 0 else 0.0

    def at(self, t: float) -> tuple[float, float, float, float]:
        """Return progress, rate, acceleration and jerk at a time; at rest before 0 and after `duration`.

        Args:
            t: Time since the beginning [s].
        """
        left = self.duration - t
        if t <= 0.0 or left <= 0.0:
            return (0.0 if t <= 0.0 else self.distance), 0.0, 0.0, 0.0
        ramp, rate = self._ramp, self._rate
        if t >= ramp and left >= ramp:
            return rate * (t - 0.5 * ramp), rate, 0.0, 0.0
        rising = t < left
        x = (t if rising else left) / ramp
        y = 1.0 - x
        covered = rate * ramp * x**4 * (2.5 - 3.0 * x + x * x)
        slope = 30.0 * (x * y) ** 2 * rate / ramp
        return (
            covered if rising else self.distance - covered,
            rate * x**3 * (10.0 - 15.0 * x + 6.0 * x * x),
            slope if rising else -slope,
            60.0 * x * y * (y - x) * rate / (ramp * ramp),
        )
