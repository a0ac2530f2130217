"""Sequences: parts flown one after the other, with transfers where they do not meet."""

import math
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate

from pegasus.components import require
from pegasus.control.trajectories.maneuvers import Land, Takeoff
from pegasus.control.trajectories.trajectory import Point, Trajectory
from pegasus.control.trajectories.transfer import Transfer, turn_between
from pegasus.errors import ConfigError

_MEETING = 1e-6
"""States and headings closer than this need no transfer."""


class Sequence(Trajectory):
    """Parts flown one after the other.

    A part without a place of its own (take-off, land, idle, hold) begins where the one before ended. A
    transfer leads from the end of a part to the start of the next where they differ in position, motion or
    heading; from the ground it climbs first. A part without a heading keeps the last one. A landing without
    a height ends at that of the sequence's start.

    Args:
        parts: Trajectories in order; only the last may last for ever. Sequences among them are taken apart.
        speed: Largest speed of the transfers [m/s].
        acceleration: Largest acceleration of the transfers [m/s^2].
        start: Where the first part is flown from; its own place when left out.

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
            raise ConfigError("must hold at least one part", field="parts")
        for index, part in enumerate(self._given[:-1]):
            if math.isinf(part.duration):
                raise ConfigError(
                    f"never ends, so the parts after it are never flown: {part.name}",
                    field=f"parts.{index}",
                    remedy="give it a duration or a number of laps, or put it last",
                )
        self.parts: list[Trajectory] = []
        """Parts and transfers as they are flown."""
        self._yaws: list[float | None] = []
        self._join(start)
        self._starts = [0.0, *accumulate(part.duration for part in self.parts)]
        self.duration = self._starts.pop()

    @property
    def lands(self) -> bool:
        """Whether it ends with a landing."""
        return isinstance(self.parts[-1], Land)

    def starting_at(self, point: Point) -> "Sequence":
        """Return the same parts flown from a point."""
        return Sequence(*self._given, speed=self._speed, acceleration=self._acceleration, start=point)

    def sample(self, t: float) -> Point:
        """Return the point at a time since the beginning [s]."""
        index = max(bisect_right(self._starts, t) - 1, 0)
        part = self.parts[index]
        point = part.sample(min(max(t - self._starts[index], 0.0), part.duration))
        yaw = self._yaws[index]
        return point if yaw is None else point._replace(yaw=yaw)

    def segment(self, t: float) -> str:
        """Return the name of the part at a time since the beginning [s]."""
        index = max(bisect_right(self._starts, t) - 1, 0)
        return self.parts[index].segment(t - self._starts[index])

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
            first = part.sample(0.0)
            if here is None:
                here = first._replace(yaw=first.yaw or 0.0) if headed else first
            if first.yaw is None:
                first = first._replace(yaw=here.yaw)
            here = self._lead(here, first)
            here = self._fly(part, here)

    def _lead(self, here: Point, there: Point) -> Point:
        """Append what leads from one point to another, if anything is needed; return where it ends."""
        if here.idle and not there.idle and there.position[2] > here.position[2] + _MEETING:
            climb = Takeoff(float(there.position[2])).starting_at(here)
            if _differ(climb.sample(climb.duration), there) and _differ(here, there):
                here = self._fly(climb, here)
        turn = 0.0 if here.yaw is None or there.yaw is None else turn_between(here.yaw, there.yaw)
        if abs(turn) > _MEETING or _differ(here, there):
            leg = Transfer(here, there, speed=self._speed, acceleration=self._acceleration)
            here = self._fly(leg, here)
        return here

    def _fly(self, part: Trajectory, here: Point) -> Point:
        """Append a part that begins where the last one ended; return where it ends."""
        self.parts.append(part)
        heading = here.yaw if part.sample(0.0).yaw is None else None
        self._yaws.append(heading)
        if math.isinf(part.duration):
            return here
        end = part.sample(part.duration)
        if heading is not None:
            end = end._replace(yaw=heading)
        return end._replace(idle=True) if isinstance(part, Land) else end


def _differ(a: Point, b: Point) -> bool:
    return any(abs(x - y) > _MEETING for k in range(3) for x, y in zip(a.motion[k], b.motion[k], strict=True))
