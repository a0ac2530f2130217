"""Base class of controllers: mission, wrench allocation and limits of the rotors."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require, require_vector
from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import Backend
from pegasus.contracts.estimator import Estimator
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Plan, Reference, VehicleState
from pegasus.contracts.vehicle import Rotorcraft, Vehicle, as_rotorcraft
from pegasus.control.airloads import Airframe, hover_speed
from pegasus.control.allocation import Allocation
from pegasus.control.control_bank import ControlBank
from pegasus.control.control_step import ControlStep, Law, given_wrench
from pegasus.control.drag_compensation import level_drag
from pegasus.control.feasibility import Limits as FlightLimits
from pegasus.control.feasibility import excess_of
from pegasus.control.ground_check import deepest_dip
from pegasus.control.mission import Mission
from pegasus.control.mission_step import FLY, IDLE, REST, START
from pegasus.control.per_copy import PerCopy, copies_of, each
from pegasus.control.trajectories import Trajectory, function, trajectory_from_spec
from pegasus.control.tuning import Tuning, tuning_of

_log = logging.getLogger(__name__)

_AIR_INTERVAL = 1.0
"""Update interval of gravity and air density [s]; they depend on the altitude only."""


def check_gains(field: str, gains: Any, *, zero_allowed: bool = False) -> None:
    """Raise a ConfigError unless gains are three finite numbers above zero, or None: then derived.

    Args:
        field: Name of the parameter.
        gains: Its value.
        zero_allowed: Whether they may be zero.
    """
    if gains is not None:
        require_vector(field, gains)
        allowed = "none may be negative" if zero_allowed else "all three must be above 0"
        require(min(gains) >= 0 if zero_allowed else min(gains) > 0, field, gains, allowed)


def check_gain(field: str, gain: Any, *, zero_allowed: bool = False) -> None:
    """Raise a ConfigError unless a gain is above zero, or None: then derived; see `check_gains`."""
    if gain is not None:
        allowed = "must not be negative" if zero_allowed else "must be above 0"
        require(gain >= 0 if zero_allowed else gain > 0, field, gain, allowed)


@dataclass(eq=False)
class Controller(Backend):
    """Base of controllers that follow a trajectory; a custom one has a `law`, `wrench` or `rotor_speed`.

    A `law` is a step function that is compiled with the allocation; the methods are any Python with NumPy.
    A number or vector among the fields may be an array with one row for each copy.

    The vehicles first idle on the ground, then climb, fly to the start of the trajectory, follow it and hold
    its end. After a landing the rotors stop.

    `bind` sets `count`, `mass` [kg], `inertia` [kg m^2] (3, 3) and `allocation` for use in `wrench`. Updated
    in flight are `gravity` [m/s^2] (N, 3) and `max_thrust`, the total thrust along z [N] (N,).
    """

    trajectory: Any
    """A `Trajectory`, a function of time (see `function`), a list of these with one for each copy, or a list
    of parts as in scenario files."""
    _: KW_ONLY
    relative: bool = True
    """Whether the trajectory is relative to each vehicle's start position, or in world coordinates."""
    spin_up: PerCopy[float] = each(1.0)
    """Idle time before take-off [s]; 0 for a vehicle that starts in the air."""
    idle_ratio: PerCopy[float] = each(0.15)
    """Rotor speed at idle relative to hover."""
    strict: bool = False
    """Raise an error, instead of a warning, for a trajectory that exceeds the limits of the vehicle."""

    drives = True
    reads_sensors = False
    takes_feedback = True
    law: ClassVar[Law | None] = None
    """Control law as a step function; see `pegasus.control.Law`."""
    thrust_share: ClassVar[float] = 1.0
    """Share of the largest thrust used for acceleration; the rest is reserved for attitude control."""

    def __new__(cls, *_: Any, **parameters: Any) -> Self:
        """Validate the names of the parameters of a class that is not a dataclass."""
        unknown = parameters.keys() - {field.name for field in fields(cls)}
        if unknown and "__init__" not in vars(cls):
            raise ConfigError(
                "is not a parameter: the class is not a dataclass of its own",
                field=f"{cls.__name__}.{min(unknown)}",
                remedy="write @dataclass(eq=False) above the class, and declare it as a field with a type",
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        self.trajectory = _trajectories(self.trajectory)
        self._own = self._checked()
        self._bank: ControlBank | None = None
        self.mission = self._new_mission(count=1)

    def check(self) -> None:
        """Raise a ConfigError unless the parameters are allowed; each copy is checked if they differ."""
        require(self.spin_up >= 0, "spin_up", self.spin_up, "must not be negative")
        require(0 < self.idle_ratio < 1, "idle_ratio", self.idle_ratio, "must be above 0 and below 1")

    def derive(self, tuning: Tuning) -> None:
        """Set the parameters that are None; a controller whose gains follow from the vehicle overrides it.

        It is called for the `gains` of each copy when the vehicle is added.

        Args:
            tuning: Gains derived from the vehicle.
        """

    def _default(self, name: str, value: Any) -> None:
        if getattr(self, name) is None:
            setattr(self, name, value)

    @property
    def gains(self) -> Sequence["Controller"]:
        """Controllers with the gains that are flown: one for all copies, or one for each; after `bind`."""
        return self._own

    def wrench(self, state: VehicleState, reference: Reference, dt: float) -> tuple[Array, Array]:
        """Return the force [N] and the torque about the centre of mass [N m] to apply, body frame, (N, 3).

        By default those of the `law`, as live arrays. Lateral force is produced only if
        `allocation.fully_actuated`.

        Args:
            state: True state; live arrays.
            reference: What to follow; live arrays.
            dt: Time since the previous call [s]; 0 at the first.
        """
        step = self._law_step
        step(state, reference, dt)
        return step.force, step.torque

    def rotor_speed(self, state: VehicleState, reference: Reference, dt: float) -> Array:
        """Return the rotor speeds that give `wrench` [rad/s], shape (N, R).

        A controller that commands rotor speeds directly overrides this method.

        Args:
            state: True state; live arrays.
            reference: What to follow; live arrays.
            dt: Time since the previous call [s]; 0 at the first.
        """
        if self._drive is None:
            return self._law_step(state, reference, dt)
        columns = self._drive.columns
        columns["given_force"][...], columns["given_torque"][...] = self._own_wrench(state, reference, dt)
        return self._drive(state, reference, dt)

    def reset(self, copies: IntArray) -> None:
        """Reset the state of the law of copies that leave the ground.

        Args:
            copies: Their indices.
        """
        if self._step is not None:
            self._step.reset(copies)

    def bind(self, vehicle: Vehicle) -> None:
        """Store the vehicle's mass properties, rotors and environment.

        Raises:
            ConfigError: If its rotors cannot control it, or cannot lift it, or it has not been initialized.
        """
        if "_mission" not in vars(self):
            raise ConfigError(
                "has an __init__ that does not call that of Controller",
                field=type(self).__name__,
                remedy="write @dataclass(eq=False) above the class and parameters as its fields, or call "
                "super().__init__(trajectory)",
            )
        vehicle = as_rotorcraft(vehicle)
        estimator = vehicle.estimator
        self._estimator = estimator if isinstance(estimator, Estimator) else None
        self.count, self.mass, self.inertia = vehicle.count, vehicle.mass, vehicle.inertia
        self._curve, self._environment = vehicle.thrust_curve, vehicle.environment
        self._max_speed = vehicle.motor.max_speed
        layout = vehicle.layout
        ground = np.zeros((1, 3))
        weight = self.mass * float(np.sqrt((self._environment.gravity_vector(ground) ** 2).sum()))
        allowed = "must be above 0 m/s^2 for a controller, whose thrust balances the weight"
        require(weight > 0, "gravity", weight / self.mass, allowed, "use a custom backend")
        density = self._environment.air_density(ground)[:, None]
        speed = hover_speed(vehicle, weight, density)
        force, torque = self._curve.thrust(speed, np.zeros((1, 1)), density)
        climb, sink = (self._curve.thrust(speed, np.full((1, 1), v), density)[0] for v in (0.5, -0.5))
        upward = float((layout.axis[:, 2] ** 2).sum())
        self.heave = float((force - climb)[0, 0]) / 0.5 * upward
        """Thrust that the rotors lose in a climb along z, by its speed, about hover [N s/m]."""
        self.heave_in_descent = float((sink - force)[0, 0]) / 0.5 * upward
        """Thrust that they gain in a descent along z, by its speed, about hover [N s/m]."""
        self.level_drag = level_drag(vehicle, float(speed[0, 0]), float(density[0, 0]))
        """Drag across z."""
        try:
            ratio = float(torque[0, 0] / force[0, 0])
            self.allocation = Allocation(layout, vehicle.center_of_mass, ratio, self.inertia)
        except ConfigError as error:
            raise error.within(file=vehicle.file) from None
        self._own = self._checked(self.count)
        idle_speed = np.array([own.idle_ratio for own in self._own]) * float(speed[0, 0])
        numbers = ("max_thrust", "lower", "upper", "air_density")
        self._limits: dict[str, Array] = {name: np.zeros(self.count) for name in numbers} | {
            "idle_speed": np.zeros(self.count) + idle_speed,
            "gravity": np.zeros((self.count, 3)),
        }
        self._look_up(np.zeros((self.count, 3)))
        if not self.thrust_share * self.max_thrust[0] > weight:
            spare = f", {100 * self.thrust_share:g} % of which are available for acceleration"
            used = spare if self.max_thrust[0] > weight else ""
            raise ConfigError(
                f"the rotors lift {self.max_thrust[0]:.4g} N{used}, the vehicle weighs {weight:.4g} N",
                file=vehicle.file,
                field="motor.max_speed",
                value=self._max_speed,
                remedy="raise it or the thrust, or lower the mass",
            )
        inertia = vehicle.parameters[0].rotor_inertia
        lag = vehicle.motor.time_constant(float(speed[0, 0]), float(torque[0, 0]), inertia)
        for k, own in enumerate(self._own):
            own.derive(tuning_of(lag, self._angular_acceleration(weight, k)))
        law, parts = type(self).law, (self._own, self._curve, self.allocation.mixing, self._limits)
        self._step = None if law is None else ControlStep(law, *parts)
        self.columns: dict[str, Array] = {} if self._step is None else self._step.columns
        """State and inputs of the law by name: live arrays with one row per copy."""
        in_python = type(self).wrench is not Controller.wrench
        self._drive = ControlStep(given_wrench, *parts) if in_python else None
        self._stands: Vehicle | None = None
        self.start()
        # In the world at the first start: rays can then be cast.
        self._stands = vehicle
        self._check_flights(vehicle, weight, float(speed[0, 0]))

    @property
    def bank(self) -> type[ControlBank] | None:
        """Class that runs it together with other controllers, unless it overrides how it is called."""
        kind = type(self)
        own = kind.publish is not Controller.publish or kind.command is not Controller.command
        return None if own else ControlBank

    @property
    def step(self) -> ControlStep | None:
        """Compiled step that gives its rotor speeds; None if a part of it is in NumPy."""
        kind = type(self)
        compiled = kind.wrench is Controller.wrench and kind.rotor_speed is Controller.rotor_speed
        return self._step if compiled else None

    @property
    def mission(self) -> Mission:
        """Progress along the trajectory: `duration`, `finished`, `landed`; of all copies together."""
        return self._mission

    @mission.setter
    def mission(self, mission: Mission) -> None:
        self._mission = mission
        self.reference = mission.reference
        if self._bank is not None:
            self._bank.is_arranged = False

    @property
    def missions(self) -> tuple[Any, ...]:
        """Courses of the copies, one each; one alone if all share it."""
        return tuple(member for member, _ in self.mission.members)

    def join(self, bank: ControlBank) -> None:
        """Run together with others: tell their bank of a new mission.

        Args:
            bank: The bank.
        """
        self._bank = bank

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall at each copy [m/s^2], shape (N, 3)."""
        return self._limits["gravity"]

    @property
    def max_thrust(self) -> Array:
        """Largest total thrust along z of each copy [N], shape (N,)."""
        return self._limits["max_thrust"]

    def start(self) -> None:
        """Restart the mission at the next `publish`."""
        self.mission = self._new_mission(count=self.count)
        self._time = self._next_look_up = -math.inf
        self._flew = np.zeros(self.count, dtype=bool)
        if self._stands is not None:
            self._check_ground(self._stands)
            self._stands = None

    def reset_copies(self, rows: IntArray) -> None:
        """Restart the missions of copies at the next `publish`, from where they stand; the others fly on.

        Args:
            rows: Indices of the copies, whose states are those after the reset.
        """
        self._flew[rows] = False
        if math.isfinite(self._next_look_up):
            self._look_up(self._state.position, rows)
        self._restart(rows)

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Store the state and advance the reference to time t [s]."""
        self.look_up(t, state)
        estimator = self._estimator
        if estimator is not None and estimator.flown and not self.mission.begun and not estimator.ready.all():
            return
        self.mission.split(state)
        self.mission.update(t, state)

    def look_up(self, t: float, state: VehicleState) -> float:
        """Store the state, and update gravity, air density and limits if due; return when they are due again.

        Args:
            t: Simulation time [s].
            state: True state; live arrays.
        """
        self._state = state
        if t >= self._next_look_up:
            self._look_up(state.position)
            self._next_look_up = t + _AIR_INTERVAL
        return self._next_look_up

    def command(self, t: float) -> Array:
        """Return the rotor speeds for the step that begins at t [s]."""
        dt, self._time = t - self._time, t
        mode = self.mission.mode
        flies = mode >= FLY
        starts, flew, self._flew = flies & ~self._flew, self._flew.any(), flies
        if not flies.any():
            speed = np.zeros((self.count, self.allocation.matrix.shape[1]))
        else:
            if starts.any():
                self.reset(np.flatnonzero(starts))
                if self._step is not None:
                    self._step.mode[starts] = START
            speed = self.rotor_speed(self._state, self.mission.reference, dt if flew else 0.0)
        if not flies.all():
            idle = mode == IDLE
            speed[mode == REST], speed[idle] = 0.0, self._limits["idle_speed"][idle, None]
        return speed

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flight plan."""
        return self.mission.plan(t)

    def _restart(self, rows: IntArray) -> None:
        before, restarted = self.mission.courses, self.mission.restart(rows)
        if self._bank is not None:
            self._bank.renew(restarted)
            self._bank.is_arranged &= self.mission.courses is before

    def _new_mission(self, *, count: int) -> Mission:
        if isinstance(self.trajectory, list) or np.ndim(self.spin_up):
            flights, times = zip(*((own.trajectory, own.spin_up) for own in self._own), strict=True)
            return Mission(flights, count=len(flights), relative=self.relative, spin_up=times)
        return Mission(self.trajectory, count=count, relative=self.relative, spin_up=self.spin_up)

    def _checked(self, count: int | None = None) -> list["Controller"]:
        """Return the controllers of the copies with their own parameters, or one for all."""
        own = copies_of(self, count)
        for k, one in enumerate(own):
            try:
                one.check()
            except ConfigError as error:
                if len(own) == 1:
                    raise
                raise error.about(f"{error.field} of copy {k}") from None
        return own

    def _check_flights(self, vehicle: Rotorcraft, weight: float, hovering: float) -> None:
        """Warn of trajectories that exceed the vehicle, or raise a ConfigError if `strict`."""
        flights = [mission.outline for mission in self.missions]
        shared = len(flights) < len(self._own)
        airframe = Airframe(
            vehicle.mass,
            vehicle.drag,
            self._curve,
            vehicle.rotor_count,
            hovering,
            self._max_speed,
            self._environment,
        )
        tilts = [getattr(own, "tilt_limit", math.inf) for own in self._own]
        limits = []
        for k in range(len(flights)):
            copies = range(self.count) if shared or len(flights) == 1 else [k]
            limits.append(
                FlightLimits(
                    gravity=self.gravity[k],
                    thrust=self.thrust_share * float(self.max_thrust[list(copies)].min()) / self.mass,
                    tilt=min(tilts[c % len(tilts)] for c in copies),
                    turning=min(self._angular_acceleration(weight, copies[0])[:2]),
                    airframe=airframe,
                )
            )
        excess = excess_of(flights, limits)
        if excess is None:
            return
        self._complain(vehicle, "exceeds the vehicle: " + excess[0], excess[1])

    def _check_ground(self, vehicle: Vehicle) -> None:
        """Warn of trajectories through the ground, or raise a ConfigError if `strict`."""
        courses = self.mission.courses
        dip = deepest_dip(vehicle, courses) if courses else None
        if dip is not None:
            self._complain(vehicle, dip.figure, f"raise it by {math.ceil(10.0 * dip.depth) / 10.0:.1f} m")

    def _complain(self, vehicle: Vehicle, problem: str, remedy: str) -> None:
        error = ConfigError(problem, field=f"trajectory of {vehicle.name}", remedy=remedy)
        if self.strict:
            raise error
        _log.warning("%s", error)

    def _angular_acceleration(self, weight: float, copy: int) -> tuple[float, float, float]:
        """Return the angular acceleration about each axis that a copy's rotors have in hover [rad/s^2]."""
        mixing = np.array(self.allocation.mixing.inverse).reshape(-1, 6)
        hover = weight * mixing[:, 2]
        lower, upper = float(self._limits["lower"][copy]), float(self._limits["upper"][copy])
        room = np.maximum(np.minimum(hover - lower, upper - hover), 0.0)
        found = []
        for axis in range(3):
            share = np.abs(mixing[:, 3 + axis])
            used = share > 1e-6 * share.max()
            found.append(float((room[used] / share[used]).min()) / float(self.inertia[axis, axis]))
        roll, pitch, yaw = found
        return roll, pitch, yaw

    def _own_wrench(self, state: VehicleState, reference: Reference, dt: float) -> tuple[Array, Array]:
        """Return the wrench of a custom controller, after validation of its shape."""
        wrench, shapes = self.wrench(state, reference, dt), ((self.count, 3), (3,))
        if (
            isinstance(wrench, tuple)
            and len(wrench) == 2
            and all(np.shape(part) in shapes for part in wrench)
        ):
            return wrench[0], wrench[1]
        parts = wrench if isinstance(wrench, tuple | list) else (wrench,)
        raise ConfigError(
            f"must return a force [N] and a torque [N m], each of shape {shapes[0]}: one row per copy",
            field=f"shapes of {type(self).__name__}.wrench",
            value=[np.shape(part) for part in parts],
            remedy="return force, torque",
        )

    @property
    def _law_step(self) -> ControlStep:
        if self._step is None:
            raise NotImplementedError("a controller has a law or implements wrench or rotor_speed")
        return self._step

    def _look_up(self, position: Array, rows: IntArray | slice = slice(None)) -> None:
        """Update gravity, air density and the rotors' limits of some copies."""
        limits, curve, place = self._limits, self._curve, position[rows]
        self.gravity[rows] = self._environment.gravity_vector(place)
        limits["air_density"][rows] = density = self._environment.air_density(place)
        still, density = np.zeros((len(place), 1)), density[:, None]
        lowest, _ = curve.thrust(limits["idle_speed"][rows, None], still, density)
        limits["lower"][rows] = np.maximum(lowest, 0.0)[:, 0]
        limits["upper"][rows] = np.inf
        if math.isfinite(self._max_speed):
            limits["upper"][rows] = curve.thrust(still + self._max_speed, still, density)[0][:, 0]
        self.max_thrust[rows] = limits["upper"][rows] * np.maximum(self.allocation.matrix[2], 0.0).sum()


def _trajectories(given: Any) -> Trajectory | list[Trajectory]:
    """Return a trajectory from any form of it, or a list of them, one for each copy."""
    if isinstance(given, list | tuple) and any(map(_is_trajectory, given)):
        for k, one in enumerate(given):
            allowed = "must be a trajectory or a function of time, as there is one of another copy"
            require(_is_trajectory(one), f"trajectory.{k}", one, allowed)
        return [_trajectory(one, f"trajectory.{k}") for k, one in enumerate(given)]
    return _trajectory(given, "trajectory") if _is_trajectory(given) else trajectory_from_spec(given)


def _is_trajectory(given: Any) -> bool:
    return isinstance(given, Trajectory) or callable(given)


def _trajectory(given: Any, field: str) -> Trajectory:
    if isinstance(given, Trajectory):
        return given
    try:
        return function(given)
    except ConfigError as error:
        raise error.about(field) from None
