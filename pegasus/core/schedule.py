"""Schedules: the physics steps at which a sensor is due."""

from fractions import Fraction

from pegasus.base.errors import ConfigError

_LOWEST_RATE = 1e-3  # [Hz]


def exact(number: float) -> Fraction:
    """Return the simple fraction that a number of a file stands for."""
    return Fraction(number).limit_denominator(10**6)


class Schedule:
    """Physics steps at which a sensor is due; its long-run rate is exact.

    The k-th reading is due at k / rate. It is taken at the first step whose time is not before that;
    integers are compared, so no error accumulates.

    Args:
        rate_hz: Rate of the sensor [Hz].
        physics_rate_hz: Rate of the physics [Hz].
        name: Name of the sensor, for the error message.

    Raises:
        ConfigError: If the rate is below 0.001 Hz or above the rate of the physics.
    """

    def __init__(self, rate_hz: float, physics_rate_hz: float, *, name: str) -> None:
        if not _LOWEST_RATE <= rate_hz <= physics_rate_hz:
            raise ConfigError(
                f"must be {_LOWEST_RATE:g} Hz or more and at most the physics rate of {physics_rate_hz:g} Hz",
                field=f"sensors.{name}.rate_hz",
                value=rate_hz,
                remedy="lower the sensor's rate or raise the simulation's",
            )
        self._numerator, self._denominator = (exact(physics_rate_hz) / exact(rate_hz)).as_integer_ratio()
        self._due = 0

    def due(self, step: int) -> bool:
        """Return whether a reading is due at a step, and advance to the next one if so.

        Args:
            step: Number of the physics step, counted from 0; must not decrease between calls.
        """
        if step < self._due:
            return False
        self._due = self.next(step)
        return True

    @property
    def period(self) -> int:
        """Number of steps after which the schedule repeats."""
        return self._numerator

    def number(self, step: int) -> int:
        """Return the number of the last reading that is due at a step or before, counted from 0."""
        return step * self._denominator // self._numerator

    def falls_on(self, step: int) -> bool:
        """Return whether a step is the first at or after the instant of a reading."""
        return self.number(step) > self.number(step - 1)

    def next(self, step: int) -> int:
        """Return the first step after a step that a reading falls on."""
        return -(-(self.number(step) + 1) * self._numerator // self._denominator)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self._ratio() == other._ratio()

    def __hash__(self) -> int:
        return hash(self._ratio())

    def _ratio(self) -> tuple[int, int]:
        return self._numerator, self._denominator
