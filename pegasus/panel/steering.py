"""Flight by hand: the built-in controllers follow points and velocities that are given while they fly."""

import math
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Any

import numpy as np

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.control import CascadedPIDController, Controller, GeometricController, Mission
from pegasus.control.plan import Plan
from pegasus.control.trajectories import Point, Trajectory, hold, sequence
from pegasus.errors import ConfigError
from pegasus.state import VehicleState

_APPROACH = 0.7
"""Velocity of the reference by its distance from the target [1/s]."""
_RESPONSE = 3.0
"""Acceleration of the reference by what its velocity lacks [1/s]."""
_ACCELERATION_LAG = 0.1
"""Time constant of the reference's acceleration [s]."""
_LEASH = 1.5
"""How far the reference may be ahead of a vehicle, such as one that is held up by a wall [m]."""
_SINK_RATE = 0.5
_SETTLED_LEAD = 0.3
"""A reference that has sunk this far below a vehicle at rest has met the ground [m]."""
_CLIMBED = 0.1
"""A climb is over this near to its height [m]."""


class Mode(Enum):
    """What a steered vehicle does."""

    TARGET = "target"
    VELOCITY = "velocity"
    LAND = "land"


class Steering(Mission):
    """Lead N vehicles by hand: take off, then go to points, follow velocities, and land.

    The reference moves like a vehicle would: with limited speed and acceleration, and ahead of no vehicle by
    more than a leash. The copies keep their places in the formation in which they took off.

    Args:
        count: Number of vehicles N.
        spin_up: How long the rotors idle before take-off [s].
        height: How far they climb at take-off [m].
        speed: Largest speed towards a point [m/s].
        acceleration: Largest acceleration [m/s^2].
    """

    def __init__(
        self, *, count: int, spin_up: float, height: float, speed: float, acceleration: float
    ) -> None:
        super().__init__(sequence(hold(height=height)), count=count, relative=True, spin_up=spin_up)
        self._climb, self._speed, self._most = height, speed, acceleration
        self.duration = math.inf
        self.mode = Mode.TARGET
        self._target = np.zeros((count, 3))
        self._formation = np.zeros((count, 3))
        self._velocity, self._yaw_rate = np.zeros(3), 0.0
        self._time = math.nan
        self._taking_off = False

    def hover(self) -> None:
        """Stay where it is now; take off if it stands, and finish that if it is at it."""
        if self.finished:
            self.finished, self._begin = False, math.nan
        if self.airborne and not self._taking_off:
            self._target[...] = self.reference.position
        self._switch(Mode.TARGET)

    def go_to(self, point: Array) -> None:
        """Fly straight to a point, the middle of the formation.

        Args:
            point: The point [m], shape (3,).

        Raises:
            ConfigError: If they are not in the air.
        """
        if not self.airborne:
            raise ConfigError("is not in the air", field="vehicle", remedy="let it take off first")
        self._target[...] = point + self._formation
        self._taking_off = False
        self._switch(Mode.TARGET)

    def fly(self, velocity: Array, yaw_rate: float) -> None:
        """Fly at a velocity until told otherwise.

        Args:
            velocity: Velocity forward, left and up, seen along the heading [m/s], shape (3,).
            yaw_rate: Rate of the heading, counter-clockwise [rad/s].

        Raises:
            ConfigError: If they are not in the air.
        """
        if not self.airborne:
            raise ConfigError("is not in the air", field="vehicle", remedy="let it take off first")
        self._velocity, self._yaw_rate = np.array(velocity, dtype=np.float64), yaw_rate
        self._taking_off = False
        self._switch(Mode.VELOCITY)

    def release(self) -> None:
        """Stay where it is now if it flies at a velocity."""
        if self.mode is Mode.VELOCITY:
            self.hover()

    def land(self) -> None:
        """Sink until the ground is felt, and stop the rotors; nothing changes for those who stand."""
        if self.airborne:
            self._taking_off = False
            self._switch(Mode.LAND)

    def plan(self, t: float) -> Plan | None:
        """Return the straight way to the target; None where it follows a velocity."""
        if not self.airborne or self.mode is not Mode.TARGET:
            return None
        here, there = self.reference.position, self._target
        way = _Straight(tuple(here[0].tolist()), tuple(there[0].tolist()))
        return Plan(way, 0.0, here - here[0])

    def update(self, t: float, state: VehicleState) -> None:
        """Bring the reference to time t.

        Args:
            t: Simulation time [s].
            state: True state at t.
        """
        dt = 0.0 if math.isnan(self._time) else t - self._time
        self._time = t
        if not self.airborne:
            self._stand_by(t, state)
            return
        self._move(dt)
        lead = self.reference.position - state.position
        length = np.sqrt((lead * lead).sum(axis=1, keepdims=True))
        self.reference.position[...] = state.position + lead * np.minimum(1.0, _LEASH / (length + 1e-12))
        if self.mode is Mode.LAND:
            self._touch_down(state, lead)

    def _switch(self, mode: Mode) -> None:
        self.mode = mode
        self.reference.segment = mode.value if self.airborne else self.reference.segment
        if mode is not Mode.LAND:
            self.landing = False
            self.landed[...] = False

    def _stand_by(self, t: float, state: VehicleState) -> None:
        reference = self.reference
        self._motion[0] = state.position
        if self.finished:
            return
        if math.isnan(self._begin):
            self._begin = t
            reference.yaw[...] = np.arctan2(state.rotation[:, 1, 0], state.rotation[:, 0, 0])
        if t - self._begin < self._spin_up:
            return
        self.airborne, reference.idle[...] = True, False
        self._motion[1:] = 0.0
        middle = state.position.mean(axis=0)
        self._formation = state.position - middle
        self._target = state.position + np.array([0.0, 0.0, self._climb])
        self._taking_off = True
        self._switch(Mode.TARGET)

    def _move(self, dt: float) -> None:
        """Move the reference on by a time."""
        position, velocity, acceleration, jerk = self._motion
        reference = self.reference
        reference.yaw_rate[...] = 0.0
        if self._taking_off and np.abs(self._target - position).max() < _CLIMBED:
            self._taking_off = False
        if self.mode is Mode.TARGET:
            wanted = _limited(_APPROACH * (self._target - position), self._speed)
        elif self.mode is Mode.VELOCITY:
            c, s = np.cos(reference.yaw), np.sin(reference.yaw)
            forward, left, up = self._velocity
            wanted = np.stack([c * forward - s * left, s * forward + c * left, 0.0 * c + up], axis=1)
            reference.yaw_rate[...] = self._yaw_rate
        else:
            wanted = np.zeros_like(velocity)
            wanted[:, 2] = -_SINK_RATE
        asked = _limited(_RESPONSE * (wanted - velocity), self._most)
        jerk[...] = (asked - acceleration) / _ACCELERATION_LAG
        acceleration += jerk * min(dt, _ACCELERATION_LAG)
        velocity += acceleration * dt
        position += velocity * dt
        reference.yaw += reference.yaw_rate * dt

    def _touch_down(self, state: VehicleState, lead: Array) -> None:
        at_rest = (state.velocity * state.velocity).sum(axis=1) < (0.5 * _SINK_RATE) ** 2
        self.landed |= at_rest & (lead[:, 2] < -_SETTLED_LEAD)
        self.landing = bool(self.landed.any())
        if self.landed.all():
            self.airborne, self.finished = False, True
            self._motion[1:] = 0.0
            self.reference.yaw_rate[...] = 0.0
            self.reference.idle[...] = True
            self.reference.segment = "landed"


