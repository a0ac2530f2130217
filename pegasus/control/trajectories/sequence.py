"""Sequences of trajectories, with transfers between them."""

import math
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.trajectory import Point, TimedPath, Trajectory
from pegasus.control.trajectories.maneuvers import Land, Takeoff, Transfer, turn_between

_MEETING = 1e-6
"""Tolerance of states and headings below which no transfer is needed."""


class Sequence(TimedPath):
    """Sequence of trajectories with transfers between them.

    A part without a position (take-off, land, idle, hold) starts at the end of the previous one. A transfer
    joins parts that differ in position, motion or heading; from the ground it climbs first. A part without a
    heading keeps the last one. A landing without a height ends at the height of the sequence's start.

    Args:
        parts: Trajectories in order; only the last may be endless. Nested sequences are flattened.
        speed: Largest speed of the transfers [m/s].
        acceleration: Largest acceleration of the transfers [m/s^2].
        start: Start of the first part; by default the part's own start.

    Raises:
        ConfigError: If there are no parts, one before the last never ends, or a limit is not positive.
    """

    name = "sequence"

    def __init__(
        self, *parts: Trajectory, speed: float = 2.0, acceleration: float = 2.0, start: Point | None = None
    ) -> None:
        require(speed > 0, "speed", speed, "must be above 0 m/s")
        require(acceleration > 0, "acceleration", acceleration, "must be above 0 m/s^2")
        self._given: list[Trajectory] = []
        for index, part in enumerate(parts):
            trajectory = isinstance(part, Trajectory)
            require(trajectory, f"parts.{index}", part, "must be a trajectory", "such as takeoff(height=2.0)")
            self._given += part._given if isinstance(part, Sequence) else [part]
        self._speed, self._acceleration = speed, acceleration
        if not self._given:
            raise ConfigError("must have at least one part", field="parts")
        for index, part in enumerate(self._given[:-1]):
            if math.isinf(part.duration):
                raise ConfigError(
                    f"is endless, so the parts after it are never flown: {part.name}",
                    field=f"parts.{index}",
                    remedy="give it a duration or a number of laps, or put it last",
                )
        self.parts: list[Trajectory] = []
        """Parts and transfers in order of flight."""
        self._yaws: list[float | None] = []
        self._join(start)
        self._starts = [0.0, *accumulate(part.duration for part in self.parts)]
        self.duration = self._starts.pop()

    @property
    def lands(self) -> bool:
        """Whether it ends with a landing."""
        return isinstance(self.parts[-1], Land)

    def starting_at(self, point: Point) -> "Sequence":
        """Return the same parts from another start."""
        return Sequence(*self._given, speed=self._speed, acceleration=self._acceleration, start=point)

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        found, first = [], 0
        while first < len(times):
            points, idle, _ = self.ahead(times[first:])
            found.append((points, idle))
            first += len(points)
        return np.concatenate([points for points, _ in found]), np.concatenate([idle for _, idle in found])

    def attitudes(self, times: Array) -> Array | None:
        """Return the attitudes that parts ask for, zeros where one asks for none; None if none asks."""
        start = np.zeros(1)
        if all(part.attitudes(start) is None for part in self.parts):
            return None
        found = np.zeros((len(times), 7))
        index = np.array([self._index(t) for t in times.tolist()])
        for k in np.unique(index).tolist():
            rows, part = index == k, self.parts[k]
            elapsed = np.minimum(np.maximum(times[rows] - self._starts[k], 0.0), part.duration)
            turned = part.attitudes(elapsed)
            if turned is not None:
                found[rows] = turned
        return found

    def segment(self, t: float) -> str:
        """Return the name of the part at a time since the start [s]."""
        index = self._index(t)
        return self.parts[index].segment(t - self._starts[index])

    def ahead(self, times: Array) -> tuple[Array, Array, str]:
        """Return the points at the leading times that belong to one part, and the name of the part.

        Args:
            times: Rising times since the start [s], shape (n,).

        Returns:
            The points as by `samples`, and the name.
        """
        index = self._index(float(times[0]))
        part = self.parts[index]
        if index + 1 < len(self.parts):
            times = times[times < self._starts[index + 1]]
        elapsed = times - self._starts[index]
        name = part.segment(float(elapsed[0]))
        if type(part).segment is not Trajectory.segment:
            names = [part.segment(t) for t in elapsed.tolist()]
            elapsed = elapsed[: next((k for k, other in enumerate(names) if other != name), None)]
        points, idle = part.samples(np.minimum(np.maximum(elapsed, 0.0), part.duration))
        yaw = self._yaws[index]
        if yaw is not None:
            points[:, 12] = yaw
        return points, idle, name

    def _index(self, t: float) -> int:
        return max(bisect_right(self._starts, t) - 1, 0)

    def _join(self, start: Point | None) -> None:
        ground = 0.0 if start is None else float(start.position[2])
        headed = any(part.sample(0.0).yaw is not None for part in self._given)
        here = start
        if here is not None:
            here = here._replace(yaw=(here.yaw or 0.0) if headed else None)
        for part in self._given:
            if isinstance(part, Land) and part.height is None:
                part = replace(part, height=ground)
            if here is not None:
                part = part.starting_at(here)
            first = part.complete(0.0)
            if here is None:
                here = first._replace(yaw=first.yaw or 0.0) if headed else first
            turns = first.yaw is not None
            here = self._lead(here, first if turns else first._replace(yaw=here.yaw))
            here = self._fly(part, here, turns=turns)

    def _lead(self, here: Point, there: Point) -> Point:
        """Append the transfer between two points, if one is needed; return its end."""
        if here.idle and not there.idle and there.position[2] > here.position[2] + _MEETING:
            climb = Takeoff(float(there.position[2])).starting_at(here)
            if _differ(climb.sample(climb.duration), there) and _differ(here, there):
                here = self._fly(climb, here, turns=False)
        turn = 0.0 if here.yaw is None or there.yaw is None else turn_between(here.yaw, there.yaw)
        if abs(turn) > _MEETING or _differ(here, there):
            leg = Transfer(here, there, speed=self._speed, acceleration=self._acceleration)
            here = self._fly(leg, here, turns=here.yaw is not None)
        return here

    def _fly(self, part: Trajectory, here: Point, *, turns: bool) -> Point:
        """Append a part, which may have headings; return its end."""
        self.parts.append(part)
        heading = None if turns else here.yaw
        self._yaws.append(heading)
        if math.isinf(part.duration):
            return here
        end = part.complete(part.duration)
        if heading is not None:
            end = end._replace(yaw=heading)
        return end._replace(idle=True) if isinstance(part, Land) else end


def _differ(a: Point, b: Point) -> bool:
    return any(abs(x - y) > _MEETING for k in range(3) for x, y in zip(a.motion[k], b.motion[k], strict=True))
