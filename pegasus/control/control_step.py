"""Compiled step of a controller: its control law, the allocation and the rotor speeds in one launch."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require
from pegasus.base.step_math import (
    Column,
    Quat,
    Real,
    Vec3,
    cross,
    dot,
    rotate_inverse,
    vector,
)
from pegasus.contracts.state import Reference, VehicleState
from pegasus.control.drive import CompiledStep, DriveRows, DriveStep, Inverse, in_columns, written_step
from pegasus.control.mixing import Mixing
from pegasus.dynamics import ThrustCurve

Law = Callable[..., tuple[Any, ...]]
"""Control law as a step function: (own, body, setpoint, *state, *inputs, dt) -> (force, torque, *new state).

`own` is the controller, whose numbers and triples are its gains; `body` is a `Body`, `setpoint` a `Setpoint`,
`dt` the time since the previous call [s], 0 at the first, which may be omitted. Force [N] and torque about
the centre of mass [N m] are in the body frame. The annotations name the controller's class, and the state and
the inputs of each copy: numbers, `Vec3` or `Quat`. The state is zero when the vehicles leave the ground.
"""


@dataclass
class Body:
    """State and mass properties of one vehicle."""

    position: Vec3
    """Origin of the body frame in the world [m]."""
    orientation: Quat
    """Unit quaternion xyzw, body to world."""
    velocity: Vec3
    """Velocity of the body frame's origin in the world [m/s]."""
    angular_velocity: Vec3
    """Angular velocity in the body frame [rad/s]."""
    gravity: Vec3
    """Acceleration of free fall in the world [m/s^2]."""
    max_thrust: Real
    """Largest total thrust along z [N]."""
    mass: Real
    """Mass [kg]."""
    inertia_x: Vec3
    """First row of the inertia about the centre of mass in the body frame [kg m^2]."""
    inertia_y: Vec3
    """Second row."""
    inertia_z: Vec3
    """Third row."""
    heave: Real
    """Thrust that the rotors lose in a climb along z, by its speed, about hover [N s/m]."""
    heave_in_descent: Real
    """Thrust that they gain in a descent along z, by its speed, about hover [N s/m]."""
    rotor_drag: Real
    """Drag across z by speed, at the rotor speeds of hovering, with which it grows [N s/m]."""
    body_drag: Real
    """Drag across z by squared speed [N s^2/m^2]."""
    drag_lever: Real
    """Height above the centre of mass at which the former acts [m]."""


@dataclass
class Setpoint:
    """Reference of one vehicle, in the world frame; see `Reference`."""

    position: Vec3
    velocity: Vec3
    acceleration: Vec3
    jerk: Vec3
    yaw: Real
    yaw_rate: Real


def torque_of(body: Body, angular_acceleration: Vec3) -> Vec3:
    """Return the torque of an angular acceleration: the inertia times it [N m]."""
    return Vec3(
        dot(body.inertia_x, angular_acceleration),
        dot(body.inertia_y, angular_acceleration),
        dot(body.inertia_z, angular_acceleration),
    )


def lift_in_climb(body: Body, lift: Real, velocity: Vec3) -> Real:
    """Return the thrust to command, as in still air, of rotors that lose thrust in a climb [N].

    In a descent they gain some, less if they come near the vortex-ring state.

    Args:
        body: The vehicle.
        lift: Desired thrust along z [N].
        velocity: Desired velocity in the world [m/s].
    """
    climb = rotate_inverse(body.orientation, velocity)[2]
    return lift + (body.heave if climb > 0.0 else body.heave_in_descent) * climb


