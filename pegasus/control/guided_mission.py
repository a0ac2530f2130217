"""Mission of guided flight: a reference that follows commands within limits, one per copy."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import annotations_of
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Quat, Vec3
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.contracts.state import Plan, VehicleState
from pegasus.control import guided_law
from pegasus.control.course import ON_THE_GROUND
from pegasus.control.guided_step import (
    ATTITUDE,
    BODY_RATES,
    FLYING,
    LAND,
    NO_AUTOPILOT,
    RISING,
    STANDING,
    TARGET,
    VELOCITY,
    Bounds,
    Orders,
    Pose,
    Progress,
    govern,
)
from pegasus.control.mission import Mission
from pegasus.control.mission_step import START, Setpoint, setpoint_arrays
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
    Each command is for `copies`, a mask of shape (N,); its values have one row for each of these M copies.

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
        super().__init__((), count=count, relative=True, spin_up=())
        self.outline = sequence(hold(height=height), start=ON_THE_GROUND)
        """The flight of a vehicle that takes off."""
        self.most_speed = speed
        self._bounds = uniform("bounds", Bounds(spin_up, speed, acceleration))
        self.pose, self.orders, self.progress = (arrays_of(kind, count) for kind in (Pose, Orders, Progress))
        """Columns of `Pose`, `Orders` and `Progress` by name."""
        self.orders["place"] = self.pose["position"]
        self.orders["ready"][...], self.orders["armed"][...] = 1.0, NO_AUTOPILOT
        self.orders["climb"][...], self.progress["speed"][...] = height, speed
        self.climb = self.orders["climb"]
        """Climb of each copy at take-off [m], shape (N,)."""
        self.order = np.zeros(count, dtype=np.int64)
        """Number of commands that each copy has had, shape (N,)."""
        self.target = self.progress["target"]
        """Point that each copy flies to [m], shape (N, 3)."""
        self.wanted = self.progress["wanted"]
        """Velocity towards which the reference accelerates [m/s], world frame, shape (N, 3)."""
        self.state: VehicleState | None = None
        """True state at the last `update`; None before."""
        self.time = math.nan
        """Time of the last `update` [s]; NaN before."""
        self._flew = np.zeros(count, dtype=bool)
        self._clock, self._event = np.zeros((2, 1)), np.zeros(1)
        self._launch: Callable[[], None] | None = None
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

    duration = math.inf
    end = math.inf

    @property
    def members(self) -> list[tuple[Any, slice]]:
        """Itself, with the rows of all copies."""
        return [(self, slice(0, len(self.mode)))]

    @property
    def airborne(self) -> bool:
        """True if at least one copy is in the air."""
        return bool(self.flying.any())

    @property
    def landing(self) -> bool:
        """True if at least one copy has landed."""
        return bool(self.landed.any())

    @property
    def finished(self) -> bool:
        """True if no copy is in the air or to take off."""
        return not (self.flying | self.rising).any()

    @property
    def flying(self) -> BoolArray:
        """Copies in the air, shape (N,)."""
        flying: BoolArray = self.progress["phase"] == FLYING
        return flying

    @property
    def rising(self) -> BoolArray:
        """Copies on the ground that are to take off, shape (N,)."""
        rising: BoolArray = self.progress["phase"] == RISING
        return rising

    def take_off(self, copies: BoolArray) -> None:
        """Take off; no effect in the air."""
        chosen = copies & (self.progress["phase"] == STANDING)
        self.progress["phase"][chosen], self.progress["waiting"][chosen] = RISING, 1.0
        self.landed[chosen] = False
        self._switch(Mode.TARGET, chosen)

    def hold(self, copies: BoolArray) -> None:
        """Hold the position; a take-off in progress is completed."""
        stay = copies & self.flying & (self.progress["climbing"] == 0)
        self.target[stay] = self.reference.position[stay]
        self.progress["speed"][stay], self.progress["turns"][stay] = self.most_speed, 0.0
        self._switch(Mode.TARGET, stay)

    def go_to(self, copies: BoolArray, target: Array, *, speed: Array | float, yaw: Array | float) -> None:
        """Fly straight to targets [m] at a maximum speed [m/s], with a heading [rad]; NaN keeps it.

        Raises:
            ConfigError: If a copy is not in the air.
        """
        self.require_air(copies)
        self.target[copies], self.progress["speed"][copies] = target, speed
        self.orders["goal"][copies], self.progress["turns"][copies] = np.nan_to_num(yaw), ~np.isnan(yaw)
        self._switch(Mode.TARGET, copies)

    def fly(self, copies: BoolArray, velocity: Array, *, yaw_rate: Array | float, in_body: bool) -> None:
        """Fly at a velocity [m/s] and a yaw rate [rad/s]; in the body, relative to the heading.

        Raises:
            ConfigError: If a copy is not in the air.
        """
        self.require_air(copies)
        for name, value in {"flow": velocity, "turn_rate": yaw_rate, "in_body": in_body}.items():
            self.orders[name][copies] = value
        self.progress["turns"][copies] = 0.0
        self._switch(Mode.VELOCITY, copies)

    def turn(self, copies: BoolArray, mode: Mode, **inputs: Array | float) -> None:
        """Fly by attitude or body rates, values of `inputs`; the reference stays at the vehicle.

        Raises:
            ConfigError: If a copy is not in the air.
        """
        self.require_air(copies)
        for name, values in inputs.items():
            self.inputs[name][copies] = values
        self._switch(mode, copies)

    def land(self, copies: BoolArray) -> None:
        """Descend until ground contact, then stop the rotors; end a take-off that has not left the ground."""
        given_up = copies & self.rising
        self.progress["phase"][given_up] = STANDING
        self.order[given_up] += 1
        self._switch(Mode.LAND, copies & self.flying)

    def ground(self, copies: BoolArray) -> None:
        """Stop copies that a reset has put on the ground."""
        grounded = copies & (self.progress["phase"] != STANDING)
        self.progress["phase"][grounded] = STANDING
        self.order[grounded] += 1
        self._summarize()

    def follows(self, mode: Mode) -> BoolArray:
        """Return which copies follow commands of a mode, shape (N,)."""
        chosen: BoolArray = self.orders["command"] == mode
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
        self._clock[0], self._clock[1] = t, 0.0 if math.isnan(self.time) else t - self.time
        self.time, self.lifts_off = t, False
        for name, values in self.pose.items():
            values[...] = getattr(state, name)
        if self._launch is None:
            self._launch = self._prepared()
        self._launch()
        if self._event[0]:
            self._event[0] = 0.0
            self._summarize()

    def require_air(self, copies: BoolArray) -> None:
        """Raise a ConfigError unless copies are in the air."""
        grounded = copies & ~self.flying
        if grounded.any():
            field = f"copy {int(grounded.argmax())}" if self.airborne and len(self.mode) > 1 else "vehicle"
            raise ConfigError("is not in the air", field=field, remedy="take off first")

    def _switch(self, mode: Mode, copies: BoolArray) -> None:
        self.orders["command"][copies], self.progress["climbing"][copies] = mode, 0.0
        self.inputs["directive"][copies] = _DIRECTIVES.get(mode, guided_law.REFERENCE)
        self.order[copies] += 1
        self._summarize()

    def _summarize(self) -> None:
        """Update what follows from the phases of the copies, and what is true of all together."""
        flying = self.flying
        self.landed |= self._flew & ~flying
        self._flew = flying
        self.reference.idle[...] = ~flying
        self.lifts_off = bool((self.mode == START).any())
        modes = set(self.orders["command"][flying].tolist())
        if modes:
            name = Mode(int(modes.pop())).name.lower().replace("_", " ")
            self.reference.segment = "mixed" if modes else name
        else:
            self.reference.segment = "landed" if self.landing else "idle"

    def _prepared(self) -> Callable[[], None]:
        # Not at the top: it imports Warp, which is not needed to plan missions.
        from pegasus.base.tracing.launches import Part, program_of, rows_of

        groups = {"orders": self.orders, "progress": self.progress, "pose": self.pose}
        kinds = (Orders, Progress, Pose, Setpoint)
        given = [column(name, kind) for name, kind in zip((*groups, "setpoint"), kinds, strict=True)]
        arrays = {f"{group}.{name}": array for group, own in groups.items() for name, array in own.items()}
        arrays |= {**setpoint_arrays(self.reference), **uniform_values(self._bounds), "mode": self.mode}
        arrays |= {"t": self._clock[0], "dt": self._clock[1], "event": self._event}
        given += [column("mode"), self._bounds, uniform("t", 0.0), uniform("dt", 0.0)]
        parts = [Part(arrays, 0, len(self.mode))]
        outputs = ("progress", "setpoint", "mode", "event")
        program = program_of(govern, *given, outputs=outputs, count=rows_of(parts))
        launch: Callable[[], None] = program.launch_parts(parts)
        return launch


def arrays_of(kind: Any, count: int) -> dict[str, Array]:
    """Return arrays of zeros for the fields of a dataclass of numbers and vectors, `count` rows each."""
    shapes: dict[Any, tuple[int, ...]] = {float: (), Vec3: (3,), Quat: (4,)}
    return {name: np.zeros((count, *shapes[hint])) for name, hint in annotations_of(kind).items()}


@dataclass(frozen=True)
class _Straight(Trajectory):
    """Straight line for display."""

    start: tuple[float, ...]
    end: tuple[float, ...]

    duration = 1.0

    def sample(self, t: float) -> Point:
        here = np.array(self.start)
        return Point(tuple((here + (np.array(self.end) - here) * min(max(t, 0.0), 1.0)).tolist()))
