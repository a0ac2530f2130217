"""Geometric controller on SE(3)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.base.step_math import (
    Real,
    Vec3,
    clamped,
    cos,
    cross,
    dot,
    maximum,
    minimum,
    norm,
    rotate_inverse,
    scaled,
    sin,
    sqrt,
    tan,
    vector,
)
from pegasus.control.control_step import Body, Setpoint, torque_of
from pegasus.control.controller import Controller, check_gains
from pegasus.control.per_copy import PerCopy, each
from pegasus.core.trajectory import Vec3 as Triple

_HALF_TURN = 1e-9
"""Value of 1 + trace below which two attitudes are half a turn apart."""

_LOWEST = 1.0
"""Least commanded vertical acceleration [m/s^2], so that the thrust has a direction."""

THRUST_SHARE = 0.9
"""Share of the largest thrust used for acceleration; the rest is reserved for attitude control."""


def limited_acceleration(demand: Vec3, body: Body, tilt_limit: Real) -> Vec3:
    """Return the commanded acceleration within the rotors' limits.

    The vertical component has priority; the horizontal one is scaled down to the tilt limit and to the rest
    of the largest acceleration.

    Args:
        demand: Desired acceleration by the rotors, world frame [m/s^2].
        body: The vehicle.
        tilt_limit: Largest tilt [rad].
    """
    highest = body.max_thrust / body.mass * THRUST_SHARE
    up = minimum(maximum(demand[2], _LOWEST), highest)
    horizontal = sqrt(demand[0] * demand[0] + demand[1] * demand[1])
    allowed = minimum(up * tan(tilt_limit), sqrt(highest * highest - up * up))
    scale = allowed / maximum(maximum(horizontal, allowed), 1e-12)
    return Vec3(demand[0] * scale, demand[1] * scale, up)


def integrated(integral: Vec3, change: Vec3, demand: Vec3, limited: Vec3, limit: Real) -> Vec3:
    """Return the integral of an error, frozen along axes at their limit (anti-windup).

    Args:
        integral: Acceleration by the integral so far [m/s^2].
        change: Its change over the step [m/s^2].
        demand: Desired acceleration, world frame [m/s^2].
        limited: Commanded acceleration, world frame [m/s^2].
        limit: Largest acceleration by the integral along each axis [m/s^2].
    """
    return Vec3(
        integrated_axis(integral[0], change[0], demand[0], limited[0], limit),
        integrated_axis(integral[1], change[1], demand[1], limited[1], limit),
        integrated_axis(integral[2], change[2], demand[2], limited[2], limit),
    )


def integrated_axis(integral: Real, change: Real, demand: Real, limited: Real, limit: Real) -> Real:
    """Return the integral along one axis; see `integrated`."""
    if demand != limited:
        return clamped(integral, -limit, limit)
    return clamped(integral + change, -limit, limit)


def attitude_from_thrust(
    thrust: Vec3, jerk: Vec3, yaw: Real, yaw_rate: Real
) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Return the desired body axes x, y and z in the world, and the body rates [rad/s], of a trajectory.

    The z axis is along the thrust, the x axis as close to the heading as possible (Mellinger and Kumar 2011).
    The rates are exact for the given jerk: roll and pitch rate rotate the thrust, the yaw rate keeps the y
    axis perpendicular to the heading (Faessler, Franchi and Scaramuzza 2018).

    Args:
        thrust: Acceleration by the rotors, world frame, not horizontal [m/s^2].
        jerk: Rate of the acceleration, world frame [m/s^3].
        yaw: Heading [rad].
        yaw_rate: Rate of the heading [rad/s].
    """
    inverse = 1.0 / norm(thrust)
    z_axis = thrust * inverse
    c = cos(yaw)
    s = sin(yaw)
    across = z_axis[0] * s - z_axis[1] * c
    level = 1.0 / sqrt(z_axis[2] * z_axis[2] + across * across)
    y_axis = Vec3(-z_axis[2] * s * level, z_axis[2] * c * level, across * level)
    x_axis = cross(y_axis, z_axis)
    roll_rate = -dot(y_axis, jerk) * inverse
    heading_rate = (roll_rate * (z_axis[0] * c + z_axis[1] * s) + yaw_rate * z_axis[2] * level) * level
    return x_axis, y_axis, z_axis, Vec3(roll_rate, dot(x_axis, jerk) * inverse, heading_rate)


