"""Step of a controller: its control law, the allocation and the rotor speeds, compiled as one function."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from types import SimpleNamespace
from typing import Any, cast, get_args, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import annotations_of, require
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Real, Vec3, cross, dot, length, rotate_inverse
from pegasus.base.tracing import Signal, TraceError, column, structure, uniform, uniform_values, varied
from pegasus.contracts.state import Reference, VehicleState
from pegasus.control.full_pose import ALONG_Z, Push, asks, lift_direction
from pegasus.control.mission_step import FLY, IDLE, SHAPES, START, Motion, Setpoint, arrays_of
from pegasus.control.mixing import Z_AXIS, Mixing, allocated, thrusts_and_angles
from pegasus.dynamics import ThrustCurve
from pegasus.dynamics.thrust_curves import speed_by_bisection

Law = Callable[..., tuple[Any, ...]]
"""Control law as a step function: (own, body, setpoint, *state, *inputs, dt) -> (force, torque, *new state).

`own` is the controller, whose numbers and triples are its gains; `body` is a `Body`, `setpoint` a `Setpoint`,
`dt` the time since the previous call [s], 0 at the first, which may be omitted. Force [N] and torque about
the centre of mass [N m] are in the body frame. The annotations name the controller's class, and the state and
the inputs of each copy: numbers, `Vec3` or `Quat`. The state is zero when the vehicles leave the ground.
"""


@dataclass
class Body(Motion):
    """State and mass properties of one vehicle."""

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
    push: Push = ALONG_Z
    """Forces that the rotors have at an attitude."""


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


def lead_compensation(lead: Real, body: Body, torque: Vec3, turned: Vec3, dt: Real) -> Vec3:
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
class Limits:
    """What one vehicle's place and rotors allow."""

    gravity: Vec3
    max_thrust: Real
    """Largest total thrust along z [N]."""
    lower: Real
    """Smallest thrust of a rotor [N]; below 0 if it reverses."""
    upper: Real
    """Largest thrust of a rotor [N]."""
    air_density: Real
    idle_speed: Real
    """Rotor speed at idle [rad/s]."""


_RESULTS = ("force", "torque", "thrust", "rotor_speed", "mode", "fault")


def given_wrench(
    own: Any, body: Body, setpoint: Setpoint, given_force: Vec3, given_torque: Vec3
) -> tuple[Vec3, Vec3]:
    """Control law of a wrench that is computed in NumPy."""
    return given_force, given_torque


@functools.cache
def inverse_of(kind: Any) -> Callable[..., Real]:
    """Return the law (parameters, thrust, air density) -> rotor speed of thrust curves of a class."""
    return kind.inverse_law or functools.partial(speed_by_bisection, kind.law)


def parts_of_law(law: Law) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Return kinds of the state and of the inputs of a control law by name, and whether it takes `dt`.

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
        fits and "own" in hints and all(hints.get(name) in SHAPES for name in extra),
        "law",
        law.__qualname__,
        "must be (own, body, setpoint, *state, *inputs, dt) -> tuple[Vec3, Vec3, *state], all annotated",
    )
    for name in (*_RESULTS, "elapsed"):
        require(name not in extra, "law", law.__qualname__, f"has the argument {name}", "rename it")
    state, inputs = ({name: hints[name] for name in some} for some in (extra[:results], extra[results:]))
    return state, inputs, timed


@dataclass(frozen=True)
class ControlFunction:
    """Step function of one copy: a control law, the allocation, and the inverse of the thrust curve."""

    law: Law
    state_count: int
    """Number of arguments after the third that are its state."""
    timed: bool
    inverse: Callable[..., Real]

    def __call__(
        self,
        own: Any,
        p: Any,
        motion: Motion,
        setpoint: Setpoint,
        limits: Limits,
        mode: Real,
        elapsed: Real,
        *more: Any,
    ) -> tuple[Any, ...]:
        """Return force, torque, thrusts, commands, mode, whether one is not finite, and the new state.

        Args:
            own: Gains.
            p: Mass properties `body`, numbers of the allocation `mixing`, and of the thrust curve `curve`.
            motion: State of the vehicle.
            setpoint: What it follows.
            limits: Limits of its rotors.
            mode: State of its rotors, such as `FLY`.
            elapsed: Time since the previous call [s].
            more: State and inputs of the law.
        """
        rotors = range(length(p.mixing.carrying))
        force, torque = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        thrust: Any = (0.0,) * len(rotors)
        angles: Any = (0.0,) * len(p.mixing.tilted)
        speed = [limits.idle_speed if mode == IDLE else 0.0 for r in rotors]
        state: Any = more[: self.state_count]
        if mode >= FLY:
            parts: Any = (*vars(motion).values(), limits.gravity, limits.max_thrust)
            body = Body(*parts, *p.body)
            given = more
            if self.timed:
                given = (*more, 0.0 if mode == START else elapsed)
            force, torque, *state = self.law(own, body, setpoint, *given)
            state = tuple(state)
            up = Z_AXIS
            if body.push.reach > 0.0 and asks(setpoint.attitude):
                up = lift_direction(body.orientation, body.push)
            thrust = allocated(p.mixing, force, torque, limits.lower, limits.upper, up)
            if len(p.mixing.tilted) > 0:
                thrust, angles = thrusts_and_angles(p.mixing, thrust, limits.upper)
            speed = [self.inverse(p.curve, thrust[r], limits.air_density) for r in rotors]
            mode = FLY
        fault = False
        for r in rotors:
            if speed[r] - speed[r] != 0.0:
                fault = True
        return force, torque, thrust, (*speed, *angles), mode, Signal(fault), *state


