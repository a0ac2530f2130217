"""Cascaded PID controller."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.arrays import Array, namespace, row_product
from pegasus.components import require
from pegasus.control.controller import Controller, check_gains
from pegasus.control.geometric import THRUST_SHARE, LimitedDemand
from pegasus.control.reference import Reference
from pegasus.control.trajectories.trajectory import Vec3
from pegasus.state import VehicleState

_LEAST_UPRIGHT = 0.5
"""Thrust makes up for the tilt down to this cosine of it."""


def angle_error(rotation: Array, thrust: Array, yaw: Array) -> Array:
    """Return what roll, pitch and heading lack of the wanted ones [rad], shape (N, 3).

    Roll and pitch are wanted such that each alone would turn the thrust into its direction.

    Args:
        rotation: Attitude, body to world, shape (N, 3, 3).
        thrust: Acceleration that is asked of the rotors, world frame, upwards [m/s^2], shape (N, 3).
        yaw: Wanted heading [rad], shape (N,).
    """
    xp = namespace(rotation)
    heading = xp.atan2(rotation[:, 1, 0], rotation[:, 0, 0])
    c, s = xp.cos(heading), xp.sin(heading)
    x, y, z = thrust[:, 0], thrust[:, 1], thrust[:, 2]
    roll = xp.atan2(rotation[:, 2, 1], rotation[:, 2, 2])
    pitch = -xp.asin(xp.minimum(xp.maximum(rotation[:, 2, 0], -1.0), 1.0))
    turn = xp.remainder(yaw - heading + math.pi, 2 * math.pi) - math.pi
    error: Array = xp.stack(
        [xp.atan2(x * s - y * c, z) - roll, xp.atan2(x * c + y * s, z) - pitch, turn], axis=-1
    )
    return error


@dataclass(eq=False)
class CascadedPIDController(Controller):
    """Follow position and heading by loops in loops, each axis for itself (Hector 2012, sec. 3.4).

    The outer loops turn errors of position and heading into velocities and a yaw rate, and those of
    horizontal velocity into roll and pitch; the inner loops hold attitude, yaw rate and vertical velocity.
    All gains are by unit of mass or inertia. Valid for moderate tilt, as all control by angles.
    """

    thrust_share: ClassVar[float] = THRUST_SHARE

    position_gain: Vec3 = (1.2, 1.2, 1.2)
    """Velocity by position error, along the world's axes [1/s]."""
    velocity_gain: Vec3 = (5.0, 5.0, 6.0)
    """Acceleration by velocity error [1/s]."""
    velocity_integral_gain: Vec3 = (1.0, 1.0, 2.0)
    """Acceleration by integrated velocity error [1/s^2]."""
    integral_limit: float = 3.0
    """Largest acceleration by integrated error, along each axis [m/s^2]."""
    attitude_gain: float = 120.0
    """Angular acceleration by roll or pitch error [1/s^2]."""
    attitude_integral_gain: float = 40.0
    """Angular acceleration by integrated roll or pitch error [1/s^3]."""
    attitude_rate_gain: float = 17.0
    """Angular acceleration against the roll and pitch rate [1/s]."""
    heading_gain: float = 3.0
    """Yaw rate by heading error [1/s]."""
    yaw_rate_gain: float = 9.0
    """Angular acceleration by yaw rate error [1/s]."""
    yaw_rate_integral_gain: float = 5.0
    """Angular acceleration by integrated yaw rate error [1/s^2]."""
    angular_integral_limit: float = 10.0
    """Largest angular acceleration by integrated error, about each axis [rad/s^2]."""
    tilt_limit: float = 0.6
    """Largest roll or pitch that is asked for [rad]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("position_gain", "velocity_gain"):
            check_gains(name, getattr(self, name))
        check_gains("velocity_integral_gain", self.velocity_integral_gain, zero_allowed=True)
        for name in ("attitude_gain", "attitude_rate_gain", "heading_gain", "yaw_rate_gain"):
            require(getattr(self, name) > 0, name, getattr(self, name), "must be above 0")
        for name in (
            "integral_limit",
            "attitude_integral_gain",
            "yaw_rate_integral_gain",
            "angular_integral_limit",
        ):
            require(getattr(self, name) >= 0, name, getattr(self, name), "must not be negative")
        limit = self.tilt_limit
        require(0 < limit <= 1.0, "tilt_limit", limit, "must be above 0 and at most 1 rad")

    def bind(self, vehicle: Any) -> None:
        """Take over the vehicle."""
        super().bind(vehicle)
        self._position_gain, self._velocity_gain = np.array(self.position_gain), np.array(self.velocity_gain)
        self._demand = LimitedDemand(
            self.velocity_integral_gain,
            integral_limit=self.integral_limit,
            tilt_limit=self.tilt_limit,
            count=self.count,
        )
        turn, spin = self.attitude_gain, self.yaw_rate_gain
        self._angle_gain = np.array([turn, turn, spin * self.heading_gain])
        self._rate_gain = np.array([self.attitude_rate_gain, self.attitude_rate_gain, spin])
        turn, spin = self.attitude_integral_gain, self.yaw_rate_integral_gain
        self._angle_integral_gain = np.array([turn, turn, spin * self.heading_gain])
        self._rate_integral_gain = np.array([0.0, 0.0, spin])
        self._force = np.zeros((self.count, 3))

    def reset(self) -> None:
        """Forget the integrated errors."""
        self._demand.reset()
        self._angular_integral = np.zeros((self.count, 3))

    def wrench(self, state: VehicleState, reference: Reference, dt: float) -> tuple[Array, Array]:
        """Return thrust along z and torque; see `Controller.wrench`."""
        thrust = self._outer(state, reference, dt)
        error = angle_error(state.rotation, thrust, reference.yaw)
        rate_error = -state.angular_velocity
        rate_error[:, 2] += reference.yaw_rate
        if dt > 0:
            integral = self._angular_integral + dt * (
                self._angle_integral_gain * error + self._rate_integral_gain * rate_error
            )
            limit = self.angular_integral_limit
            self._angular_integral = np.minimum(np.maximum(integral, -limit), limit)
        angular = self._angle_gain * error + self._rate_gain * rate_error + self._angular_integral
        self._force[:, 2] = self.mass * thrust[:, 2] / np.maximum(state.rotation[:, 2, 2], _LEAST_UPRIGHT)
        return self._force, row_product(angular, self.inertia)

    def _outer(self, state: VehicleState, reference: Reference, dt: float) -> Array:
        """Return the acceleration that is asked of the rotors, world frame [m/s^2], shape (N, 3)."""
        velocity_error = (
            reference.velocity + self._position_gain * (reference.position - state.position) - state.velocity
        )
        wanted = reference.acceleration - self.gravity + self._velocity_gain * velocity_error
        return self._demand.update(wanted, velocity_error, dt, highest=self.max_thrust / self.mass)
