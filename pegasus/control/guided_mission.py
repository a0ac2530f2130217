"""Mission of guided flight: a reference that follows commands within limits, one per copy."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.errors import ConfigError
from pegasus.base.tracing import uniform, uniform_values
from pegasus.contracts.state import Plan, VehicleState
from pegasus.control.guided_step import FLYING, LAND, NO_AUTOPILOT, RISING, STANDING, TARGET, Bounds, Order
from pegasus.control.mission import ON_THE_GROUND, Course, Mission
from pegasus.control.mission_step import arrays_of
from pegasus.control.trajectories import function, hold, sequence

_SEGMENTS = ("target", "velocity", "land", "attitude", "body rates")
"""Names of the segments, by directive."""


class GuidedMission(Mission):
    """Mission of N vehicles that follow commands; each copy has its own.

    The reference has limited speed, acceleration and lead over the vehicle. Copies stand until they take off.
    Methods take the copies that they are for as a mask of shape (N,).

    Args:
        count: Number of vehicles N.
        spin_up: Idle time of the rotors before take-off [s].
        height: Climb at take-off [m].
        speed: Maximum speed towards a point [m/s].
        acceleration: Maximum acceleration [m/s^2].
    """

    duration = math.inf
    end = math.inf

    def __init__(
        self, *, count: int, spin_up: float, height: float, speed: float, acceleration: float
    ) -> None:
        super().__init__((), count=count, relative=True, spin_up=())
        self.outline = sequence(hold(height=height), start=ON_THE_GROUND)
        """The flight of a vehicle that takes off."""
        self.most_speed = speed
        self._bounds = uniform_values(uniform("bounds", Bounds(0.0, 0.0, spin_up, speed, acceleration)))
        self.columns = arrays_of(Order, count)
        """Columns of `Order` by name; without `base` it is where a copy stands."""
        del self.columns["base"]
        self.columns["attitude"][:, 3] = 1.0
        for name, value in {"ready": 1.0, "armed": NO_AUTOPILOT, "climb": height, "speed": speed}.items():
            self.columns[name][...] = value
        self.order = np.zeros(count, dtype=np.int64)
        """Number of commands that each copy has had, shape (N,)."""
        self.state: VehicleState | None = None
        """True state at the last `update`; None before."""
        self.time = math.nan
        """Time of the last `update` [s]; NaN before."""
        self.flying, self.rising = np.zeros((2, count), dtype=bool)
        """Copies in the air, and those on the ground that are to take off, shape (N,)."""

    @property
    def begun(self) -> bool:
        """Whether it has been updated; until then it waits for an estimator."""
        return self.state is not None

    @property
    def landing(self) -> bool:
        """True if at least one copy has landed."""
        return bool(self.landed.any())

    @property
    def finished(self) -> bool:
        """True if no copy is in the air or to take off."""
        return not (self.flying | self.rising).any()

    def direct(self, copies: BoolArray, directive: float, **values: Array | float) -> None:
        """Let copies follow a directive, with values of columns of `Order`: one for all, or a row for each.

        Raises:
            ConfigError: If a copy is not in the air, unless its phase is among the values.
        """
        if "phase" not in values:
            self.require_air(copies)
        for name, value in {**values, "directive": directive, "climbing": 0.0}.items():
            self.columns[name][copies] = value
        self.order[copies] += 1
        self.summarize()

    def take_off(self, copies: BoolArray, **values: float) -> None:
        """Take off; no effect in the air."""
        chosen = copies & ~(self.flying | self.rising)
        self.landed[chosen] = False
        self.direct(chosen, TARGET, phase=RISING, begin=math.nan, pose=0.0, **values)

    def hold(self, copies: BoolArray) -> None:
        """Hold the position; a take-off in progress is completed."""
        stay = copies & self.flying & (self.columns["climbing"] == 0)
        here = self.reference.position[stay]
        self.direct(stay, TARGET, target=here, speed=self.most_speed, heading=math.nan)

    def land(self, copies: BoolArray) -> None:
        """Descend until ground contact, then stop the rotors; end a take-off that has not left the ground."""
        self.direct(copies & self.rising, TARGET, phase=STANDING)
        self.direct(copies & self.flying, LAND)

    def plan(self, t: float) -> Plan | None:
        """Return the straight path to the target; None while the first copy follows something else."""
        if not self.flying[0] or self.columns["directive"][0] != TARGET:
            return None
        here = self.reference.position
        way = self.columns["target"][0] - here[0]
        return Plan(function(lambda t: way * t, duration=1.0), 0.0, here.copy())

    def restart(self, rows: IntArray) -> Sequence[Course]:
        """Stop vehicles that a reset has put on the ground."""
        grounded = np.isin(np.arange(len(self.mode)), rows)
        self.direct(grounded & (self.flying | self.rising), TARGET, phase=STANDING)
        return ()

    def arrays(self, bodies: Mapping[str, Any], rows: slice) -> dict[str, Array]:
        """Return the arrays of its columns in a launch of `govern`; see `Mission.arrays`."""
        own = {f"order.{name}": array for name, array in self.columns.items()}
        return {"order.base": bodies["position"][rows], **own, **self._bounds, **super().arrays(bodies, rows)}

    def update(self, t: float, state: VehicleState) -> None:
        """Advance the reference to time t [s]; see `Mission.update`."""
        super().update(t, state)
        self.state = state

    def begin_step(self, t: float, state: VehicleState) -> None:
        """Note time [s] and true state of a step."""
        self._bounds["bounds.dt"][0] = 0.0 if math.isnan(self.time) else t - self.time
        self._bounds["bounds.t"][0] = self.time = t
        self.state = state
        if self.estimator is not None:
            self.columns["ready"][...] = not self.waits()

    def require_air(self, copies: BoolArray) -> None:
        """Raise a ConfigError unless copies are in the air."""
        grounded = copies & ~self.flying
        if grounded.any():
            field = f"copy {int(grounded.argmax())}" if self.airborne and len(self.mode) > 1 else "vehicle"
            raise ConfigError("is not in the air", field=field, remedy="take off first")

    def summarize(self) -> None:
        """Update what follows from the phases of the copies, and what is true of all together."""
        phase, flew = self.columns["phase"], self.flying
        self.flying, self.rising = phase == FLYING, phase == RISING
        self.landed |= flew & ~self.flying
        self.reference.idle[...] = ~self.flying
        names = {_SEGMENTS[int(directive)] for directive in self.columns["directive"][self.flying].tolist()}
        resting = "landed" if self.landing else "idle"
        self.reference.segment = "mixed" if len(names) > 1 else names.pop() if names else resting