def attitude_error(x: Vec3, y: Vec3, z: Vec3) -> Vec3:
    """Return the rotation from the desired to the true attitude as 2 sin(angle / 2) about its axis.

    For small angles it is the error of Lee, Leok and McClamroch (2010); unlike that error it does not
    decrease beyond a right angle (Lee 2012), so that an inverted vehicle recovers at once.

    Args:
        x: First row of the transposed desired attitude times the true attitude: the desired x axis in the
            body frame.
        y: Second row: the desired y axis in the body frame.
        z: Third row: the desired z axis in the body frame.
    """
    nearness = 1.0 + (x[0] + y[1] + z[2])
    if nearness > _HALF_TURN:
        return Vec3(z[1] - y[2], x[2] - z[0], y[0] - x[1]) * (1.0 / sqrt(nearness))
    # Half a turn about n: the difference is 2 n n^T - 1, and both signs of n are equivalent.
    best = Vec3(x[0] + 1.0, y[0], z[0])
    other = Vec3(x[1], y[1] + 1.0, z[1])
    if norm(other) > norm(best):
        best = other
    other = Vec3(x[2], y[2], z[2] + 1.0)
    if norm(other) > norm(best):
        best = other
    return best * (2.0 / norm(best))


def attitude_torque(own: "GeometricController", body: Body, x: Vec3, y: Vec3, z: Vec3, rates: Vec3) -> Vec3:
    """Return the torque that controls the attitude [N m].

    Args:
        own: The controller.
        body: The vehicle.
        x: Desired x axis in the body frame.
        y: Desired y axis in the body frame.
        z: Desired z axis in the body frame.
        rates: Desired body rates, in the desired frame [rad/s].
    """
    turning = body.angular_velocity
    rate_error = turning - (x * rates[0] + y * rates[1] + z * rates[2])
    angular = scaled(vector(own.attitude_gain), attitude_error(x, y, z))
    angular = angular + scaled(vector(own.rate_gain), rate_error)
    return cross(turning, torque_of(body, turning)) - torque_of(body, angular)


def geometric_law(
    own: "GeometricController", body: Body, setpoint: Setpoint, integral: Vec3, dt: Real
) -> tuple[Vec3, Vec3, Vec3]:
    """Return thrust along z [N] and torque [N m], with the new integral of the position error."""
    error = setpoint.position - body.position
    demand = (
        setpoint.acceleration
        - body.gravity
        + scaled(vector(own.position_gain), error)
        + scaled(vector(own.velocity_gain), setpoint.velocity - body.velocity)
        + integral
    )
    thrust = limited_acceleration(demand, body, own.tilt_limit)
    change = scaled(vector(own.integral_gain), error) * dt
    integral = integrated(integral, change, demand, thrust, own.integral_limit)
    x, y, z, rates = attitude_from_thrust(thrust, setpoint.jerk, setpoint.yaw, setpoint.yaw_rate)
    torque = attitude_torque(
        own,
        body,
        rotate_inverse(body.orientation, x),
        rotate_inverse(body.orientation, y),
        rotate_inverse(body.orientation, z),
        rates,
    )
    lift = body.mass * rotate_inverse(body.orientation, thrust)[2]
    return Vec3(0.0, 0.0, lift), torque, integral


@dataclass(eq=False)
class GeometricController(Controller):
    """Geometric controller of position and heading with feed-forward of velocity, acceleration and jerk.

    The desired acceleration gives the thrust along the vehicle's z axis and the attitude, which is controlled
    on SO(3) (Mellinger and Kumar 2011; Lee, Leok and McClamroch 2010). The gains are accelerations, so that
    they suit any airframe; the defaults are those of Pegasus Simulator for its Iris (10, 8.5, 1.5, 3.5, 0.5
    for 1.5 kg).
    """

    law: ClassVar[Any] = staticmethod(geometric_law)
    thrust_share: ClassVar[float] = THRUST_SHARE

    position_gain: PerCopy[Triple] = each((6.7, 6.7, 6.7))
    """Acceleration by position error, along the world's axes [1/s^2]."""
    velocity_gain: PerCopy[Triple] = each((5.7, 5.7, 5.7))
    """Acceleration by velocity error [1/s]."""
    integral_gain: PerCopy[Triple] = each((1.0, 1.0, 1.0))
    """Acceleration by integrated position error [1/s^3]."""
    integral_limit: PerCopy[float] = each(3.0)
    """Largest acceleration by integrated error, along each axis [m/s^2]."""
    attitude_gain: PerCopy[Triple] = each((120.0, 120.0, 60.0))
    """Angular acceleration by attitude error, about the body's axes [1/s^2]."""
    rate_gain: PerCopy[Triple] = each((17.0, 17.0, 9.0))
    """Angular acceleration by rate error [1/s]."""
    tilt_limit: PerCopy[float] = each(1.0)
    """Largest commanded tilt [rad]."""

    def check(self) -> None:
        """Raise a ConfigError unless the parameters are allowed; see `Controller.check`."""
        super().check()
        for name in ("position_gain", "velocity_gain", "attitude_gain", "rate_gain"):
            check_gains(name, getattr(self, name))
        check_gains("integral_gain", self.integral_gain, zero_allowed=True)
        require(self.integral_limit >= 0, "integral_limit", self.integral_limit, "must not be negative")
        limit = self.tilt_limit
        require(0 < limit <= 1.4, "tilt_limit", limit, "must be above 0 and at most 1.4 rad (80 degrees)")
