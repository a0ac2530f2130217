"""Transfers: what joins the end of one part with the start of the next."""

import math

from pegasus.control.trajectories.profile import Profile
from pegasus.control.trajectories.spline import bridge
from pegasus.control.trajectories.trajectory import Point, Trajectory

_TURN_RATE = 1.5
"""Largest rate at which a heading is turned [rad/s]."""
_TURN_ACCELERATION = 2.0
"""Largest angular acceleration at which a heading is turned [rad/s^2]."""


def turn_between(start: float, end: float) -> float:
    """Return the shortest turn from one heading to another [rad], in [-pi, pi].

    Args:
        start: Heading at first [rad].
        end: Heading at last [rad].
    """
    return math.remainder(end - start, 2 * math.pi)


class Transfer(Trajectory):
    """Straight line between two points at rest, the smoothest spline between moving ones.

    A heading turns the shorter way, at most at 1.5 rad/s; where that takes longer than the way, the
    vehicle waits at the end.

    Args:
        start: Where it begins.
        end: Where it ends; keeps the heading when it has none.
        speed: Largest speed [m/s].
        acceleration: Largest acceleration [m/s^2].
        name: What the segment is called.
    """

    def __init__(
        self, start: Point, end: Point, *, speed: float, acceleration: float, name: str = "transfer"
    ) -> None:
        self.name = name
        self._start, self._end = start, end
        way = [b - a for a, b in zip(start.position, end.position, strict=True)]
        length = math.hypot(*way)
        self._direction = [w / length for w in way] if length > 0 else [0.0, 0.0, 0.0]
        self._line = Profile(length, rate=speed, acceleration=acceleration)
        straight = start.at_rest and end.at_rest
        self._spline = (
            None if straight else bridge(start.motion, end.motion, speed=speed, acceleration=acceleration)
        )
        turn = 0.0
        if start.yaw is not None and end.yaw is not None:
            turn = turn_between(start.yaw, end.yaw)
        self._side = math.copysign(1.0, turn)
        self._turn = Profile(abs(turn), rate=_TURN_RATE, acceleration=_TURN_ACCELERATION)
        moving = self._line.duration if self._spline is None else self._spline.duration
        self.duration = max(moving, self._turn.duration)
        self._turn_pace = 1.0
        if self._spline is not None:
            # A moving end cannot wait for the heading: the turn is squeezed into the spline's time.
            self.duration = moving
            self._turn_pace = max(1.0, self._turn.duration / moving)

    def sample(self, t: float) -> Point:
        """Return the point at a time since the beginning [s]."""
        yaw, yaw_rate = self._start.yaw, 0.0
        if yaw is not None and self._turn.distance > 0:
            turned, rate, _, _ = self._turn.at(t * self._turn_pace)
            yaw, yaw_rate = yaw + self._side * turned, self._side * rate * self._turn_pace
        if self._spline is not None:
            position, velocity, acceleration, jerk = self._spline.at(t)
            return Point(position, velocity, acceleration, jerk, yaw, yaw_rate)
        s, v, a, j = self._line.at(t)
        (x, y, z), (ux, uy, uz) = self._start.position, self._direction
        return Point(
            (x + ux * s, y + uy * s, z + uz * s),
            (ux * v, uy * v, uz * v),
            (ux * a, uy * a, uz * a),
            (ux * j, uy * j, uz * j),
            yaw,
            yaw_rate,
        )
