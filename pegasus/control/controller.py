"""Base class of controllers: mission, wrench allocation and limits of the rotors."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.contracts.backend import Backend, BackendBank
from pegasus.contracts.estimator import Estimator
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Plan, Reference, VehicleState
from pegasus.contracts.vehicle import Rotorcraft, Vehicle, as_rotorcraft
from pegasus.control.airloads import Airframe
from pegasus.control.allocation import Allocation
from pegasus.control.control_step import ControlStep, Law, Limits, given_wrench
from pegasus.control.drag_compensation import level_drag
from pegasus.control.feasibility import Limits as FlightLimits
from pegasus.control.feasibility import excess_of
from pegasus.control.full_pose import require_pose
from pegasus.control.ground_check import deepest_dip
from pegasus.control.mission import Mission
from pegasus.control.mission_step import FLY, IDLE, REST, START, WIDTH, arrays_of
from pegasus.control.per_copy import PerCopy, copies_of, each
from pegasus.control.trajectories import trajectories_from_spec
from pegasus.control.tuning import Tuning, tuning_of

_log = logging.getLogger(__name__)

_AIR_INTERVAL = 1.0
"""Update interval of gravity and air density [s]; they depend on the altitude only."""


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
    mission: Mission = field(init=False, repr=False)
    """Progress along the trajectory: `duration`, `finished`, `landed`; of all copies together."""

    drives = True
    reads_sensors = False
    takes_feedback = True
    law: ClassVar[Law | None] = None
    """Control law as a step function; see `pegasus.control.Law`."""
    follows_attitudes: ClassVar[bool] = False
    """Whether its law follows the attitude of a setpoint where the rotors push sideways."""
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
        self.trajectory = trajectories_from_spec(self.trajectory)
        self.gains: Sequence[Controller] = copies_of(self)
        """Controllers with the gains that are flown: one for all copies, or one for each; after `bind`."""
        self.bank_in_use: Any = None
        """Bank that runs it, if any."""
        self.renew_mission(1)

    def check(self) -> None:
        """Raise a ConfigError unless the parameters are allowed; each copy is checked if they differ."""
        require(self.spin_up >= 0, "spin_up", self.spin_up, "must not be negative")
        require(0 < self.idle_ratio < 1, "idle_ratio", self.idle_ratio, "must be above 0 and below 1")

    def derive(self, tuning: Tuning) -> None:
        """Set the parameters that are None by gains derived from the vehicle, to which it is added.

        It is called for each of the `gains`; a controller with such parameters overrides it.
        """

    def require_attitudes(self, field: str) -> None:
        """Raise a ConfigError unless the vehicle can hold an attitude apart from its force.

        Args:
            field: What asks for an attitude.
        """
        require_pose(field, self.push, self.allocation.lack, type(self).__name__, able=self.follows_attitudes)

    def _default(self, name: str, value: Any) -> None:
        if getattr(self, name) is None:
            setattr(self, name, value)

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
        return step.arrays["force"], step.arrays["torque"]

    def rotor_speed(self, state: VehicleState, reference: Reference, dt: float) -> Array:
        """Return the rotor speeds that give `wrench` [rad/s], shape (N, R); the arguments are the same.

        A controller that commands rotor speeds directly overrides this method.
        """
        if self._drive is None:
            return self._law_step(state, reference, dt)
        inputs = self._drive.columns
        inputs["given_force"][...], inputs["given_torque"][...] = self._checked_wrench(state, reference, dt)
        return self._drive.run(dt)

    def reset(self, copies: IntArray) -> None:
        """Reset the state of the law of copies that leave the ground, by their indices."""
        for name in self._step.state if self._step is not None else ():
            self.columns[name][copies] = 0.0

    def bind(self, vehicle: Vehicle) -> None:
        """Store the vehicle's mass properties, rotors and environment.

        Raises:
            ConfigError: If its rotors cannot control it, or cannot lift it, or it has not been initialized.
        """
        if "mission" not in vars(self):
            raise ConfigError(
                "has an __init__ that does not call that of Controller",
                field=type(self).__name__,
                remedy="write @dataclass(eq=False) above the class and parameters as its fields, or call "
                "super().__init__(trajectory)",
            )
        vehicle = as_rotorcraft(vehicle, tilting=True)
        estimator = vehicle.estimator
        self._estimator = estimator if isinstance(estimator, Estimator) and estimator.flown else None
        self.count, self.mass, self.inertia = vehicle.count, vehicle.mass, vehicle.inertia
        airframe = self._airframe = Airframe.of(vehicle)
        self.allocation = Allocation.of(vehicle, airframe.moment_ratio)
        self._least_speed = vehicle.channels[0].low
        self.gains = copies_of(self, self.count)
        idle_speed = np.array([own.idle_ratio for own in self.gains]) * airframe.hover_speed
        limits = self._limits = arrays_of(Limits, self.count)
        limits["idle_speed"][...] = idle_speed
        self.gravity, self.max_thrust = limits["gravity"], limits["max_thrust"]
        self._look_up(np.zeros((self.count, 3)))
        weight, lift = airframe.weight, self.max_thrust[0]
        if not self.thrust_share * lift > weight:
            spare = f", {100 * self.thrust_share:g} % of which are available for acceleration"
            raise ConfigError(
                f"the rotors lift {lift:.4g} N{spare if lift > weight else ''}, "
                f"the vehicle weighs {weight:.4g} N",
                file=vehicle.file,
                field="motor.max_speed",
                value=airframe.max_speed,
                remedy="raise it or the thrust, or lower the mass",
            )
        lag = vehicle.motor.time_constant(
            airframe.hover_speed, airframe.hover_torque, vehicle.parameters[0].rotor_inertia
        )
        for k, own in enumerate(self.gains):
            own.derive(tuning_of(lag, self._angular_acceleration(k)))
        x, y, z = (Vec3(*row) for row in self.inertia.tolist())
        drag = level_drag(vehicle, airframe.hover_speed, airframe.air_density)
        self.push = self.allocation.push(weight, float(limits["lower"][0]), float(limits["upper"][0]))
        """Forces that the rotors have at an attitude."""
        # In the order of the fields of a `Body`, from its mass on.
        body = (
            float(self.mass),
            x,
            y,
            z,
            *airframe.heave,
            drag.linear,
            drag.quadratic,
            drag.lever,
            self.push,
        )
        law, parts = type(self).law, (self.gains, body, airframe.curve, self.allocation.mixing, limits)
        self._step = None if law is None else ControlStep(law, *parts)
        self.columns: dict[str, Array] = {} if self._step is None else self._step.columns
        """State and inputs of the law by name: live arrays with one row per copy."""
        in_python = type(self).wrench is not Controller.wrench
        self._drive = ControlStep(given_wrench, *parts) if in_python else None
        self._stands: Rotorcraft | None = None
        self.start()
        # In the world at the first start: rays can then be cast.
        self._stands = vehicle
        self._check_flights(vehicle)

    @property
    def bank(self) -> type[BackendBank] | None:
        """Class that runs it together with other controllers, unless it overrides how it is called."""
        # Not at the top: it imports Warp.
        from pegasus.control.control_bank import ControlBank

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
    def missions(self) -> tuple[Any, ...]:
        """Courses of the copies, one each; one alone if all share it."""
        return tuple(self.mission.members)

    def start(self) -> None:
        """Restart the mission at the next `publish`."""
        if self.mission.begun or len(self.mission.mode) != self.count:
            self.renew_mission(self.count)
        if any(course.width > WIDTH for course in self.mission.courses):
            self.require_attitudes("trajectory")
        self.mission.estimator = self._estimator
        self._time = self._next_look_up = -math.inf
        if self._stands is not None:
            self._report(self._stands, deepest_dip(self._stands, self.mission.courses))
            self._stands = None

    def reset_copies(self, rows: IntArray) -> None:
        """Restart the missions of copies at the next `publish`, from where they stand; the others fly on."""
        if math.isfinite(self._next_look_up):
            self._look_up(self._state.position, rows)
        restarted = self.mission.restart(rows)
        if self.bank_in_use is not None:
            self.bank_in_use.renew(restarted)

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Store the state and advance the reference to time t [s]."""
        self.look_up(t, state)
        self.mission.split(state)
        self.mission.update(t, state)

    def look_up(self, t: float, state: VehicleState) -> float:
        """Store the state at t [s], update gravity and air if due, and return when they are due again."""
        self._state = state
        if t >= self._next_look_up:
            self._look_up(state.position)
            self._next_look_up = t + _AIR_INTERVAL
        return self._next_look_up

    def command(self, t: float) -> Array:
        """Return the rotor speeds for the step that begins at t [s]."""
        dt, self._time = t - self._time, t
        mode = self.mission.mode
        flew, flies, starts = (mode == FLY).any(), mode >= FLY, mode == START
        if starts.any():
            self.reset(np.flatnonzero(starts))
            mode[starts] = FLY
            if self._step is not None:
                self._step.arrays["mode"][starts] = START
        if flies.any():
            speed = self.rotor_speed(self._state, self.mission.reference, dt if flew else 0.0)
        else:
            speed = np.zeros((self.count, self.allocation.matrix.shape[1]))
        if not flies.all():
            idle = mode == IDLE
            rotors = slice(self.allocation.rotor_count)
            speed[mode == REST] = 0.0
            speed[idle, rotors] = self._limits["idle_speed"][idle, None]
            speed[idle, self.allocation.rotor_count :] = 0.0
        return speed

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flight plan."""
        return self.mission.plan(t)

    def renew_mission(self, count: int) -> None:
        """Make a new mission of N vehicles the present one."""
        differs = isinstance(self.trajectory, list) or np.ndim(self.spin_up) > 0
        own = self.gains if differs else self.gains[:1]
        flights, times = [one.trajectory for one in own], [one.spin_up for one in own]
        count = max(count, len(own))
        self._follow(Mission(flights, count=count, relative=self.relative, spin_up=times))

    def _follow(self, mission: Mission) -> None:
        self.mission, self.reference = mission, mission.reference
        if self.bank_in_use is not None:
            self.bank_in_use.is_arranged = False

    def _check_flights(self, vehicle: Rotorcraft) -> None:
        """Report trajectories that exceed the vehicle."""
        tilt = np.array([getattr(own, "tilt_limit", math.inf) for own in self.gains]) * np.ones(self.count)
        limits = [
            FlightLimits(
                gravity=self.gravity[rows.start],
                thrust=self.thrust_share * float(self.max_thrust[rows].min()) / self.mass,
                tilt=float(tilt[rows].min()),
                turning=min(self._angular_acceleration(rows.start)[:2]),
                airframe=self._airframe,
            )
            for rows in (member.rows for member in self.missions)
        ]
        self._report(vehicle, excess_of([member.outline for member in self.missions], limits))

    def _report(self, vehicle: Vehicle, excess: tuple[str, str] | None) -> None:
        """Warn of what is wrong with a trajectory, with a remedy, or raise a ConfigError if `strict`."""
        if excess is not None:
            error = ConfigError(excess[0], field=f"trajectory of {vehicle.name}", remedy=excess[1])
            if self.strict:
                raise error
            _log.warning("%s", error)

    def _angular_acceleration(self, copy: int) -> tuple[float, float, float]:
        """Return the angular acceleration about each axis that a copy's rotors have in hover [rad/s^2]."""
        mixing = np.array(self.allocation.mixing.inverse).reshape(-1, 6)
        hover = self._airframe.weight * mixing[:, 2]
        upper = self._limits["upper"][copy]
        lower = np.full(len(hover), self._limits["lower"][copy])
        lower[self.allocation.rotor_count :] = -upper
        room = np.maximum(np.minimum(hover - lower, upper - hover), 0.0)
        shares = np.abs(mixing[:, 3:]).T
        used = shares > 1e-6 * shares.max(axis=1, keepdims=True)
        torques = (float((room[u] / share[u]).min()) for u, share in zip(used, shares, strict=True))
        roll, pitch, yaw = (t / float(self.inertia[k, k]) for k, t in enumerate(torques))
        return roll, pitch, yaw

    def _checked_wrench(self, state: VehicleState, reference: Reference, dt: float) -> tuple[Array, Array]:
        """Return the wrench of a custom controller, after validation of its shape."""
        wrench, shape = self.wrench(state, reference, dt), (self.count, 3)
        parts = wrench if isinstance(wrench, tuple | list) else (wrench,)
        shapes = [np.shape(part) for part in parts]
        if isinstance(wrench, tuple) and len(shapes) == 2 and {shape, (3,)}.issuperset(shapes):
            return wrench
        raise ConfigError(
            f"must return a force [N] and a torque [N m], each of shape {shape}: one row per copy",
            field=f"shapes of {type(self).__name__}.wrench",
            value=shapes,
            remedy="return force, torque",
        )

    @property
    def _law_step(self) -> ControlStep:
        if self._step is None:
            raise NotImplementedError("a controller has a law or implements wrench or rotor_speed")
        return self._step

    def _look_up(self, position: Array, rows: IntArray | slice = slice(None)) -> None:
        """Update gravity, air density and the rotors' limits of some copies."""
        limits, airframe, place = self._limits, self._airframe, position[rows]
        self.gravity[rows] = airframe.environment.gravity_vector(place)
        limits["air_density"][rows] = density = airframe.environment.air_density(place)
        still, density = np.zeros((len(place), 1)), density[:, None]
        lowest, _ = airframe.curve.thrust(limits["idle_speed"][rows, None], still, density)
        limits["lower"][rows] = np.maximum(lowest, 0.0)[:, 0]
        if self.allocation.reversible:
            least, _ = airframe.curve.thrust(still + self._least_speed, still, density)
            limits["lower"][rows] = least[:, 0]
        limits["upper"][rows] = np.inf
        if math.isfinite(airframe.max_speed):
            most, _ = airframe.curve.thrust(still + airframe.max_speed, still, density)
            limits["upper"][rows] = most[:, 0]
        self.max_thrust[rows] = limits["upper"][rows] * np.maximum(self.allocation.matrix[2], 0.0).sum()
        if self.allocation.reversible:
            self.max_thrust[rows] -= limits["lower"][rows] * np.maximum(-self.allocation.matrix[2], 0.0).sum()
