"""What all controllers share: a mission to follow, and the way from a wrench to the rotors."""

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pegasus.arrays import Array
from pegasus.backends.backend import Backend
from pegasus.components import require
from pegasus.control.allocation import Allocation
from pegasus.control.mission import Mission
from pegasus.control.plan import Plan
from pegasus.control.reference import Reference
from pegasus.control.trajectories import Trajectory, trajectory_from_spec
from pegasus.errors import ConfigError
from pegasus.state import VehicleState
from pegasus.vectors import require_vector

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor
    from pegasus.sensors.sensor import Reading

_AIR_INTERVAL = 1.0
"""How often gravity and air density are looked up [s]; they change with the altitude only."""


def check_gains(field: str, gains: Any, *, zero_allowed: bool = False) -> None:
    """Raise a ConfigError unless gains are three finite numbers above zero.

    Args:
        field: Name of the parameter.
        gains: Its value.
        zero_allowed: Whether they may be zero.
    """
    require_vector(field, gains)
    if zero_allowed:
        require(min(gains) >= 0, field, gains, "none may be negative")
    else:
        require(min(gains) > 0, field, gains, "all three must be above 0")


@dataclass(eq=False)
class Controller(Backend):
    """Base of a controller that flies a trajectory; a user's own implements `wrench` or `rotor_speed`.

    The vehicles first stand with their rotors idling, then climb and fly to where the trajectory begins,
    follow it, and hold its end. After a landing the rotors stop.

    Set by `bind` for use in `wrench`: `count`, `mass` [kg], `inertia` [kg m^2] (3, 3) and `allocation`. Kept
    up to date: `gravity` [m/s^2] (N, 3) and `max_thrust`, that of all rotors together along z [N] (N,).
    """

    trajectory: Any
    """A `Trajectory`, or the list of its parts as scenario files have it."""
    _: KW_ONLY
    relative: bool = True
    """Whether each vehicle flies it from where it stood at the start, or all at the same place."""
    spin_up: float = 1.0
    """How long the rotors idle before take-off [s]; 0 for a vehicle that starts in the air."""
    idle_ratio: float = 0.15
    """Speed of idling rotors by that of hovering ones."""

    drives = True
    thrust_share: ClassVar[float] = 1.0
    """Share of the largest thrust that it uses to accelerate; what is kept back can turn the vehicle."""

    def __post_init__(self) -> None:
        if not isinstance(self.trajectory, Trajectory):
            self.trajectory = trajectory_from_spec(self.trajectory)
        require(self.spin_up >= 0, "spin_up", self.spin_up, "must not be negative")
        require(0 < self.idle_ratio < 1, "idle_ratio", self.idle_ratio, "must be above 0 and below 1")
        self.mission = self._new_mission(count=1)
        """Progress along the trajectory: `duration`, `finished`, `landed`."""

    def wrench(self, state: VehicleState, reference: Reference, dt: float) -> tuple[Array, Array]:
        """Return the force [N] and the torque about the centre of mass [N m] to apply, body frame, (N, 3).

        The lateral parts of the force are met only where `allocation.fully_actuated` says so.

        Args:
            state: True state; live arrays.
            reference: What to follow; live arrays.
            dt: Time since the last call [s]; 0 at the first.
        """
        raise NotImplementedError("a controller implements wrench or rotor_speed")

    def rotor_speed(self, state: VehicleState, reference: Reference, dt: float) -> Array:
        """Return the rotor speeds that give `wrench` [rad/s], shape (N, R).

        A controller that commands the rotors directly overrides this one in its place.

        Args:
            state: True state; live arrays.
            reference: What to follow; live arrays.
            dt: Time since the last call [s]; 0 at the first.
        """
        wanted = self._wrench
        wanted[:, :3], wanted[:, 3:] = self.wrench(state, reference, dt)
        thrust = self.allocation.allocate(wanted, self._min_thrust, self._max_thrust)
        return self._curve.rotor_speed(thrust, self._air_density)

    def reset(self) -> None:
        """Forget what was integrated; called whenever the vehicles leave the ground."""

    def bind(self, vehicle: "Multirotor") -> None:
        """Take over the vehicle's mass properties, rotors and air.

        Raises:
            ConfigError: If its rotors cannot control it, or cannot lift it.
        """
        self.count, self.mass, self.inertia = vehicle.count, vehicle.mass, vehicle.inertia
        self._curve, self._environment = vehicle.thrust_curve, vehicle.environment
        self._max_speed = vehicle.motor.max_speed
        layout = vehicle.layout
        ground = np.zeros((1, 3))
        weight = self.mass * float(np.sqrt((self._environment.gravity_vector(ground) ** 2).sum()))
        allowed = "must be above 0 m/s^2 for a controller, whose thrust stands against the weight"
        require(weight > 0, "gravity", weight / self.mass, allowed, "fly by a backend of your own")
        density = self._environment.air_density(ground)[:, None]
        share = weight / np.maximum(layout.axis[:, 2].sum(), 1e-3)
        hover_speed = self._curve.rotor_speed(np.full((1, 1), share), density)
        force, torque = self._curve.thrust(hover_speed, np.zeros((1, 1)), density)
        try:
            ratio = float(torque[0, 0] / force[0, 0])
            self.allocation = Allocation(layout, vehicle.center_of_mass, ratio, self.inertia)
        except ConfigError as error:
            raise error.within(file=vehicle.file) from None
        self._idle_speed = self.idle_ratio * float(hover_speed[0, 0])
        self._wrench = np.zeros((self.count, 6))
        self._idle_command = np.full((self.count, len(layout.spin)), self._idle_speed)
        self._rest_command = np.zeros((self.count, len(layout.spin)))
        self._look_up(np.zeros((self.count, 3)))
        if not self.thrust_share * self.max_thrust[0] > weight:
            spare = f", {100 * self.thrust_share:g} % of which are used to fly"
            used = spare if self.max_thrust[0] > weight else ""
            raise ConfigError(
                f"the rotors lift {self.max_thrust[0]:.4g} N{used}, the vehicle weighs {weight:.4g} N",
                file=vehicle.file,
                field="motor.max_speed",
                value=self._max_speed,
                remedy="raise it or the thrust, or lower the mass",
            )
        self.start()

    def start(self) -> None:
        """Begin the mission anew at the next `publish`."""
        self.mission = self._new_mission(count=self.count)
        self.reference: Reference = self.mission.reference
        self._time = self._next_look_up = -math.inf
        self._flew = False

    def publish(self, t: float, state: VehicleState, readings: "Mapping[str, Reading]") -> None:
        """Take the state, and move the reference on to time t [s]."""
        self._state = state
        if t >= self._next_look_up:
            self._look_up(state.position)
            self._next_look_up = t + _AIR_INTERVAL
        self.mission.update(t, state)

    def command(self, t: float) -> Array:
        """Return the rotor speeds for the step that begins at t [s]."""
        dt, self._time = t - self._time, t
        mission = self.mission
        if not mission.airborne:
            self._flew = False
            return self._rest_command if mission.finished else self._idle_command
        if not self._flew:
            self._flew, dt = True, 0.0
            self.reset()
        speed = self.rotor_speed(self._state, self.reference, dt)
        if mission.landing:
            speed[mission.landed] = 0.0
        return speed

    def plan(self, t: float) -> Plan | None:
        """Return what is left to fly."""
        return self.mission.plan(t)

    def _new_mission(self, *, count: int) -> Mission:
        return Mission(self.trajectory, count=count, relative=self.relative, spin_up=self.spin_up)

    def _look_up(self, position: Array) -> None:
        """Bring gravity, air density and the limits of the rotors up to date."""
        self.gravity: Array = self._environment.gravity_vector(position)
        self._air_density = self._environment.air_density(position)[:, None]
        still = np.zeros((self.count, 1))
        lowest, _ = self._curve.thrust(np.full_like(still, self._idle_speed), still, self._air_density)
        self._min_thrust = np.maximum(lowest, still)
        self._max_thrust = np.full_like(still, np.inf)
        if math.isfinite(self._max_speed):
            fastest = np.full_like(still, self._max_speed)
            self._max_thrust[...] = self._curve.thrust(fastest, still, self._air_density)[0]
        self.max_thrust: Array = self._max_thrust[:, 0] * np.maximum(self.allocation.matrix[2], 0.0).sum()
