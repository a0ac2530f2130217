"""Manual steering: built-in controllers that follow points and velocities commanded during flight."""

import math
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.control import CascadedPIDController, Controller, GeometricController, Mission
from pegasus.control.trajectories import Point, Trajectory, hold, sequence
from pegasus.core.state import Plan, VehicleState

_APPROACH = 0.7
"""Position gain of the reference: velocity per distance from the target [1/s]."""
_RESPONSE = 3.0
"""Velocity gain of the reference: acceleration per velocity error [1/s]."""
_ACCELERATION_LAG = 0.1
"""Time constant of the reference's acceleration [s]."""
_LEASH = 1.5
"""Maximum lead of the reference, such as over a vehicle blocked by a wall [m]."""
_SINK_RATE = 0.5
_SETTLED_LEAD = 0.3
"""Distance of the reference below a vehicle at rest that means ground contact [m]."""
_CLIMBED = 0.1
"""Distance from the target height at which a climb is complete [m]."""


class Mode(Enum):
    """Steering modes."""

    TARGET = "target"
    VELOCITY = "velocity"
    LAND = "land"


class Steering(Mission):
    """Mission of N manually steered vehicles: take-off, flight to points and at velocities, landing.

    The reference has limited speed, acceleration and lead over the vehicle. The copies keep the formation in
    which they took off.

    Args:
        count: Number of vehicles N.
        spin_up: Idle time of the rotors before take-off [s].
        height: Climb at take-off [m].
        speed: Maximum speed towards a point [m/s].
        acceleration: Maximum acceleration [m/s^2].
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
        """Hold the current position; take off if on the ground; complete a take-off in progress."""
        if self.finished:
            self.finished, self._begin = False, math.nan
        if self.airborne and not self._taking_off:
            self._target[...] = self.reference.position
        self._switch(Mode.TARGET)

    def go_to(self, point: Array) -> None:
        """Fly straight to a point.

        Args:
            point: Target of the formation's centre [m], shape (3,).

        Raises:
            ConfigError: If the vehicles are not in the air.
        """
        if not self.airborne:
            raise ConfigError("is not in the air", field="vehicle", remedy="take off first")
        self._target[...] = point + self._formation
        self._taking_off = False
        self._switch(Mode.TARGET)

    def fly(self, velocity: Array, yaw_rate: float) -> None:
        """Fly at a velocity until the next command.

        Args:
            velocity: Velocity forward, left and up, relative to the heading [m/s], shape (3,).
            yaw_rate: Yaw rate, counter-clockwise [rad/s].

        Raises:
            ConfigError: If the vehicles are not in the air.
        """
        if not self.airborne:
            raise ConfigError("is not in the air", field="vehicle", remedy="take off first")
        self._velocity, self._yaw_rate = np.array(velocity, dtype=np.float64), yaw_rate
        self._taking_off = False
        self._switch(Mode.VELOCITY)

    def release(self) -> None:
        """End flight at a velocity, and hold the position."""
        if self.mode is Mode.VELOCITY:
            self.hover()

    def land(self) -> None:
        """Descend until ground contact, then stop the rotors; no effect on the ground."""
        if self.airborne:
            self._taking_off = False
            self._switch(Mode.LAND)

    def plan(self, t: float) -> Plan | None:
        """Return the straight path to the target; None while following a velocity."""
        if not self.airborne or self.mode is not Mode.TARGET:
            return None
        here, there = self.reference.position, self._target
        line = _Straight(tuple(here[0].tolist()), tuple(there[0].tolist()))
        return Plan(line, 0.0, here - here[0])

    def update(self, t: float, state: VehicleState) -> None:
        """Advance the reference to time t.

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
        """Advance the reference by a time step."""
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
    """Straight line for display."""

    start: tuple[float, ...]
    end: tuple[float, ...]

    duration = 1.0

    def sample(self, t: float) -> Point:
        here = np.array(self.start)
        return Point(tuple((here + (np.array(self.end) - here) * min(max(t, 0.0), 1.0)).tolist()))


@dataclass(eq=False)
class Steered(Controller):
    """Mixin for manually steered controllers; the controller's trajectory is not used."""

    trajectory: Any = None
    _: KW_ONLY
    height: float = 1.5
    """Climb at take-off [m]."""
    speed: float = 3.0
    """Maximum speed towards a point [m/s]."""
    acceleration: float = 3.0
    """Maximum acceleration of the reference [m/s^2]."""

    def __post_init__(self) -> None:
        for name, unit in (("height", "m"), ("speed", "m/s"), ("acceleration", "m/s^2")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit}")
        if not isinstance(self.trajectory, Trajectory):
            self.trajectory = sequence(hold(height=self.height))
        super().__post_init__()

    @property
    def steering(self) -> Steering:
        """Steering mission that takes the commands; valid until the run ends."""
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
    """Manually steered geometric controller."""


@dataclass(eq=False)
class SteeredPIDController(Steered, CascadedPIDController):
    """Manually steered cascaded PID controller."""


STEERED: dict[str, type[Steered]] = {
    "geometric": SteeredGeometricController,
    "cascaded_pid": SteeredPIDController,
}
"""Manually steered controllers by controller name."""


def _limited(vectors: Array, length: float) -> Array:
    """Return vectors limited to a maximum length, shape (N, 3)."""
    norm = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    limited: Array = vectors * np.minimum(1.0, length / (norm + 1e-12))
    return limited