def hurried(lead: Real, body: Body, torque: Vec3, turned: Vec3, dt: Real) -> Vec3:
    """Return the torque to command of motors with a lag [N m].

    The roll and pitch torque that is missing, by the angular acceleration of the vehicle, is added by a
    factor, which divides the lag by 1 + lead.

    Args:
        lead: The factor.
        body: The vehicle.
        torque: Desired torque [N m].
        turned: Angular velocity at the previous call, body frame [rad/s].
        dt: Time since then [s]; 0 at the first.
    """
    if lead == 0.0 or dt == 0.0:
        return torque
    turning = body.angular_velocity
    acting = torque_of(body, (turning - turned) * (1.0 / dt)) + cross(turning, torque_of(body, turning))
    return torque + Vec3(lead * (torque[0] - acting[0]), lead * (torque[1] - acting[1]), 0.0)


@dataclass(frozen=True)
class Airframe:
    """Mass properties, heave damping and drag of a vehicle; see `Body`."""

    mass: float
    inertia_x: tuple[float, float, float]
    inertia_y: tuple[float, float, float]
    inertia_z: tuple[float, float, float]
    heave: float
    heave_in_descent: float
    rotor_drag: float
    body_drag: float
    drag_lever: float


@dataclass
class ControlRows(DriveRows):
    """States and references of the copies of vehicles, read at `place[i]`, with what drives their rotors."""

    position: Column[Vec3]
    orientation: Column[Quat]
    velocity: Column[Vec3]
    angular_velocity: Column[Vec3]
    wanted_position: Column[Vec3]
    wanted_velocity: Column[Vec3]
    wanted_acceleration: Column[Vec3]
    wanted_jerk: Column[Vec3]
    wanted_yaw: Column[Real]
    wanted_yaw_rate: Column[Real]
    gravity: Column[Vec3]
    max_thrust: Column[Real]
    elapsed: Column[Real]
    airframe: Column[Airframe]
    own_row: Column[int]
    """Row of a copy in the column `own`, which has the gains."""


_SHAPES: dict[Any, tuple[int, ...]] = {float: (), Vec3: (3,), Quat: (4,)}
STATE = ("position", "orientation", "velocity", "angular_velocity")
_REFERENCE = ("position", "velocity", "acceleration", "jerk", "yaw", "yaw_rate")


def body_of(i: int, rows: ControlRows) -> Body:
    """Return the body of a row."""
    airframe = rows.airframe[rows.owner[i]]
    return Body(
        rows.position[rows.place[i]],
        rows.orientation[rows.place[i]],
        rows.velocity[rows.place[i]],
        rows.angular_velocity[rows.place[i]],
        rows.gravity[i],
        rows.max_thrust[i],
        airframe.mass,
        vector(airframe.inertia_x),
        vector(airframe.inertia_y),
        vector(airframe.inertia_z),
        airframe.heave,
        airframe.heave_in_descent,
        airframe.rotor_drag,
        airframe.body_drag,
        airframe.drag_lever,
    )


def setpoint_of(i: int, rows: ControlRows) -> Setpoint:
    """Return the setpoint of a row."""
    p = rows.place[i]
    return Setpoint(
        rows.wanted_position[p],
        rows.wanted_velocity[p],
        rows.wanted_acceleration[p],
        rows.wanted_jerk[p],
        rows.wanted_yaw[p],
        rows.wanted_yaw_rate[p],
    )


_WRENCH = """dt = rows.elapsed[0]
        if mode == START:
            dt = 0.0
        own = rows.own_row[i]
        {results} = _control_law(rows.own[own], body_of(i, rows), setpoint_of(i, rows), {arguments})
        rows.force[i] = force
        rows.torque[i] = torque
"""


@functools.cache
def law_step(law: Law, inverse: Inverse | None = None) -> CompiledStep:
    """Return the step of a control law.

    Args:
        law: The control law.
        inverse: Inverse of the thrust curve; None if it is shipped, or in NumPy.

    Raises:
        ConfigError: If the arguments or results of the law are not those of a control law.
    """
    parts = parts_of_law(law)
    extra = [*parts.state, *parts.inputs]
    kept = [f"        rows.{name}[i] = new_{name}\n" for name in parts.state]
    wrench = _WRENCH.format(
        results=", ".join(["force", "torque", *(f"new_{name}" for name in parts.state)]),
        arguments=", ".join([*(f"rows.{name}[i]" for name in extra), *["dt"] * parts.timed]),
    )
    names: dict[str, Any] = {"_control_law": law, "body_of": body_of, "setpoint_of": setpoint_of}
    columns = {"own": parts.own, **parts.state, **parts.inputs}
    return written_step(inverse, wrench + "".join(kept), names, columns, ControlRows)


