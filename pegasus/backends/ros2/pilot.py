"""Pilots of vehicles commanded over ROS 2: demands to commands, by the geometric controller or directly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.backends.ros2.demand import Demand, Mode
from pegasus.base.arrays import Array, BoolArray
from pegasus.base.frames import quaternion_from_euler
from pegasus.contracts.state import Reference, VehicleState
from pegasus.control import GeometricController, trajectories
from pegasus.control.guided import guided_geometric_law
from pegasus.control.guided_step import ATTITUDE, TARGET
from pegasus.core.aircraft import Aircraft

_ACCELERATION = 4.0
"""Maximum acceleration towards a commanded velocity [m/s^2]."""
_MAX_LEAD = 1.0
"""Maximum distance from the vehicle to the point moved by a commanded velocity, level and upright [m]."""
_MAX_LEAD_SPEED = 2.0
"""Maximum difference between the velocity of that point and the vehicle's, level and upright [m/s]."""
_MAX_LEAD_ANGLE = 1.0
"""Maximum angle from the vehicle's heading to that of the point [rad]."""
_MAX_TURN = 3.5
"""Maximum rate of the heading that is followed [rad/s], 200 degrees per second."""


def limited_step(velocity: Array, target: Array, limit: float) -> Array:
    """Return a velocity moved towards a target by a limited change [m/s], shape (..., 3).

    Args:
        velocity: Present velocity [m/s], shape (..., 3).
        target: Target velocity [m/s], shape (..., 3).
        limit: Maximum length of the change [m/s].
    """
    change = target - velocity
    length = np.sqrt((change * change).sum(axis=-1, keepdims=True))
    moved: Array = velocity + change * np.minimum(1.0, limit / np.maximum(length, 1e-12))
    return moved


def clipped_offset(offset: Array, limit: float) -> Array:
    """Return an offset with its horizontal and its vertical part shortened to a limit each, shape (3,).

    They are apart so that a speed out of reach does not cost height.

    Args:
        offset: The offset, shape (3,).
        limit: Maximum length of each part.
    """
    x, y, z = offset.tolist()
    share = min(1.0, limit / max(math.hypot(x, y), 1e-12))
    return np.array([x * share, y * share, min(max(z, -limit), limit)])


@dataclass(eq=False)
class _AttitudeController(GeometricController):
    """Geometric controller that follows attitude and thrust for some of its vehicles."""

    law: ClassVar[Any] = staticmethod(guided_geometric_law)


class DirectPilot:
    """Pilot of copies of a vehicle that are commanded by channel only.

    Args:
        timeout: Maximum age of a followed command [s].
    """

    reference: Reference | None = None
    """There is none."""

    def __init__(self, *, timeout: float) -> None:
        self._timeout = timeout

    def command(self, t: float, state: VehicleState, demands: Sequence[Demand]) -> Array:
        """Return the commands, shape (N, U); see `Pilot.command`."""
        return np.array([demand.of_channels(t, self._timeout) for demand in demands])


