"""Mission of guided flight: a reference that follows commands within limits, one per copy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.errors import ConfigError
from pegasus.control.guided_law import ATTITUDE, BODY_RATES, REFERENCE
from pegasus.control.mission import Mission
from pegasus.control.mission_step import FLY, IDLE, REST, START
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
_TURN, _TURN_RATE = 2.0, 1.0
"""Yaw rate per yaw error [1/s], and its maximum [rad/s]."""


class Mode(Enum):
    """Kinds of commands that a copy follows."""

    TARGET = "target"
    VELOCITY = "velocity"
    LAND = "land"
    ATTITUDE = "attitude"
    BODY_RATES = "body rates"


_DIRECTIVES = {Mode.ATTITUDE: ATTITUDE, Mode.BODY_RATES: BODY_RATES}


class GuidedMission(Mission):
    """Mission of N vehicles that follow commands; each copy has its own.

    The reference has limited speed, acceleration and lead over the vehicle. Copies stand until they take off.

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
        self.climb = np.full(count, height)
        """Climb of each copy at take-off [m], shape (N,)."""
        self.most_speed, self._most = speed, acceleration
        self.duration, self.finished = math.inf, True
        self.flying, self.rising = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        """Copies in the air, and those on the ground that are to take off, shape (N,)."""
        self.ready = np.ones(count, dtype=bool)
        """Copies that can take off, shape (N,)."""
        self._begins = np.full(count, math.nan)
        self.order = np.zeros(count, dtype=np.int64)
        """Number of commands that each copy has had, shape (N,)."""
        self.target = np.zeros((count, 3))
        self.state: VehicleState | None = None
        """True state at the last `update`; None before."""
        self._modes = np.full(count, Mode.TARGET, dtype=object)
        self._speed = np.full(count, speed)
        self._velocity, self._turn_rate = np.zeros((count, 3)), np.zeros(count)
        self._in_body, self._yaw = np.zeros(count, dtype=bool), np.full(count, math.nan)
        self.time = math.nan
        """Time of the last `update` [s]; NaN before."""
        self._taking_off = np.zeros(count, dtype=bool)
        self.wanted = np.zeros((count, 3))
        """Velocity towards which the reference accelerates [m/s], world frame, shape (N, 3)."""
        self.inputs: Mapping[str, Array] = {
            "directive": np.zeros(count),
            "attitude": np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
            "rates": np.zeros((count, 3)),
            "lift": np.zeros(count),
        }
        """Commands in place of the reference: inputs of the laws in `guided_law`, N rows each."""

    def take_off(self, copies: BoolArray) -> None:
        """Take off; no effect in the air.

        Args:
            copies: Copies that take off, shape (N,).
        """
        chosen = copies & ~self.flying & ~self.rising
        self.rising |= chosen
        self._begins[chosen], self.landed[chosen] = math.nan, False
        self.order[chosen] += 1
        self._summarize()

    def hold(self, copies: BoolArray) -> None:
        """Hold the position; a take-off in progress is completed.

        Args:
            copies: Copies that hold, shape (N,).
        """
        stay = copies & self.flying & ~self._taking_off
        self.target[stay] = self.reference.position[stay]
        self._speed[stay], self._yaw[stay] = self.most_speed, math.nan
        self._switch(Mode.TARGET, stay)

    def go_to(self, copies: BoolArray, target: Array, *, speed: Array | float, yaw: Array | float) -> None:
        """Fly straight to points.

        Args:
            copies: Copies that fly, shape (N,).
            target: Target of each of them [m], shape (M, 3).
            speed: Maximum speed [m/s], one or shape (M,).
            yaw: Heading [rad], one or shape (M,); NaN keeps it.

        Raises:
            ConfigError: If one of them is not in the air.
        """
        self.require_air(copies)
        self.target[copies], self._speed[copies], self._yaw[copies] = target, speed, yaw
        self._switch(Mode.TARGET, copies)

    def fly(self, copies: BoolArray, velocity: Array, *, yaw_rate: Array | float, in_body: bool) -> None:
        """Fly at velocities until the next command.

        Args:
            copies: Copies that fly, shape (N,).
            velocity: Velocity of each of them [m/s], shape (M, 3).
            yaw_rate: Yaw rate, counter-clockwise [rad/s], one or shape (M,).
            in_body: Whether velocities are forward, left and up, relative to the heading.

        Raises:
            ConfigError: If one of them is not in the air.
        """
        self.require_air(copies)
        self._velocity[copies], self._turn_rate[copies] = velocity, yaw_rate
        self._in_body[copies], self._yaw[copies] = in_body, math.nan
        self._switch(Mode.VELOCITY, copies)

    def turn(self, copies: BoolArray, mode: Mode, **inputs: Array | float) -> None:
        """Fly by attitude or body rates until the next command; the reference stays at the vehicle.

        Args:
            copies: Copies that fly, shape (N,).
            mode: `Mode.ATTITUDE` or `Mode.BODY_RATES`.
            inputs: Values of `inputs` for each of them.

        Raises:
            ConfigError: If one of them is not in the air.
        """
        self.require_air(copies)
        for name, values in inputs.items():
            self.inputs[name][copies] = values
        self._switch(mode, copies)

    def land(self, copies: BoolArray) -> None:
        """Descend until ground contact, then stop the rotors; a take-off that has not left the ground ends.

        Args:
            copies: Copies that land, shape (N,).
        """
        given_up = copies & self.rising
        self.rising &= ~copies
        self.order[given_up] += 1
        self._switch(Mode.LAND, copies & self.flying)

    def ground(self, copies: BoolArray) -> None:
        """Stop copies that a reset has put on the ground.

        Args:
            copies: The copies, shape (N,).
        """
        self.order[copies & (self.flying | self.rising)] += 1
        self.landed |= copies & self.flying
        self.rising &= ~copies
        self.flying &= ~copies
        if self.state is not None:
            self._stand(self.state)
        self._summarize()

    def follows(self, mode: Mode) -> BoolArray:
        """Return which copies follow commands of a mode, shape (N,)."""
        chosen: BoolArray = self._modes == mode
        return chosen

    def plan(self, t: float) -> Plan | None:
        """Return the straight path to the target; None while the first copy follows something else."""
        if not self.flying[0] or self._modes[0] is not Mode.TARGET:
            return None
        here, there = self.reference.position, self.target
        line = _Straight(tuple(here[0].tolist()), tuple(there[0].tolist()))
        return Plan(line, 0.0, here - here[0])

    def update(self, t: float, state: VehicleState) -> None:
        """Advance the reference to time t.

        Args:
            t: Simulation time [s].
            state: True state at t.
        """
        self.state = state
        dt = 0.0 if math.isnan(self.time) else t - self.time
        self.time = t
        if self.airborne:
            self._move(dt)
            self._stay_at(state)
            lead = self.reference.position - state.position
            length = np.sqrt((lead * lead).sum(axis=1, keepdims=True))
            self.reference.position[...] = state.position + lead * np.minimum(1.0, _LEASH / (length + 1e-12))
            down = self.flying & self._touches_down(state, lead)
            if down.any():
                self.flying &= ~down
                self.landed |= down
                self._summarize()
        if not self.flying.all():
            self._stand(state)
            self._lift_off_when_due(t, state)

    def show_modes(self) -> bool:
        """Write the modes of the rotors into the column `mode`; return whether a copy lifts off."""
        mode = self.columns["mode"]
        lifts_off = self.flying & (mode < FLY)
        mode[...] = np.where(self.flying, FLY, np.where(self.rising, IDLE, REST))
        mode[lifts_off] = START
        return bool(lifts_off.any())

    def require_air(self, copies: BoolArray) -> None:
        """Raise a ConfigError unless copies are in the air.

        Args:
            copies: The copies, shape (N,).
        """
        grounded = copies & ~self.flying
        if grounded.any():
            field = f"copy {int(grounded.argmax())}" if self.airborne and self._count > 1 else "vehicle"
            raise ConfigError("is not in the air", field=field, remedy="take off first")

    def _set(self, mode: Mode, copies: BoolArray) -> None:
        self._modes[copies] = mode
        self.inputs["directive"][copies] = _DIRECTIVES.get(mode, REFERENCE)

    def _switch(self, mode: Mode, copies: BoolArray) -> None:
        self._set(mode, copies)
        self.order[copies] += 1
        self._taking_off &= ~copies
        self._summarize()

    def _summarize(self) -> None:
        """Update what is true of all copies together."""
        self.airborne = bool(self.flying.any())
        self.finished = not (self.airborne or self.rising.any())
        self.landing = bool(self.landed.any())
        modes = set(self._modes[self.flying])
        if modes:
            self.reference.segment = modes.pop().value if len(modes) == 1 else "mixed"
        else:
            self.reference.segment = "landed" if self.landing else "idle"

    def _stand(self, state: VehicleState) -> None:
        """Keep the reference of copies on the ground at their places."""
        still = ~self.flying
        self._motion[0, still], self._motion[1:, still] = state.position[still], 0.0
        self.wanted[still] = self.reference.yaw_rate[still] = 0.0
        self.reference.idle[still] = True

    def _lift_off_when_due(self, t: float, state: VehicleState) -> None:
        begins, yaw = self._begins, self.reference.yaw
        begin = self.rising & np.isnan(begins)
        yaw[begin] = state.heading[begin]
        begins[begin & self.ready] = t
        self.target[self.rising] = self._places(state)[self.rising]
        self.target[self.rising, 2] += self.climb[self.rising]
        up = self.rising & (t - begins >= self._spin_up)
        if up.any():
            self.flying |= up
            self.rising &= ~up
            self.reference.idle[up] = False
            self._speed[up], self._yaw[up] = self.most_speed, math.nan
            self._set(Mode.TARGET, up)
            self._taking_off |= up
            self._summarize()

    def _places(self, state: VehicleState) -> Array:
        """Return the positions that copies climb from [m], shape (N, 3)."""
        return state.position

    def _move(self, dt: float) -> None:
        """Advance the reference by a time step."""
        position, velocity, acceleration, jerk = self._motion
        reference, wanted = self.reference, self.wanted
        self._taking_off &= np.abs(self.target - position).max(axis=1) >= _CLIMBED
        wanted[...] = _limited(_APPROACH * (self.target - position), self._speed[:, None])
        error = np.remainder(self._yaw - reference.yaw + math.pi, 2 * math.pi) - math.pi
        turn = np.clip(_TURN * error, -_TURN_RATE, _TURN_RATE)
        reference.yaw_rate[...] = np.where(np.isnan(turn), 0.0, turn)
        flying, sinking = self.follows(Mode.VELOCITY), self.follows(Mode.LAND)
        if flying.any():
            yaw = np.where(self._in_body, reference.yaw, 0.0)
            c, s = np.cos(yaw), np.sin(yaw)
            x, y, z = self._velocity.T
            wanted[flying] = np.stack([c * x - s * y, s * x + c * y, z], axis=1)[flying]
            reference.yaw_rate[flying] = self._turn_rate[flying]
        wanted[sinking] = (0.0, 0.0, -_SINK_RATE)
        asked = _limited(_RESPONSE * (wanted - velocity), self._most)
        jerk[...] = (asked - acceleration) / _ACCELERATION_LAG
        acceleration += jerk * min(dt, _ACCELERATION_LAG)
        velocity += acceleration * dt
        position += velocity * dt
        reference.yaw += reference.yaw_rate * dt

    def _stay_at(self, state: VehicleState) -> None:
        """Keep the reference of copies that do not follow it at their own motion."""
        loose = self.inputs["directive"] != REFERENCE
        if loose.any():
            self._motion[:2, loose], self._motion[2:, loose] = (
                (state.position[loose], state.velocity[loose]),
                0.0,
            )
            self.reference.yaw[loose], self.reference.yaw_rate[loose] = state.heading[loose], 0.0

    def _touches_down(self, state: VehicleState, lead: Array) -> BoolArray:
        """Return which copies have landed, shape (N,).

        Args:
            state: True state.
            lead: Lead of the reference over the vehicle [m], shape (N, 3).
        """
        at_rest = (state.velocity * state.velocity).sum(axis=1) < (0.5 * _SINK_RATE) ** 2
        down: BoolArray = self.follows(Mode.LAND) & at_rest & (lead[:, 2] < -_SETTLED_LEAD)
        return down


@dataclass(frozen=True)
class _Straight(Trajectory):
    """Straight line for display."""

    start: tuple[float, ...]
    end: tuple[float, ...]

    duration = 1.0

    def sample(self, t: float) -> Point:
        here = np.array(self.start)
        return Point(tuple((here + (np.array(self.end) - here) * min(max(t, 0.0), 1.0)).tolist()))


def _limited(vectors: Array, length: Array | float) -> Array:
    """Return vectors limited to a maximum length, shape (N, 3)."""
    norm = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    limited: Array = vectors * np.minimum(1.0, length / (norm + 1e-12))
    return limited