def gains_of(own: Any) -> SimpleNamespace:
    """Return the numbers, triples and dataclasses of them among the parameters of a controller."""
    found: dict[str, Any] = {}
    for name, hint in annotations_of(type(own)).items():
        value: Any = getattr(own, name, None)
        if isinstance(hint, type) and is_dataclass(hint):
            found[name] = value
        elif value is not None and hint in (float, int):
            found[name] = hint(value)
        elif value is not None and hint in (tuple[float, float, float], tuple[float, ...]):
            found[name] = tuple(map(float, value))
    return SimpleNamespace(**found)


class ControlStep:
    """Compiled step from states and references to rotor speeds, of one controller.

    Args:
        law: Its control law.
        own: The controller, for its gains; one for each copy if they differ.
        body: Fields of a `Body` from its mass on, which do not change.
        curve: Thrust curve of the rotors.
        mixing: Numbers of the allocation.
        limits: Columns that the controller updates: those of `Limits`.
    """

    def __init__(
        self,
        law: Law,
        own: Sequence[Any],
        body: tuple[Any, ...],
        curve: ThrustCurve,
        mixing: Mixing,
        limits: dict[str, Array],
    ) -> None:
        self.count = count = len(limits["lower"])
        self.state, self.inputs, timed = parts_of_law(law)
        self.law, kinds = law, {**self.state, **self.inputs}
        self.function = ControlFunction(law, len(self.state), timed, inverse_of(cast("Any", type(curve))))
        self.columns = {name: np.zeros((count, *SHAPES[kind])) for name, kind in kinds.items()}
        """State and inputs of the law by name, one row per copy."""
        self._given = arrays_of(Motion, count), arrays_of(Setpoint, count)
        self.arrays: dict[str, Array] = {
            **{name: np.zeros((count, 3)) for name in ("force", "torque")},
            "thrust": np.zeros((count, len(mixing.carrying))),
            "rotor_speed": np.zeros((count, len(mixing.carrying) + len(mixing.tilted))),
            **{"mode": np.full(count, FLY), "elapsed": np.zeros(1), "fault": np.zeros(1)},
            **{f"limits.{name}": array for name, array in limits.items()},
            **{f"motion.{name}": array for name, array in self._given[0].items()},
            **{f"setpoint.{name}": array for name, array in self._given[1].items()},
            **self.columns,
        }
        """Arrays of its columns where it runs alone, by name."""
        gains = [gains_of(one) for one in own]
        kind, *others = {structure(uniform("own", one)) for one in gains}
        whole = "must be the same for all copies: they shape the code"
        require(not others, "whole numbers of the law", law.__qualname__, whole, "declare them as float")
        self.arguments = [
            varied("own", gains) if len(gains) > 1 else uniform("own", gains[0]),
            uniform("p", SimpleNamespace(body=body, mixing=mixing, curve=curve.parameters())),
            *(column("motion", Motion), column("setpoint", Setpoint), column("limits", Limits)),
            *(column("mode"), uniform("elapsed", 0.0)),
            *(column(name, kind) for name, kind in kinds.items()),
        ]
        """Arguments of the function; the first two are parameters."""
        for argument in self.arguments[:2]:
            self.arrays |= uniform_values(argument)
        self.kind = self.function, len(gains) > 1, kind, structure(self.arguments[1])
        """Steps of one kind have the same program."""
        self._launch: Callable[[], None] | None = None

    def __call__(self, state: VehicleState, reference: Reference, dt: float) -> Array:
        """Return the commands of the law, shape (N, U), a time `dt` [s] after the last call."""
        for arrays, source in zip(self._given, (state, reference), strict=True):
            for name, array in arrays.items():
                array[...] = getattr(source, name)
        return self.run(dt)

    def run(self, dt: float) -> Array:
        """Return the commands, shape (N, U), of a law that needs neither state nor reference."""
        self.arrays["elapsed"][0] = dt
        launch = self._launch = self._launch or launch_of([(self, {})])
        launch()
        return self.arrays["rotor_speed"].copy()


def launch_of(steps: Sequence[tuple[ControlStep, Mapping[str, Array]]]) -> Any:
    """Return the launch of the steps of controllers of one kind, each with arrays in place of its own.

    Raises:
        ConfigError: If the law cannot be compiled.
    """
    # Not at the top: controllers are made without Warp.
    from pegasus.base.tracing.launches import Part, program_of, rows_of

    parts = [Part({**step.arrays, **arrays}, 0, step.count) for step, arrays in steps]
    step, outputs = steps[0][0], (*_RESULTS, *steps[0][0].state)
    try:
        program = program_of(step.function, *step.arguments, outputs=outputs, count=rows_of(parts))
    except ConfigError as error:
        if not isinstance(error.__cause__, TraceError):
            raise
        raise ConfigError(
            str(error.__cause__),
            field=f"law {step.law.__qualname__}",
            remedy="use numbers, vectors and the functions of pegasus.base.step_math only, "
            "or override `wrench` in NumPy",
        ) from error
    return program.launch_parts(parts)
