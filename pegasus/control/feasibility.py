"""Check of whole flights against a vehicle before they are flown: tilt, thrust and turning."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.control.airloads import Airframe
from pegasus.control.approach import LOWEST
from pegasus.control.trajectories import sequence

_SPACING = 0.02
"""Time between the instants that are looked at, at least [s]."""
_MOST = 10_000
"""Largest number of these instants for all flights of a controller."""
_LEAST = 100
"""Least number of them for each flight."""
_MOST_AIR = 1000
"""Largest number of instants at which the air's forces are found, for all flights; between them they are
linear."""
_LEAST_AIR = 25
"""Least number of them for each flight, and a fifth of the largest number for one."""
_HORIZON = 200.0
"""Time of an endless flight that is looked at [s]."""
_WINDOW = 0.1
"""Time over which the change of the body rates is taken: about that of the motors [s]."""
_ROUNDING = 1.002
"""Excess by the limit that counts as none."""
_SPARE_TILT = 0.05
"""Tilt beyond that of the reference that a remedy leaves to the control [rad]."""
_LIGHTEST = 0.6
"""Least share of its mass that a vehicle can be asked to keep."""
_SLOWEST = 4.0
"""Largest factor of the time that is tried as a remedy."""


@dataclass(frozen=True)
class Limits:
    """Limits of a vehicle and its controller."""

    gravity: Array
    """Acceleration of free fall [m/s^2], shape (3,)."""
    thrust: float
    """Largest thrust for acceleration by mass in still air [m/s^2]; infinite if not known."""
    tilt: float
    """Largest commanded tilt [rad]; infinite without a limit."""
    turning: float
    """Angular acceleration about the roll and pitch axes that the rotors have in hover [rad/s^2]."""
    airframe: Airframe
    """Models of drag and thrust."""


@dataclass(frozen=True)
class _Needs:
    """Thrust, tilt and turning that a flight requires at n instants, relative to the limits."""

    free: Array
    """Acceleration by the rotors without drag [m/s^2], shape (n, 3)."""
    drag: Array
    """Drag by mass [m/s^2], shape (n, 3)."""
    tilt: Array
    """Tilt [rad], shape (n,)."""
    thrust: Array
    """Thrust by mass [m/s^2], shape (n,)."""
    available: Array
    """Largest thrust by mass [m/s^2], shape (n,)."""
    turning: Array
    """Angular acceleration [rad/s^2], shape (n,)."""

    def ratios(self, limits: Limits) -> Array:
        """Return tilt, thrust and turning by their limits, shape (3, n)."""
        return np.stack(
            [self.tilt / limits.tilt, self.thrust / self.available, self.turning / limits.turning]
        )


def excess_of(flights: list[sequence], limits: list[Limits]) -> tuple[str, str] | None:
    """Return what of several flights exceeds the vehicle most, and the remedy; None if nothing does.

    A flight is looked at every 0.02 s, or more seldom if it is long or one of many; its drag at 200 instants
    or less, in the mean wind.

    Args:
        flights: The flights.
        limits: Limits of the vehicle that flies each.
    """
    looks = [_Look(flight, own, len(flights)) for flight, own in zip(flights, limits, strict=True)]
    kinds = np.array([look.ratios.max(axis=1) for look in looks])
    exceeded = np.flatnonzero(kinds.max(axis=0) > _ROUNDING).tolist()
    if not exceeded:
        return None
    figures, own_remedies = [], []
    for kind in exceeded:
        figure, remedy = looks[int(kinds[:, kind].argmax())].worst(kind)
        figures.append(figure)
        own_remedies.append(remedy)
    slower = max(look.slower() for look in looks if look.ratios.max() > _ROUNDING)
    remedies = [] if math.isinf(slower) else [f"fly it {slower:.2f} times slower"]
    problem = "exceeds the vehicle: " + "; ".join(figures)
    return problem, ", or ".join([*remedies, " and ".join(own_remedies)])


class _Look:
    """A flight at equidistant instants, compared with a vehicle.

    Args:
        flight: The flight.
        limits: The vehicle.
        flight_count: Number of flights that are looked at.
    """

    def __init__(self, flight: sequence, limits: Limits, flight_count: int) -> None:
        self._flight, self._limits = flight, limits
        duration = min(flight.duration, _HORIZON)
        most = max(_MOST // flight_count, _LEAST)
        count = min(max(math.ceil(duration / _SPACING), 2), most)
        self._step = duration / count
        self._times: Array = self._step * np.arange(count + 1, dtype=np.float64)
        self._points, self._idle = flight.samples(self._times)
        aired = min(max(_MOST_AIR // flight_count, _LEAST_AIR), _MOST_AIR // 5, count + 1)
        self._aired = np.linspace(0, count, aired).round().astype(np.int64)
        self._needs = self._needed(1.0)
        self.ratios = self._needs.ratios(limits)
        """Tilt, thrust and turning by their limits, shape (3, n)."""

    def worst(self, kind: int) -> tuple[str, str]:
        """Return the largest need of tilt (0), thrust (1) or turning (2) in words, and its own remedy."""
        needs, limits, k = self._needs, self._limits, int(self.ratios[kind].argmax())
        weight = math.sqrt(float((limits.gravity * limits.gravity).sum()))
        place = f"{self._flight.segment(float(self._times[k]))} at {self._times[k]:.1f} s"
        if kind == 0:
            steepest = float(needs.tilt[k])
            enough = min(math.ceil(100.0 * (steepest + _SPARE_TILT)), 314) / 100.0
            tilts = f"{math.degrees(steepest):.0f} degrees, {math.degrees(limits.tilt):.0f} are allowed"
            return f"{place} needs a tilt of {tilts}", f"raise tilt_limit to {enough:.2f}"
        if kind == 1:
            thrusts = f"{needs.thrust[k] / weight:.3g} times the weight, {needs.available[k] / weight:.3g}"
            share = self._light_enough()
            lighter = f"lower the mass to {math.floor(1e3 * share * limits.airframe.mass) / 1e3:g} kg"
            remedy = lighter if share > _LIGHTEST else "take a stronger vehicle"
            return f"{place} needs {thrusts} are available", remedy
        angular = f"{needs.turning[k]:.0f} rad/s^2, {limits.turning:.0f} are available"
        return f"{place} turns with {angular}", "smooth its corners"

    def slower(self) -> float:
        """Return the least factor of the time with which the flight stays within the limits."""
        low, high = 1.0, _SLOWEST
        if self._needed(high).ratios(self._limits).max() > 1.0:
            return math.inf
        while high - low > 0.005:
            middle = 0.5 * (low + high)
            fits = self._needed(middle).ratios(self._limits).max() <= 1.0
            low, high = (low, middle) if fits else (middle, high)
        return math.ceil(100.0 * high) / 100.0

    def _needed(self, factor: float) -> _Needs:
        """Return what the flight needs if its time is longer by a factor."""
        limits, points, step = self._limits, self._points.copy(), factor * self._step
        for k in (1, 2, 3):
            points[:, 3 * k : 3 * k + 3] /= factor**k
        free = points[:, 6:9] - limits.gravity
        few = self._aired
        drags, shares = limits.airframe.loads(points[few], free[few])
        drag = np.stack([np.interp(self._times, self._times[few], drags[:, k]) for k in range(3)], axis=1)
        share = np.interp(self._times, self._times[few], shares)
        force = free - drag
        size = np.sqrt((force * force).sum(axis=1))
        # Nearly without thrust its direction is free.
        directed = (self._idle == 0) & (size > LOWEST)
        axis = force / np.maximum(size, LOWEST)[:, None]
        tilt = np.where(directed, np.arccos(np.clip(axis[:, 2], -1.0, 1.0)), 0.0)
        turning = _turning(points[:, 9:12], axis, size, directed, step=step)
        return _Needs(free, drag, tilt, np.where(self._idle, 0.0, size), limits.thrust * share, turning)

    def _light_enough(self) -> float:
        """Return the share of the mass at which the thrust suffices: |m a - D| = T at the worst instant."""
        needs = self._needs
        square = (needs.free * needs.free).sum(axis=1)
        along = (needs.free * needs.drag).sum(axis=1)
        rest = (needs.drag * needs.drag).sum(axis=1) - needs.available * needs.available
        share = (along + np.sqrt(np.maximum(along * along - square * rest, 0.0))) / np.maximum(square, 1e-12)
        return float(share[self._idle == 0].min())


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