@dataclass(frozen=True)
class _Straight(Trajectory):
    """A straight line, to be looked at."""

    start: tuple[float, ...]
    end: tuple[float, ...]

    duration = 1.0

    def sample(self, t: float) -> Point:
        here = np.array(self.start)
        return Point(tuple((here + (np.array(self.end) - here) * min(max(t, 0.0), 1.0)).tolist()))


@dataclass(eq=False)
class Steered(Controller):
    """A controller that is steered by hand: it takes off, hovers, and does what it is told.

    Mix it in before a controller; its trajectory is not used.
    """

    trajectory: Any = None
    _: KW_ONLY
    height: float = 1.5
    """How far it climbs at take-off [m]."""
    speed: float = 3.0
    """Largest speed towards a point [m/s]."""
    acceleration: float = 3.0
    """Largest acceleration of what it follows [m/s^2]."""

    def __post_init__(self) -> None:
        for name, unit in (("height", "m"), ("speed", "m/s"), ("acceleration", "m/s^2")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit}")
        if not isinstance(self.trajectory, Trajectory):
            self.trajectory = sequence(hold(height=self.height))
        super().__post_init__()

    @property
    def steering(self) -> Steering:
        """Takes the commands; valid until the run ends."""
        assert isinstance(self.mission, Steering)
        return self.mission

    def _new_mission(self, *, count: int) -> Mission:
        return Steering(
            count=count,
            spin_up=self.spin_up,
            height=self.height,
            speed=self.speed,
            acceleration=self.acceleration,
        )


@dataclass(eq=False)
class SteeredGeometricController(Steered, GeometricController):
    """Steer the geometric controller by hand."""


@dataclass(eq=False)
class SteeredPIDController(Steered, CascadedPIDController):
    """Steer the cascaded PID controller by hand."""


STEERED: dict[str, type[Steered]] = {
    "geometric": SteeredGeometricController,
    "cascaded_pid": SteeredPIDController,
}
"""Controllers that can be steered, by the name of the controller."""


def _limited(vectors: Array, length: float) -> Array:
    """Return vectors that are no longer than a length, shape (N, 3)."""
    norm = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    limited: Array = vectors * np.minimum(1.0, length / (norm + 1e-12))
    return limited
