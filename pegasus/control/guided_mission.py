"""Mission of guided flight: a reference that follows commands within limits, one per copy."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.errors import ConfigError
from pegasus.contracts.state import Plan, VehicleState
from pegasus.control import guided_law
from pegasus.control.guided_step import (
    ATTITUDE,
    BODY_RATES,
    FLYING,
    LAND,
    RISING,
    STANDING,
    TARGET,
    VELOCITY,
    Flags,
    GuidedRows,
    govern,
    guided_columns,
)
from pegasus.control.mission import Mission
from pegasus.control.mission_step import START
from pegasus.control.trajectories import Point, Trajectory, hold, sequence


class Mode(IntEnum):
    """Kinds of commands that a copy follows."""

    TARGET = TARGET
    VELOCITY = VELOCITY
    LAND = LAND
    ATTITUDE = ATTITUDE
    BODY_RATES = BODY_RATES


_DIRECTIVES = {Mode.ATTITUDE: guided_law.ATTITUDE, Mode.BODY_RATES: guided_law.BODY_RATES}


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
        self.most_speed, self._most = speed, acceleration
        self.duration, self.finished = math.inf, True
        rows = self._rows = {**guided_columns(count), **self.columns}
        self.climb: Array = rows["climb"]
        """Climb of each copy at take-off [m], shape (N,)."""
        self.climb[...], rows["speed"][...] = height, speed
        self.ready: Flags = rows["ready"]
        """1 for copies that can take off, shape (N,)."""
        self.order = np.zeros(count, dtype=np.int64)
        """Number of commands that each copy has had, shape (N,)."""
        self.target: Array = rows["target"]
        """Point that each copy flies to [m], shape (N, 3)."""
        self.wanted: Array = rows["wanted"]
        """Velocity towards which the reference accelerates [m/s], world frame, shape (N, 3)."""
        self.state: VehicleState | None = None
        """True state at the last `update`; None before."""
        self.time = math.nan
        """Time of the last `update` [s]; NaN before."""
        self._flew, self._lifts_off = np.zeros(count, dtype=bool), False
        self._launch: Callable[..., None] | None = None
        self.inputs: Mapping[str, Array] = {
            "directive": np.zeros(count),
            "attitude": np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
            "rates": np.zeros((count, 3)),
            "lift": np.zeros(count),
        }
        """Commands in place of the reference: inputs of the laws in `guided_law`, N rows each."""

    @property
    def begun(self) -> bool:
        """Whether it has been updated; until then it waits for an estimator."""
        return self.state is not None

    @property
    def flying(self) -> BoolArray:
        """Copies in the air, shape (N,)."""
        flying: BoolArray = self._rows["phase"] == FLYING
        return flying

    @property
    def rising(self) -> BoolArray:
        """Copies on the ground that are to take off, shape (N,)."""
        rising: BoolArray = self._rows["phase"] == RISING
        return rising

    def take_off(self, copies: BoolArray) -> None:
        """Take off; no effect in the air.

        Args:
            copies: Copies that take off, shape (N,).
        """
        chosen = copies & (self._rows["phase"] == STANDING)
        self._rows["phase"][chosen], self._rows["waiting"][chosen] = RISING, 1
        self.landed[chosen] = False
        self._switch(Mode.TARGET, chosen)

    def hold(self, copies: BoolArray) -> None:
        """Hold the position; a take-off in progress is completed.

        Args:
            copies: Copies that hold, shape (N,).
        """
        stay = copies & self.flying & (self._rows["climbing"] == 0)
        self.target[stay] = self.reference.position[stay]
        self._rows["speed"][stay], self._rows["turns"][stay] = self.most_speed, 0
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
        self.target[copies], self._rows["speed"][copies] = target, speed
        self._rows["goal"][copies], self._rows["turns"][copies] = np.nan_to_num(yaw), ~np.isnan(yaw)
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
        rows = self._rows
        rows["flow"][copies], rows["turn_rate"][copies], rows["in_body"][copies] = velocity, yaw_rate, in_body
        rows["turns"][copies] = 0
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
        self._rows["phase"][given_up] = STANDING
        self.order[given_up] += 1
        self._switch(Mode.LAND, copies & self.flying)

    def ground(self, copies: BoolArray) -> None:
        """Stop copies that a reset has put on the ground.

        Args:
            copies: The copies, shape (N,).
        """
        grounded = copies & (self._rows["phase"] != STANDING)
        self._rows["phase"][grounded] = STANDING
        self.order[grounded] += 1
        self._summarize()

    def follows(self, mode: Mode) -> BoolArray:
        """Return which copies follow commands of a mode, shape (N,)."""
        chosen: BoolArray = self._rows["command"] == mode
        return chosen

    def plan(self, t: float) -> Plan | None:
        """Return the straight path to the target; None while the first copy follows something else."""
        if not self.flying[0] or not self.follows(Mode.TARGET)[0]:
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
        rows = self._rows
        rows["position"][...], rows["velocity"][...] = state.position, state.velocity
        rows["orientation"][...] = state.orientation
        self._lifts_off = False
        self._run(t, dt)
        if rows["event"][0]:
            rows["event"][0] = 0
            self._summarize()

    def show_modes(self) -> bool:
        """Return whether a copy lifts off; the step has written the modes of the rotors."""
        return self._lifts_off

    def require_air(self, copies: BoolArray) -> None:
        """Raise a ConfigError unless copies are in the air.

        Args:
            copies: The copies, shape (N,).
        """
        grounded = copies & ~self.flying
        if grounded.any():
            field = f"copy {int(grounded.argmax())}" if self.airborne and self._count > 1 else "vehicle"
            raise ConfigError("is not in the air", field=field, remedy="take off first")

    def _switch(self, mode: Mode, copies: BoolArray) -> None:
        self._rows["command"][copies], self._rows["climbing"][copies] = mode, 0
        self.inputs["directive"][copies] = _DIRECTIVES.get(mode, guided_law.REFERENCE)
        self.order[copies] += 1
        self._summarize()

    def _summarize(self) -> None:
        """Update what follows from the phases of the copies, and what is true of all together."""
        flying = self.flying
        self.landed |= self._flew & ~flying
        self._flew = flying
        self.reference.idle[...] = ~flying
        self._lifts_off = bool((self.columns["mode"] == START).any())
        self.airborne = bool(flying.any())
        self.finished = not (self.airborne or self.rising.any())
        self.landing = bool(self.landed.any())
        modes = set(self._rows["command"][flying].tolist())
        if modes:
            name = Mode(modes.pop()).name.lower().replace("_", " ")
            self.reference.segment = "mixed" if modes else name
        else:
            self.reference.segment = "landed" if self.landing else "idle"

    def _run(self, t: float, dt: float) -> None:
        if self._launch is None:
            # Not at the top: it imports Warp, which is not needed to plan missions.
            from pegasus.base.compiler import Rows, shared_kernel

            limits = (self._spin_up, self.most_speed, self._most)
            rows = Rows(GuidedRows, self._rows)
            self._launch = shared_kernel(govern).launch(rows, self._count, t, dt, *limits)
        self._launch(t, dt)


@dataclass(frozen=True)
class _Straight(Trajectory):
    """Straight line for display."""

    start: tuple[float, ...]
    end: tuple[float, ...]

    duration = 1.0

    def sample(self, t: float) -> Point:
        here = np.array(self.start)
        return Point(tuple((here + (np.array(self.end) - here) * min(max(t, 0.0), 1.0)).tolist()))
