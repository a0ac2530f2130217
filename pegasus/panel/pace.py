"""How fast simulated time passes by wall time: when the next step is due, and the speed that is reached."""

from pegasus.components import require

LOWEST_SPEED, HIGHEST_SPEED = 0.1, 1000.0

_LARGEST_LAG = 0.25
_SPAN = 1.0
"""Wall time over which the speed that is reached is measured [s]."""


class Pace:
    """Keep simulated time from running ahead of wall time times a speed."""

    def __init__(self) -> None:
        self.speed: float | None = 1.0
        """Wanted speed in times real time; None for as fast as it goes."""
        self.real_time_factor = 0.0
        """Speed that was reached over the last second, in times real time."""
        self._mark = self._factor_mark = 0.0, 0.0

    @staticmethod
    def check(speed: float | None) -> None:
        """Raise a ConfigError unless a speed is allowed.

        Args:
            speed: Times real time; None for as fast as it goes.
        """
        allowed = f"must be from {LOWEST_SPEED:g} to {HIGHEST_SPEED:g} times real time, or max"
        require(speed is None or LOWEST_SPEED <= speed <= HIGHEST_SPEED, "speed", speed, allowed)

    def begin(self, now: float, time: float) -> None:
        """Count from here on.

        Args:
            now: Wall time [s].
            time: Simulated time [s].
        """
        self._mark = self._factor_mark = now, time
        self.real_time_factor = 0.0

    def wait(self, now: float, time: float) -> float:
        """Return how long it is until the next step is due [s]; 0 if it is.

        Args:
            now: Wall time [s].
            time: Simulated time [s].
        """
        if self.speed is None:
            return 0.0
        began, first = self._mark
        ahead = (time - first) / self.speed - (now - began)
        if ahead < -_LARGEST_LAG:
            # What is lost is lost: no burst of hurried steps afterwards.
            self._mark = now, time
        return max(ahead, 0.0)

    def measure(self, now: float, time: float) -> None:
        """Bring the speed that is reached up to date.

        Args:
            now: Wall time [s].
            time: Simulated time [s].
        """
        began, first = self._factor_mark
        if now - began >= _SPAN:
            self.real_time_factor = (time - first) / (now - began)
            self._factor_mark = now, time