class Pilot:
    """Pilot of N copies of a vehicle, each by its own demand.

    Args:
        vehicle: The vehicle.
        timeout: Maximum age of a followed command [s].
        hold: Whether a vehicle holds its position after the timeout; else its rotors stop.

    Raises:
        ConfigError: If its rotors cannot control it.
    """

    def __init__(self, vehicle: Aircraft, *, timeout: float, hold: bool) -> None:
        n = vehicle.count
        self._timeout, self._hold = timeout, hold
        self._controller = _AttitudeController(trajectories.idle())
        self._controller.bind(vehicle)
        inputs = self._controller.columns
        self._directive, self._attitude, self._lift = (inputs[k] for k in ("directive", "attitude", "lift"))
        self.reference = Reference.hold(np.zeros((n, 3)), np.zeros(n))
        """Reference of vehicles commanded by velocity or path; live arrays."""
        self.reference.idle[...] = True
        self._flies = np.zeros(n, dtype=bool)
        self._free = np.zeros(n, dtype=bool)
        self._speeds = np.zeros((n, vehicle.rotor_count))
        self._time = -math.inf

    def command(self, t: float, state: VehicleState, demands: Sequence[Demand]) -> Array:
        """Return the commands, shape (N, U): rotor speeds [rad/s].

        Args:
            t: Simulation time [s].
            state: True state at t; live arrays.
            demands: Demand of each copy.
        """
        dt = t - self._time if math.isfinite(self._time) else 0.0
        self._time = t
        flies = np.zeros(len(demands), dtype=bool)
        self._directive[...] = TARGET
        for i, demand in enumerate(demands):
            flies[i] = self._flown(i, demand, t, state, dt)
        if not flies.any():
            if self._flies.any():
                self._rest(state, ~flies)
            self._flies = flies
            return self._speeds
        self._controller.look_up(t, state)
        self._rest(state, ~flies | (self._directive == ATTITUDE))
        if not self._flies.any():
            self._controller.reset(np.arange(len(flies)))
        self._flies = flies
        speeds = self._controller.rotor_speed(state, self.reference, dt)
        self._speeds[flies] = speeds[flies]
        return self._speeds

    def _flown(self, i: int, demand: Demand, t: float, state: VehicleState, dt: float) -> bool:
        """Update the reference of one copy; return whether the controller flies it."""
        mode, overdue = demand.mode, t - demand.stamp > self._timeout
        if mode is Mode.NONE or (overdue and not self._hold):
            self._speeds[i], self._free[i] = 0.0, False
            return False
        if overdue:
            self._follow_velocity(i, (0.0, 0.0, 0.0), 0.0, state, dt)
            return True
        if mode is Mode.CHANNELS:
            # Each channel has its own timeout.
            self._speeds[i], self._free[i] = demand.of_channels(t, self._timeout), False
            return False
        if mode is Mode.ATTITUDE:
            self._directive[i], self._free[i] = ATTITUDE, False
            self._attitude[i], self._lift[i] = quaternion_from_euler(*demand.attitude), demand.thrust
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
            # Begin at the vehicle's motion, without a jump.
            self._free[i] = True
            reference.position[i], reference.velocity[i] = state.position[i], state.velocity[i]
            reference.yaw[i] = state.heading[i]
            dt = 0.0
        yaw_rate = min(max(yaw_rate, -_MAX_TURN), _MAX_TURN)
        heading = state.heading[i]
        lead = math.remainder(reference.yaw[i] + yaw_rate * dt - heading, 2 * math.pi)
        yaw = heading + min(max(lead, -_MAX_LEAD_ANGLE), _MAX_LEAD_ANGLE)
        c, s = math.cos(yaw), math.sin(yaw)
        forward, left, up = velocity
        wanted = np.array([c * forward - s * left, s * forward + c * left, up])
        before = reference.velocity[i].copy()
        now = limited_step(before, wanted, _ACCELERATION * dt)
        offset = reference.position[i] + dt / 2 * (before + now) - state.position[i]
        # The point waits for a vehicle that cannot go as fast, so that the next command is obeyed at once.
        reference.position[i] = state.position[i] + clipped_offset(offset, _MAX_LEAD)
        reference.velocity[i] = state.velocity[i] + clipped_offset(now - state.velocity[i], _MAX_LEAD_SPEED)
        reference.acceleration[i] = (now - before) / dt if dt > 0 else 0.0
        reference.jerk[i] = 0.0
        reference.yaw[i], reference.yaw_rate[i], reference.idle[i] = yaw, yaw_rate, False

    def _follow_path(self, i: int, demand: Demand, t: float) -> None:
        assert demand.path is not None
        reference = self.reference
        motion, yaw, yaw_rate = demand.path.at(t - demand.path_begin)
        yaw_rate = min(max(yaw_rate, -_MAX_TURN), _MAX_TURN)
        reference.position[i], reference.velocity[i], reference.acceleration[i], reference.jerk[i] = motion
        reference.yaw[i], reference.yaw_rate[i], reference.idle[i] = yaw, yaw_rate, False
        # A later hold or velocity continues from the path.
        self._free[i] = True

    def _rest(self, state: VehicleState, rows: BoolArray) -> None:
        """Set the reference of copies that follow none to their own state, so that no error is integrated."""
        if not rows.any():
            return
        reference = self.reference
        reference.position[rows] = state.position[rows]
        reference.velocity[rows] = state.velocity[rows]
        reference.acceleration[rows] = reference.jerk[rows] = 0.0
        reference.yaw[rows] = state.heading[rows]
        reference.yaw_rate[rows], reference.idle[rows] = 0.0, True