@dataclass(frozen=True)
class LawParts:
    """Arguments of a control law."""

    own: type
    """Class of the controller."""
    state: dict[str, Any]
    """Kinds of the state by name."""
    inputs: dict[str, Any]
    """Kinds of the inputs by name."""
    timed: bool
    """True if the law takes `dt`."""


def parts_of_law(law: Law) -> LawParts:
    """Return the arguments of a control law.

    Args:
        law: The control law.

    Raises:
        ConfigError: If its arguments or results are not those of a control law.
    """
    hints = get_type_hints(law)
    names = list(inspect.signature(law).parameters)
    timed = names[-1] == "dt"
    extra = names[3:-1] if timed else names[3:]
    results = len(get_args(hints.get("return"))) - 2
    fits = names[:3] == ["own", "body", "setpoint"] and 0 <= results <= len(extra)
    require(
        fits and "own" in hints and all(hints.get(name) in _SHAPES for name in extra),
        "law",
        law.__qualname__,
        "must be (own, body, setpoint, *state, *inputs, dt) -> tuple[Vec3, Vec3, *state], all annotated",
    )
    for name in (*get_type_hints(ControlRows), "custom"):
        require(name not in names, "law", law.__qualname__, f"has the argument {name}", "rename it")
    state, inputs = ({name: hints[name] for name in some} for some in (extra[:results], extra[results:]))
    return LawParts(hints["own"], state, inputs, timed)


class ControlStep(DriveStep):
    """Compiled step from states and references to rotor speeds, of one controller.

    Args:
        law: Its control law.
        own: The controller, for its gains; one for each copy if they differ.
        curve: Thrust curve of the rotors.
        mixing: Numbers of the allocation.
        limits: Columns that the controller updates: those of `drive_limits`, `gravity` and `max_thrust`.
    """

    def __init__(
        self,
        law: Law,
        own: Sequence[Any],
        curve: ThrustCurve,
        mixing: Mixing,
        limits: dict[str, Array],
    ) -> None:
        super().__init__(curve, mixing, limits, functools.partial(law_step, law))
        self.own = own
        """The controllers with the gains of the copies, one alone if they are the same."""
        self.law = parts_of_law(law)
        kinds = {**self.law.state, **self.law.inputs}
        self.columns: dict[str, Array] = {
            name: np.zeros((own[0].count, *_SHAPES[kind])) for name, kind in kinds.items()
        }
        """State and inputs of the law by name, one row per copy."""
        self._elapsed = np.zeros(1)
        x, y, z = (tuple(row) for row in own[0].inertia.tolist())
        self.parameters |= {
            "airframe": Airframe(
                own[0].mass,
                x,
                y,
                z,
                own[0].heave,
                own[0].heave_in_descent,
                own[0].level_drag.linear,
                own[0].level_drag.quadratic,
                own[0].level_drag.lever,
            ),
        }
        self._arrays: tuple[Array | None, ...] = (None,) * 10

    @property
    def is_joinable(self) -> bool:
        """Whether its columns may move to a table with others; those of inputs may be held by the user."""
        return not self.law.inputs

    def take(self, columns: Mapping[str, Array]) -> None:
        """Use other arrays for its limits and the state of the law; values are kept.

        Args:
            columns: The arrays by name.
        """
        for own in (self.limits, self.columns):
            for name, values in own.items():
                columns[name][...] = values
                own[name] = columns[name]
        self._arrays = (None,) * 10

    def reset(self, copies: IntArray) -> None:
        """Set the state of the law to zero.

        Args:
            copies: Indices of the copies.
        """
        for name in self.law.state:
            self.columns[name][copies] = 0.0

    def __call__(self, state: VehicleState, reference: Reference, dt: float) -> Array:
        """Return the rotor speeds of the law [rad/s], shape (N, R).

        Args:
            state: True state.
            reference: What to follow.
            dt: Time since the previous call [s].
        """
        a, b, c, d, e, f, g, h, k, m = self._arrays
        if (
            self._launch is None
            or state.position is not a
            or state.orientation is not b
            or state.velocity is not c
            or state.angular_velocity is not d
            or reference.position is not e
            or reference.velocity is not f
            or reference.acceleration is not g
            or reference.jerk is not h
            or reference.yaw is not k
            or reference.yaw_rate is not m
        ):
            self.share(state, reference)
        self._elapsed[0] = dt
        return self._run()

    def share(self, state: VehicleState, reference: Reference) -> None:
        """Let the step read the memory of a state and a reference.

        Args:
            state: True state.
            reference: What to follow.
        """
        arrays = {
            **{name: getattr(state, name) for name in STATE},
            **{f"wanted_{name}": getattr(reference, name) for name in _REFERENCE},
        }
        shared = {name: np.ascontiguousarray(array, dtype=np.float64) for name, array in arrays.items()}
        self._prepare({**shared, **self.columns, **_own_columns([self]), "elapsed": self._elapsed})
        # Copies of other arrays are made anew at each call.
        live = all(shared[name] is array for name, array in arrays.items())
        self._arrays = tuple(arrays.values()) if live else (None,) * 10


