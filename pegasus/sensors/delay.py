"""The recent past of a vehicle, for sensors that tell late what was."""

from collections import deque
from typing import NamedTuple

from pegasus.arrays import Array
from pegasus.frames import (
    conjugate,
    cross,
    multiply,
    quaternion_from_rotation_vector,
    rotation_vector_from_quaternion,
)
from pegasus.state import VehicleState


def hermite(
    start: Array, start_rate: Array, end: Array, end_rate: Array, *, share: float, dt: float
) -> Array:
    """Return the cubic that has given values and rates at both ends of an interval, at a share of it.

    Args:
        start: Value at the start, shape (N, 3).
        start_rate: Its rate there, shape (N, 3).
        end: Value at the end, shape (N, 3).
        end_rate: Its rate there, shape (N, 3).
        share: Share of the interval that has passed, 0 to 1.
        dt: Length of the interval [s].
    """
    s, r = share, 1 - share
    values = (1 + 2 * s) * r * r * start + (1 + 2 * r) * s * s * end
    return values + (s * r * r * dt) * start_rate - (s * s * r * dt) * end_rate


def hermite_orientation(
    start: Array, start_rate: Array, end: Array, end_rate: Array, *, share: float, dt: float
) -> Array:
    """Return the orientation between two, by a cubic of the rotation vector from the first, shape (N, 4).

    The vector's rate at the end is the angular velocity w + v x w / 2 + ..., v being the vector there; what
    is left out makes an error of the cubic's own order.

    Args:
        start: Orientation at the start, unit quaternion, shape (N, 4).
        start_rate: Angular velocity there, in the body frame [rad/s], shape (N, 3).
        end: Orientation at the end, shape (N, 4).
        end_rate: Angular velocity there, in the body frame [rad/s], shape (N, 3).
        share: Share of the interval that has passed, 0 to 1.
        dt: Length of the interval [s].
    """
    turn = rotation_vector_from_quaternion(multiply(conjugate(start), end))
    turn_rate = end_rate + cross(turn, end_rate) / 2
    vector = hermite(turn * 0.0, start_rate, turn, turn_rate, share=share, dt=dt)
    return multiply(start, quaternion_from_rotation_vector(vector))


class Moment(NamedTuple):
    """How N vehicles moved at one instant."""

    time: float
    """Simulation time [s]."""
    position: Array
    """Position in the world [m], shape (N, 3)."""
    velocity: Array
    """Velocity in the world [m/s], shape (N, 3)."""
    orientation: Array
    """Unit quaternion xyzw, body to world, shape (N, 4)."""
    angular_velocity: Array
    """Angular velocity in the body frame [rad/s], shape (N, 3)."""


class Instant(NamedTuple):
    """An instant between two known moments."""

    time: float
    """Simulation time [s]."""
    before: Moment
    """Moment at or before it."""
    after: Moment
    """Moment after it; the same one where none is needed."""

    def translation(self) -> tuple[Array, Array]:
        """Return position [m] and velocity [m/s] in the world, each of shape (N, 3) and not to be changed."""
        a, b = self.before, self.after
        if a is b:
            return a.position, a.velocity
        share, dt = self._share()
        position = hermite(a.position, a.velocity, b.position, b.velocity, share=share, dt=dt)
        return position, a.velocity + share * (b.velocity - a.velocity)

    def rotation(self) -> tuple[Array, Array]:
        """Return orientation, shape (N, 4), and angular velocity in the body frame [rad/s], shape (N, 3).

        Neither is to be changed.
        """
        a, b = self.before, self.after
        rates = a.angular_velocity, b.angular_velocity
        if a is b:
            return a.orientation, rates[0]
        share, dt = self._share()
        orientation = hermite_orientation(
            a.orientation, rates[0], b.orientation, rates[1], share=share, dt=dt
        )
        return orientation, rates[0] + share * (rates[1] - rates[0])

    def _share(self) -> tuple[float, float]:
        """Return the share of the interval that has passed, and its length [s]."""
        dt = self.after.time - self.before.time
        return (self.time - self.before.time) / dt, dt


class History:
    """How N vehicles moved, from the instant that was last asked for until now."""

    def __init__(self) -> None:
        self._moments: deque[Moment] = deque()

    def __len__(self) -> int:
        """Return the number of moments kept."""
        return len(self._moments)

    def add(self, t: float, state: VehicleState) -> None:
        """Remember a state.

        Args:
            t: Simulation time, later than the last one [s].
            state: True state at t; it is copied.
        """
        self._moments.append(
            Moment(
                t,
                state.position.copy(),
                state.velocity.copy(),
                state.orientation.copy(),
                state.angular_velocity.copy(),
            )
        )

    def at(self, t: float) -> Instant:
        """Return the instant t, or the oldest known one if that is later; forget what was before it.

        Args:
            t: Simulation time, not before the one of the last call and not after the last state [s].
        """
        moments = self._moments
        while len(moments) > 1 and moments[1].time <= t:
            moments.popleft()
        before = moments[0]
        if t <= before.time or len(moments) == 1:
            return Instant(before.time, before, before)
        return Instant(t, before, moments[1])
