"""Check of whole flights against the world's terrain before they are flown."""

import math
from collections.abc import Sequence

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.contracts.engine import RayHits
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.control.mission import Course
from pegasus.control.trajectories import sequence
from pegasus.control.trajectories.maneuvers import Land

_MOST = 500
"""Largest number of stretches of all flights."""
_LEAST = 20
"""Least number of them for each flight."""
_FLIGHTS = 25
"""Largest number of flights that are looked at, evenly spread over the copies."""
_HORIZON = 200.0
"""Time of an endless flight that is looked at [s]."""
_LEVEL = 0.5
"""Least vertical component of the normal of ground, which is steeper than a slope of 60 degrees elsewhere."""
_DEEPEST = 1e4
"""Largest depth that is found [m]."""
_LIFT = 0.01
"""Height by which paths are lifted, so that one on the ground does not pass through it [m]."""


def deepest_dip(vehicle: EquippedVehicle, courses: Sequence[Course]) -> tuple[str, str] | None:
    """Return where flights from where the copies stand are deepest below the ground, and the remedy; or None.

    A path passes through the ground where it meets a surface that looks up; landings may.

    Args:
        vehicle: The vehicle, in its simulation.
        courses: Courses of the copies, one each, or one that all share; none of guided ones.
    """
    if not courses:
        return None
    copies = np.unique(np.linspace(0, vehicle.count - 1, _FLIGHTS).round().astype(np.int64)).tolist()
    count = max(_MOST // len(copies), _LEAST)
    shared = len(courses) == 1 and not courses[0].differs(vehicle.state)
    origin, flight = courses[0].origin_of(vehicle.state), courses[0].flight_from(vehicle.state, 0)
    dips = []
    for k in copies:
        if k and not shared:
            flight = courses[k % len(courses)].flight_from(vehicle.state, k)
        dips.append(_Path(vehicle, k, flight, origin[k], count).dip())
    depth, figure = max(filter(None, dips), key=lambda dip: dip[0], default=(0.0, ""))
    return (figure, f"raise it by {math.ceil(10.0 * depth) / 10.0:.1f} m") if figure else None


class _Path:
    """A flight of one copy at equidistant instants.

    Args:
        vehicle: The vehicle.
        copy: Index of the copy.
        flight: Its flight.
        origin: Origin of the flight in the world [m], shape (3,).
        count: Number of stretches.
    """

    def __init__(
        self, vehicle: EquippedVehicle, copy: int, flight: sequence, origin: Array, count: int
    ) -> None:
        self._vehicle, self._row = vehicle, np.array([copy])
        self._flight = flight
        self._times: Array = min(flight.duration, _HORIZON) / count * np.arange(count + 1, dtype=np.float64)
        self._places: Array = flight.samples(self._times)[0][:, :3] + origin + (0.0, 0.0, _LIFT)

    def dip(self) -> tuple[float, str] | None:
        """Return depth [m], time and place of the deepest point of the first stretch below the ground."""
        times, places = self._times, self._places
        landing = np.array([self._flight.segment(t) == Land.name for t in times.tolist()])
        first = self._entry(~landing[:-1])
        if first is None:
            return None
        end = first + int(landing[first:].argmax()) if landing[first:].any() else len(times)
        depth = self._depths(places[first:end])
        out = np.flatnonzero(depth <= _LIFT)
        k = int(depth[: out[0] if len(out) and out[0] else None].argmax())
        deepest, t = max(float(depth[k]), _LIFT), float(times[first + k])
        place = ", ".join(f"{value:.1f}" for value in places[first + k])
        where = f"{self._flight.segment(t)} at {t:.1f} s, ({place}) m,"
        return deepest, f"{where} is {deepest:.2g} m below the ground"

    def _entry(self, looked_at: BoolArray) -> int | None:
        """Return the number of the first instant after the path has passed through ground from above."""
        steps = np.diff(self._places, axis=0)
        lengths = np.sqrt((steps * steps).sum(axis=1))
        moving = np.flatnonzero((lengths > 1e-6) & looked_at)
        if not len(moving):
            return None
        directions = steps[moving] / lengths[moving, None]
        hits = self._cast(self._places[moving], directions, float(lengths.max()))
        entered = (hits.distance < lengths[moving]) & (hits.body < 0) & (hits.normal[:, 2] > _LEVEL)
        entered &= (hits.normal * directions).sum(axis=1) < 0.0
        return int(moving[entered.argmax()]) + 1 if entered.any() else None

    def _depths(self, places: Array) -> Array:
        """Return the depths of places below the highest surface there [m], negative above it."""
        above, down = places.copy(), np.zeros_like(places)
        above[:, 2], down[:, 2] = float(self._places[:, 2].max()) + 1.0, -1.0
        depths: Array = above[:, 2] - self._cast(above, down, _DEEPEST).distance - (places[:, 2] - _LIFT)
        return depths

    def _cast(self, origins: Array, directions: Array, max_range: float) -> RayHits:
        return self._vehicle.manager.cast(self._vehicle, origins, directions, max_range, rows=self._row)
