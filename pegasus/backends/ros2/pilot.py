"""From demands to rotor speeds: directly, or through the built-in geometric controller."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasus.arrays import Array, BoolArray, row_product
from pegasus.backends.ros2.demand import Demand, Mode
from pegasus.control import trajectories
from pegasus.control.geometric import GeometricController, attitude_error
from pegasus.control.reference import Reference
from pegasus.frames import cross, matrix_from_quaternion, matrix_product, quaternion_from_euler
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor

_ACCELERATION = 4.0
"""How fast a wanted velocity is taken up [m/s^2]."""
_LEASH = 1.0
"""How far the point that a wanted velocity moves may run ahead of the vehicle [m]."""
_AIR_INTERVAL = 1.0
"""How often gravity and air density are looked up [s]."""


def limited_step(velocity: Array, wanted: Array, longest: float) -> Array:
    """Return a velocity moved towards a wanted one by at most some length [m/s], shape (..., 3).

    Args:
        velocity: Velocity now [m/s], shape (..., 3).
        wanted: Wanted velocity [m/s], shape (..., 3).
        longest: Longest change [m/s].
    """
    change = wanted - velocity
    length = np.sqrt((change * change).sum(axis=-1, keepdims=True))
    moved: Array = velocity + change * np.minimum(1.0, longest / np.maximum(length, 1e-12))
    return moved


@dataclass(eq=False)
class _AttitudeController(GeometricController):
    """The geometric controller, told attitude and thrust instead of a reference for some of its vehicles."""

    def bind(self, vehicle: Any) -> None:
        super().bind(vehicle)
        self.told = np.zeros(self.count, dtype=bool)
        """Which vehicles are told attitude and thrust, shape (N,)."""
        self.attitude: Array = np.zeros((self.count, 3))
        """Roll, pitch and yaw of those [rad], shape (N, 3)."""
        self.thrust = np.zeros(self.count)
        """Thrust of those [N], shape (N,)."""

    def look_up(self, position: Array) -> None:
        """Bring gravity, air density and the limits of the rotors up to date."""
        self._look_up(position)

    def wrench(self, state: VehicleState, reference: Reference, dt: float) -> tuple[Array, Array]:
        force, torque = super().wrench(state, reference, dt)
        if self.told.any():
            rows = self.told
            wanted = matrix_from_quaternion(quaternion_from_euler(*self.attitude[rows].T))
            rates = state.angular_velocity[rows]
            difference = matrix_product(wanted.swapaxes(-1, -2), state.rotation[rows])
            torque[rows] = (
                row_product(attitude_error(difference), self._attitude_torque)
                + row_product(rates, self._rate_torque)
                + cross(rates, row_product(rates, self._momentum))
            )
            force[rows, 2] = self.thrust[rows]
        return force, torque


class Pilot:
    """Fly N copies of a vehicle, each by its own demand.

    Args:
        vehicle: The vehicle.
        timeout: Age from which on a command is no longer followed [s].
        hold: Whether a vehicle then holds its position; else its rotors stop.

    Raises:
        ConfigError: If its rotors cannot control it.
    """

    def __init__(self, vehicle: "Multirotor", *, timeout: float, hold: bool) -> None:
        n = vehicle.count
        self._timeout, self._hold = timeout, hold
        self._controller = _AttitudeController(trajectories.idle())
        self._controller.bind(vehicle)
        self.reference = Reference.hold(np.zeros((n, 3)), np.zeros(n))
        """What the vehicles follow that are not told their rotor speeds or attitude; live arrays."""
        self.reference.idle[...] = True
        self._flies = np.zeros(n, dtype=bool)
        self._free = np.zeros(n, dtype=bool)
        self._speeds = np.zeros((n, vehicle.rotor_count))
        self._time = self._next_look_up = -math.inf

    def command(self, t: float, state: VehicleState, demands: Sequence[Demand]) -> Array:
        """Return the rotor speeds [rad/s], shape (N, R).

        Args:
            t: Simulation time [s].
            state: True state at t; live arrays.
            demands: What each copy was told.
        """
        dt = t - self._time if math.isfinite(self._time) else 0.0
        self._time = t
        flies = np.zeros(len(demands), dtype=bool)
        self._controller.told[...] = False
        for i, demand in enumerate(demands):
            flies[i] = self._flown(i, demand, t, state, dt)
        if not flies.any():
            if self._flies.any():
                self._rest(state, ~flies)
            self._flies = flies
            return self._speeds
        if t >= self._next_look_up:
            self._controller.look_up(state.position)
            self._next_look_up = t + _AIR_INTERVAL
        self._rest(state, ~flies | self._controller.told)
        if not self._flies.any():
            self._controller.reset()
        self._flies = flies
        speeds = self._controller.rotor_speed(state, self.reference, dt)
        self._speeds[flies] = speeds[flies]
        return self._speeds

    def _flown(self, i: int, demand: Demand, t: float, state: VehicleState, dt: float) -> bool:
        """Bring one copy's reference to time t; return whether the controller flies it."""
        mode, overdue = demand.mode, t - demand.stamp > self._timeout
        if mode is Mode.NONE or (overdue and not self._hold):
            self._speeds[i], self._free[i] = 0.0, False
            return False
        if overdue:
            self._follow_velocity(i, (0.0, 0.0, 0.0), 0.0, state, dt)
            return True
        if mode is Mode.ROTORS:
            # Each rotor by its own age: one that is no longer told a speed stops.
            fresh = t - demand.rotor_stamp <= self._timeout
            self._speeds[i], self._free[i] = demand.rotor_speed * fresh, False
            return False
        if mode is Mode.ATTITUDE:
            controller = self._controller
            controller.told[i], self._free[i] = True, False
            controller.attitude[i], controller.thrust[i] = demand.attitude, demand.thrust
            return True
        if mode is Mode.VELOCITY:
            self._follow_velocity(i, demand.velocity, demand.yaw_rate, state, dt)
            return True
        assert demand.path is not None
        self._follow_path(i, demand, t)
        return True

    def _follow_velocity(
        self, i: int, velocity: Sequence[float], yaw_rate: float, state: VehicleState, dt: float
    ) -> None:
        reference = self.reference
        if not self._free[i]:
            # It begins with what the vehicle does, so that nothing jumps.
            self._free[i] = True
            reference.position[i], reference.velocity[i] = state.position[i], state.velocity[i]
            reference.yaw[i] = math.atan2(state.rotation[i, 1, 0], state.rotation[i, 0, 0])
            dt = 0.0
        yaw = reference.yaw[i] + yaw_rate * dt
        c, s = math.cos(yaw), math.sin(yaw)
        ahead, left, up = velocity
        wanted = np.array([c * ahead - s * left, s * ahead + c * left, up])
        before = reference.velocity[i].copy()
        now = limited_step(before, wanted, _ACCELERATION * dt)
        offset = reference.position[i] + dt / 2 * (before + now) - state.position[i]
        distance = math.sqrt(float(offset @ offset))
        reference.position[i] = state.position[i] + offset * min(1.0, _LEASH / max(distance, 1e-12))
        reference.velocity[i] = now
        reference.acceleration[i] = (now - before) / dt if dt > 0 else 0.0
        reference.jerk[i] = 0.0
        reference.yaw[i], reference.yaw_rate[i], reference.idle[i] = yaw, yaw_rate, False

    def _follow_path(self, i: int, demand: Demand, t: float) -> None:
        assert demand.path is not None
        reference = self.reference
        motion, yaw, yaw_rate = demand.path.at(t - demand.path_begin)
        reference.position[i], reference.velocity[i], reference.acceleration[i], reference.jerk[i] = motion
        reference.yaw[i], reference.yaw_rate[i], reference.idle[i] = yaw, yaw_rate, False
        # A hold after it, or a velocity, goes on from where the path is.
        self._free[i] = True

    def _rest(self, state: VehicleState, rows: BoolArray) -> None:
        """Refer copies that follow no reference to where they are, so that nothing is integrated."""
        if not rows.any():
            return
        reference = self.reference
        reference.position[rows] = state.position[rows]
        reference.velocity[rows] = state.velocity[rows]
        reference.acceleration[rows] = reference.jerk[rows] = 0.0
        reference.yaw[rows] = np.arctan2(state.rotation[rows, 1, 0], state.rotation[rows, 0, 0])
        reference.yaw_rate[rows], reference.idle[rows] = 0.0, True