def _own_columns(steps: Sequence[ControlStep]) -> dict[str, Any]:
    """Return the column `own` of several controllers, and the rows of their copies in it."""
    rows, first = [], 0
    for step in steps:
        count = len(step.force)
        rows.append(first + (np.arange(count) if len(step.own) > 1 else np.zeros(count)))
        first += len(step.own)
    own = [one for step in steps for one in step.own]
    return {"own": own, "own_row": np.concatenate(rows).astype(np.int32)}


class ControlTable:
    """Controllers of several vehicles with the same step, and its launch.

    Args:
        controllers: Their steps, with the rows of their copies.
        shared: States, references and modes of all copies, and the rotor speeds to write.
        signals: `elapsed`, the time since the previous launch [s], and `fault`, which is set to 1 if a rotor
            speed is not finite, shape (1,) each; live.
    """

    def __init__(
        self,
        controllers: Sequence[tuple[ControlStep, slice]],
        shared: Mapping[str, Array],
        signals: Mapping[str, Array],
    ) -> None:
        steps = [step for step, _ in controllers]
        counts = [part.stop - part.start for _, part in controllers]
        count, width = sum(counts), shared["rotor_speed"].shape[1]
        columns: dict[str, Any] = {
            "place": np.concatenate([np.arange(p.start, p.stop, dtype=np.int32) for _, p in controllers]),
            "owner": np.repeat(np.arange(len(steps), dtype=np.int32), counts),
            **{name: np.zeros((count, 3)) for name in ("force", "torque")},
            "thrust": np.zeros((count, width)),
            **steps[0].limits,
            **steps[0].columns,
        }
        if len(steps) > 1:
            moved = (*steps[0].limits, *steps[0].columns)
            columns |= {name: np.zeros((count, *columns[name].shape[1:])) for name in moved}
            ends = np.cumsum(counts).tolist()
            for step, end, n in zip(steps, ends, counts, strict=True):
                step.take({name: columns[name][end - n : end] for name in moved})
        self._compiled, self._count = steps[0].compiled, count
        columns |= {**_own_columns(steps), **in_columns([step.parameters for step in steps])}
        self._columns = {**columns, **shared, **signals}
        self._launch: Callable[[], None] | None = None

    def run(self) -> None:
        """Write the rotor speeds."""
        if self._launch is None:
            from pegasus.base.compiler import Rows

            rows = Rows(self._compiled.rows, self._columns)
            self._launch = self._compiled.kernel.launch(rows, self._count, apart=True)
        self._launch()
