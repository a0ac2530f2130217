"""Cascaded PID controller of position, velocity and attitude."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    asin,
    atan2,
    clamped,
    cos,
    maximum,
    rotate,
    rotate_inverse,
    scaled,
    sin,
    vector,
    wrapped,
)
from pegasus.control.control_step import Body, Setpoint, torque_of
from pegasus.control.controller import Controller, check_gains
from pegasus.control.geometric import THRUST_SHARE, integrated, limited_acceleration
from pegasus.control.per_copy import PerCopy, each
from pegasus.core.trajectory import Vec3 as Triple

_LEAST_UPRIGHT = 0.5
"""Least cosine of the tilt that thrust compensates."""


def angle_error(orientation: Quat, thrust: Vec3, yaw: Real) -> Vec3:
    """Return the errors of roll, pitch and heading [rad].

    The desired roll and pitch are those that each alone would align the thrust with its direction.

    Args:
        orientation: Attitude, unit quaternion, body to world.
        thrust: Desired acceleration by the rotors, world frame, upwards [m/s^2].
        yaw: Desired heading [rad].
    """
    forward = rotate(orientation, Vec3(1.0, 0.0, 0.0))
    up = rotate_inverse(orientation, Vec3(0.0, 0.0, 1.0))
    heading = atan2(forward[1], forward[0])
    c = cos(heading)
    s = sin(heading)
    roll = atan2(up[1], up[2])
    pitch = -asin(clamped(up[0], -1.0, 1.0))
    return Vec3(
        atan2(thrust[0] * s - thrust[1] * c, thrust[2]) - roll,
        atan2(thrust[0] * c + thrust[1] * s, thrust[2]) - pitch,
        wrapped(yaw - heading),
    )


def angular_loop(
    own: "CascadedPIDController", error: Vec3, rate_error: Vec3, angular_integral: Vec3, dt: Real
) -> tuple[Vec3, Vec3]:
    """Return the angular acceleration in the body frame [rad/s^2] of the inner loops, and its integral.

    Args:
        own: The controller.
        error: Errors of roll, pitch and heading [rad].
        rate_error: Errors of the body rates [rad/s].
        angular_integral: The integral before.
        dt: Time since the previous call [s].
    """
    turn = own.attitude_integral_gain
    spin = own.yaw_rate_integral_gain
    growth = Vec3(turn * error[0], turn * error[1], spin * (own.heading_gain * error[2] + rate_error[2])) * dt
    # Nothing freezes these integrals but their limit.
    angular_integral = integrated(angular_integral, growth, growth, growth, own.angular_integral_limit)
    turn = own.attitude_gain
    damping = own.attitude_rate_gain
    spin = own.yaw_rate_gain
    angular = angular_integral + Vec3(
        turn * error[0] + damping * rate_error[0],
        turn * error[1] + damping * rate_error[1],
        spin * (own.heading_gain * error[2] + rate_error[2]),
    )
    return angular, angular_integral


def cascaded_pid_law(
    own: "CascadedPIDController",
    body: Body,
    setpoint: Setpoint,
    integral: Vec3,
    angular_integral: Vec3,
    dt: Real,
) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Return thrust along z [N] and torque [N m], with the new integrals of linear and angular errors."""
    lag = setpoint.position - body.position
    velocity_error = setpoint.velocity + scaled(vector(own.position_gain), lag) - body.velocity
    demand = (
        setpoint.acceleration - body.gravity + scaled(vector(own.velocity_gain), velocity_error) + integral
    )
    thrust = limited_acceleration(demand, body, own.tilt_limit)
    change = scaled(vector(own.velocity_integral_gain), velocity_error) * dt
    integral = integrated(integral, change, demand, thrust, own.integral_limit)
    error = angle_error(body.orientation, thrust, setpoint.yaw)
    rate_error = Vec3(0.0, 0.0, setpoint.yaw_rate) - body.angular_velocity
    angular, angular_integral = angular_loop(own, error, rate_error, angular_integral, dt)
    upright = rotate_inverse(body.orientation, Vec3(0.0, 0.0, 1.0))[2]
    lift = body.mass * thrust[2] / maximum(upright, _LEAST_UPRIGHT)
    return Vec3(0.0, 0.0, lift), torque_of(body, angular), integral, angular_integral


@dataclass(eq=False)
class CascadedPIDController(Controller):
    """Position and heading controller of nested PID loops per axis (Hector 2012, sec. 3.4).

    The outer loops turn errors of position and heading into velocities and a yaw rate, and errors of
    horizontal velocity into roll and pitch; the inner loops control attitude, yaw rate and vertical velocity.
    All gains are per unit of mass or inertia. Valid for moderate tilt, like all control by Euler angles.
    """

    law: ClassVar[Any] = staticmethod(cascaded_pid_law)
    thrust_share: ClassVar[float] = THRUST_SHARE

    position_gain: PerCopy[Triple] = each((1.2, 1.2, 1.2))
    """Velocity by position error, along the world's axes [1/s]."""
    velocity_gain: PerCopy[Triple] = each((5.0, 5.0, 6.0))
    """Acceleration by velocity error [1/s]."""
    velocity_integral_gain: PerCopy[Triple] = each((1.0, 1.0, 2.0))
    """Acceleration by integrated velocity error [1/s^2]."""
    integral_limit: PerCopy[float] = each(3.0)
    """Largest acceleration by integrated error, along each axis [m/s^2]."""
    attitude_gain: PerCopy[float] = each(120.0)
    """Angular acceleration by roll or pitch error [1/s^2]."""
    attitude_integral_gain: PerCopy[float] = each(40.0)
    """Angular acceleration by integrated roll or pitch error [1/s^3]."""
    attitude_rate_gain: PerCopy[float] = each(17.0)
    """Angular acceleration against the roll and pitch rate [1/s]."""
    heading_gain: PerCopy[float] = each(3.0)
    """Yaw rate by heading error [1/s]."""
    yaw_rate_gain: PerCopy[float] = each(9.0)
    """Angular acceleration by yaw rate error [1/s]."""
    yaw_rate_integral_gain: PerCopy[float] = each(5.0)
    """Angular acceleration by integrated yaw rate error [1/s^2]."""
    angular_integral_limit: PerCopy[float] = each(10.0)
    """Largest angular acceleration by integrated error, about each axis [rad/s^2]."""
    tilt_limit: PerCopy[float] = each(0.6)
    """Largest commanded roll or pitch [rad]."""

    def check(self) -> None:
        """Raise a ConfigError unless the parameters are allowed; see `Controller.check`."""
        super().check()
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
