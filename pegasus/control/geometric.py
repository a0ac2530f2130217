"""Geometric controller on SE(3)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.arrays import Array, namespace, row_product
from pegasus.components import require
from pegasus.control.controller import Controller, check_gains
from pegasus.control.reference import Reference
from pegasus.control.trajectories.trajectory import Vec3
from pegasus.frames import cross, matrix_product, rotate, rotate_inverse
from pegasus.state import VehicleState

# The entries of a matrix M, row by row, to the vector of M - M^T and the trace.
_VEE_AND_TRACE = np.zeros((9, 4))
for _entry, _column, _sign in ((7, 0, 1), (5, 0, -1), (2, 1, 1), (6, 1, -1), (3, 2, 1), (1, 2, -1)):
    _VEE_AND_TRACE[_entry, _column] = _sign
_VEE_AND_TRACE[[0, 4, 8], 3] = 1.0

_HALF_TURN = 1e-9
"""Below this value of 1 + trace two attitudes are taken to be half a turn apart."""

_LOWEST = 1.0
"""Smallest vertical acceleration that is asked of the rotors [m/s^2]: the thrust keeps a direction."""

THRUST_SHARE = 0.9
"""Share of the largest thrust that is used for acceleration; what is kept back can turn the vehicle."""


def limit_acceleration(demand: Array, *, lowest: float, highest: Array, steepest: float) -> Array:
    """Return the acceleration that is asked of the rotors within what they can give, shape (N, 3).

    The vertical part is kept before the horizontal one, which is scaled down to the tilt limit and to what
    is left of the largest acceleration.

    Args:
        demand: Wanted acceleration of the rotors, world frame [m/s^2], shape (N, 3).
        lowest: Smallest vertical part, above 0 [m/s^2].
        highest: Largest acceleration [m/s^2], shape (N,).
        steepest: Tangent of the largest tilt.
    """
    xp = namespace(demand)
    x, y, z = demand[:, 0], demand[:, 1], demand[:, 2]
    up = xp.minimum(xp.maximum(z, lowest), highest)
    horizontal = xp.sqrt(x * x + y * y)
    allowed = xp.minimum(up * steepest, xp.sqrt(highest * highest - up * up))
    scale = allowed / xp.maximum(xp.maximum(horizontal, allowed), 1e-12)
    limited: Array = xp.stack([x * scale, y * scale, up], axis=-1)
    return limited


class LimitedDemand:
    """What is asked of the rotors of N vehicles: a wanted acceleration and an integrated error, limited.

    Nothing is integrated along an axis that is at its limit, so that nothing winds up.

    Args:
        gain: Rate of the integral by the error, along the world's axes.
        integral_limit: Largest acceleration by the integral, along each axis [m/s^2].
        tilt_limit: Largest tilt [rad].
        count: Number of vehicles N.
    """

    def __init__(self, gain: Vec3, *, integral_limit: float, tilt_limit: float, count: int) -> None:
        self._gain, self._limit, self._steepest = np.array(gain), integral_limit, math.tan(tilt_limit)
        self._integral = np.zeros((count, 3))

    def reset(self) -> None:
        """Forget what was integrated."""
        self._integral[...] = 0.0

    def update(self, wanted: Array, error: Array, dt: float, *, highest: Array) -> Array:
        """Return the acceleration that is asked of the rotors, world frame [m/s^2], shape (N, 3).

        Args:
            wanted: Wanted acceleration without the integral, world frame [m/s^2], shape (N, 3).
            error: Error to integrate, shape (N, 3).
            dt: Time since the last call [s].
            highest: Largest acceleration that the rotors can give [m/s^2], shape (N,).
        """
        demand = wanted + self._integral
        limited = limit_acceleration(
            demand, lowest=_LOWEST, highest=highest * THRUST_SHARE, steepest=self._steepest
        )
        if dt > 0:
            integral = self._integral + dt * self._gain * error * (limited == demand)
            self._integral = np.minimum(np.maximum(integral, -self._limit), self._limit)
        return limited


def attitude_from_thrust(thrust: Array, jerk: Array, yaw: Array, yaw_rate: Array) -> tuple[Array, Array]:
    """Return the transposed attitude (N, 3, 3) and the body rates (N, 3) that a trajectory asks for.

    The z axis is along the thrust, the x axis as near to the heading as that allows (Mellinger and Kumar
    2011). The rates are exact for the given jerk: roll and pitch rate turn the thrust, the yaw
    rate keeps the y axis across the heading (Faessler, Franchi and Scaramuzza 2018).

    Args:
        thrust: Acceleration by the rotors, world frame, not level [m/s^2], shape (N, 3).
        jerk: Rate of the acceleration, world frame [m/s^3], shape (N, 3).
        yaw: Heading [rad], shape (N,).
        yaw_rate: Rate of the heading [rad/s], shape (N,).
    """
    xp = namespace(thrust)
    fx, fy, fz = thrust[:, 0], thrust[:, 1], thrust[:, 2]
    inverse = 1.0 / xp.sqrt(fx * fx + fy * fy + fz * fz)
    x, y, z = fx * inverse, fy * inverse, fz * inverse
    c, s = xp.cos(yaw), xp.sin(yaw)
    across = x * s - y * c
    level = 1.0 / xp.sqrt(z * z + across * across)
    y1, y2, y3 = -z * s * level, z * c * level, across * level
    attitude = xp.stack([y2 * z - y3 * y, y3 * x - y1 * z, y1 * y - y2 * x, y1, y2, y3, x, y, z], axis=-1)
    attitude = xp.reshape(attitude, (-1, 3, 3))
    turn = rotate(attitude, jerk) * inverse[:, None]
    roll_rate = -turn[:, 1]
    heading_rate = (roll_rate * (x * c + y * s) + yaw_rate * z * level) * level
    rates: Array = xp.stack([roll_rate, turn[:, 0], heading_rate], axis=-1)
    return attitude, rates


def attitude_error(difference: Array) -> Array:
    """Return the rotation from the wanted to the true attitude as 2 sin(angle / 2) about its axis, (N, 3).

    For small angles it is the error of Lee, Leok and McClamroch (2010); unlike that one it does not fade
    beyond a right angle (Lee 2012), so that a vehicle on its back turns over at once.

    Args:
        difference: Wanted attitude transposed times true attitude, shape (N, 3, 3).
    """
    xp = namespace(difference)
    table = _VEE_AND_TRACE if isinstance(difference, np.ndarray) else xp.asarray(_VEE_AND_TRACE)
    vee_and_trace = row_product(xp.reshape(difference, (-1, 9)), table)
    nearness = 1.0 + vee_and_trace[:, 3:]
    error: Array = vee_and_trace[:, :3] / xp.sqrt(xp.maximum(nearness, _HALF_TURN))
    if isinstance(error, np.ndarray) and nearness.min() > _HALF_TURN:
        return error
    # Half a turn about n: the difference is 2 n n^T - 1, and n either way is as near.
    squares = difference + xp.eye(3)
    lengths = xp.sum(squares * squares, axis=1, keepdims=True)
    best = xp.argmax(lengths, axis=-1)[..., None]
    axis = xp.take_along_axis(squares / xp.sqrt(xp.maximum(lengths, _HALF_TURN)), best, axis=-1)[..., 0]
    either: Array = xp.where(nearness > _HALF_TURN, error, 2.0 * axis)
    return either


@dataclass(eq=False)
class GeometricController(Controller):
    """Follow position and heading with feed-forward of velocity, acceleration and jerk.

    The wanted acceleration turns into thrust along the vehicle's z axis and into an attitude, which is
    controlled on SO(3) without angles (Mellinger and Kumar 2011; Lee, Leok and McClamroch 2010). The gains
    are accelerations, so that they fly any airframe; the defaults are those of Pegasus for its Iris
    (10, 8.5, 1.5, 3.5, 0.5 for 1.5 kg).
    """

    thrust_share: ClassVar[float] = THRUST_SHARE

    position_gain: Vec3 = (6.7, 6.7, 6.7)
    """Acceleration by position error, along the world's axes [1/s^2]."""
    velocity_gain: Vec3 = (5.7, 5.7, 5.7)
    """Acceleration by velocity error [1/s]."""
    integral_gain: Vec3 = (1.0, 1.0, 1.0)
    """Acceleration by integrated position error [1/s^3]."""
    integral_limit: float = 3.0
    """Largest acceleration by integrated error, along each axis [m/s^2]."""
    attitude_gain: Vec3 = (120.0, 120.0, 60.0)
    """Angular acceleration by attitude error, about the body's axes [1/s^2]."""
    rate_gain: Vec3 = (17.0, 17.0, 9.0)
    """Angular acceleration by rate error [1/s]."""
    tilt_limit: float = 1.0
    """Largest tilt that is asked for [rad]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("position_gain", "velocity_gain", "attitude_gain", "rate_gain"):
            check_gains(name, getattr(self, name))
        check_gains("integral_gain", self.integral_gain, zero_allowed=True)
        require(self.integral_limit >= 0, "integral_limit", self.integral_limit, "must not be negative")
        limit = self.tilt_limit
        require(0 < limit <= 1.4, "tilt_limit", limit, "must be above 0 and at most 1.4 rad (80 degrees)")

    def bind(self, vehicle: Any) -> None:
        """Take over the vehicle, and turn gains into torques by its inertia."""
        super().bind(vehicle)
        self._position_gain, self._velocity_gain = np.array(self.position_gain), np.array(self.velocity_gain)
        self._demand = LimitedDemand(
            self.integral_gain,
            integral_limit=self.integral_limit,
            tilt_limit=self.tilt_limit,
            count=self.count,
        )
        # Row vectors multiply from the left: these are the transposes of -J diag(gain).
        self._attitude_torque = -(self.inertia * np.array(self.attitude_gain)).T
        self._rate_torque = -(self.inertia * np.array(self.rate_gain)).T
        self._momentum = self.inertia.T.copy()
        self._force = np.zeros((self.count, 3))

    def reset(self) -> None:
        """Forget the integrated position error."""
        self._demand.reset()

    def wrench(self, state: VehicleState, reference: Reference, dt: float) -> tuple[Array, Array]:
        """Return thrust along z and torque; see `Controller.wrench`."""
        error = reference.position - state.position
        wanted = (
            reference.acceleration
            - self.gravity
            + self._position_gain * error
            + self._velocity_gain * (reference.velocity - state.velocity)
        )
        thrust = self._demand.update(wanted, error, dt, highest=self.max_thrust / self.mass)
        attitude, wanted_rates = attitude_from_thrust(
            thrust, reference.jerk, reference.yaw, reference.yaw_rate
        )
        difference = matrix_product(attitude, state.rotation)
        rates = state.angular_velocity
        rate_error = rates - rotate_inverse(difference, wanted_rates)
        torque = (
            row_product(attitude_error(difference), self._attitude_torque)
            + row_product(rate_error, self._rate_torque)
            + cross(rates, row_product(rates, self._momentum))
        )
        self._force[:, 2] = self.mass * rotate_inverse(state.rotation, thrust)[:, 2]
        return self._force, torque
