"""Cascaded PID controller of position, velocity and attitude."""

import math
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
from pegasus.contracts.trajectory import Vec3 as Triple
from pegasus.control.approach import THRUST_SHARE, eased, eased_position, eased_tilt
from pegasus.control.control_step import Body, lead_compensation, lift_in_climb, torque_of
from pegasus.control.controller import Controller
from pegasus.control.geometric import integrated, integrated_axis, limited_acceleration
from pegasus.control.mission_step import Setpoint
from pegasus.control.per_copy import DERIVED, Derived, PerCopy, each
from pegasus.control.tuning import Tuning, check_gains

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
    heading = eased(error[2], own.heading_gain, own.yaw_acceleration)
    spin = own.heading_gain * heading + rate_error[2]
    yawing = own.yaw_rate_gain * spin
    turn = own.attitude_integral_gain * dt
    limit = own.angular_integral_limit
    growth = Vec3(turn * error[0], turn * error[1], own.yaw_rate_integral_gain * spin * dt)
    # Nothing freezes the integrals of roll and pitch but their limit; that of yaw stops where the yaw torque
    # of the rotors may end.
    most = maximum(own.yaw_acceleration, 1e-9)
    angular_integral = Vec3(
        integrated_axis(angular_integral[0], growth[0], 0.0, 0.0, limit),
        integrated_axis(angular_integral[1], growth[1], 0.0, 0.0, limit),
        integrated_axis(angular_integral[2], growth[2], yawing, clamped(yawing, -most, most), limit),
    )
    turn = own.attitude_gain
    damping = own.attitude_rate_gain
    error = eased_tilt(error, turn / damping, own.tilt_acceleration)
    angular = angular_integral + Vec3(
        turn * error[0] + damping * rate_error[0], turn * error[1] + damping * rate_error[1], yawing
    )
    return angular, angular_integral


def cascaded_pid_law(
    own: "CascadedPIDController",
    body: Body,
    setpoint: Setpoint,
    integral: Vec3,
    angular_integral: Vec3,
    turned: Vec3,
    dt: Real,
) -> tuple[Vec3, Vec3, Vec3, Vec3, Vec3]:
    """Return thrust along z [N] and torque [N m], with the new integrals of linear and angular errors.

    The last state is the angular velocity at the previous call [rad/s].
    """
    lag = eased_position(setpoint.position - body.position, vector(own.position_gain), body, own.tilt_limit)
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
    lift = lift_in_climb(body, lift, setpoint.velocity)
    torque = lead_compensation(own.torque_lead, body, torque_of(body, angular), turned, dt)
    return Vec3(0.0, 0.0, lift), torque, integral, angular_integral, body.angular_velocity


@dataclass(eq=False)
class CascadedPIDController(Controller):
    """Position and heading controller of nested PID loops per axis (Hector 2012, sec. 3.4).

    The outer loops turn errors of position and heading into velocities and a yaw rate, and errors of
    horizontal velocity into roll and pitch; the inner loops control attitude, yaw rate and vertical velocity.
    All gains are per unit of mass or inertia. Valid for moderate tilt, like all control by Euler angles.
    """

    law: ClassVar[Any] = staticmethod(cascaded_pid_law)
    thrust_share: ClassVar[float] = THRUST_SHARE

    position_gain: Derived[Triple] = DERIVED
    """Velocity by position error, along the world's axes [1/s]; by default derived from the vehicle."""
    velocity_gain: Derived[Triple] = DERIVED
    """Acceleration by velocity error [1/s]; by default derived from the vehicle."""
    velocity_integral_gain: Derived[Triple] = DERIVED
    """Acceleration by integrated velocity error [1/s^2]; by default derived from the vehicle."""
    integral_limit: PerCopy[float] = each(3.0)
    """Largest acceleration by integrated error, along each axis [m/s^2]."""
    attitude_gain: Derived[float] = DERIVED
    """Angular acceleration by roll or pitch error [1/s^2]; by default derived from the vehicle."""
    attitude_integral_gain: Derived[float] = DERIVED
    """Angular acceleration by integrated roll or pitch error [1/s^3]; by default derived from the vehicle."""
    attitude_rate_gain: Derived[float] = DERIVED
    """Angular acceleration against the roll and pitch rate [1/s]; by default derived from the vehicle."""
    torque_lead: Derived[float] = DERIVED
    """Share of missing roll and pitch torque, by the angular acceleration, that is added to the command; by
    default derived from the motors' lag, and 0 if a gain of attitude or rate is given."""
    tilt_acceleration: Derived[float] = DERIVED
    """Angular acceleration planned to stop at a roll and pitch [rad/s^2]; by default derived from the
    vehicle, and without limit if a gain of attitude or rate is given."""
    heading_gain: Derived[float] = DERIVED
    """Yaw rate by heading error [1/s]; by default derived from the vehicle."""
    yaw_rate_gain: Derived[float] = DERIVED
    """Angular acceleration by yaw rate error [1/s]; by default derived from the vehicle."""
    yaw_rate_integral_gain: Derived[float] = DERIVED
    """Angular acceleration by integrated yaw rate error [1/s^2]; by default derived from the vehicle."""
    yaw_acceleration: Derived[float] = DERIVED
    """Angular acceleration planned to stop at a heading [rad/s^2]; by default derived from the vehicle."""
    angular_integral_limit: PerCopy[float] = each(10.0)
    """Largest angular acceleration by integrated error, about each axis [rad/s^2]."""
    tilt_limit: PerCopy[float] = each(0.6)
    """Largest commanded roll or pitch [rad]."""

    def check(self) -> None:
        """Raise a ConfigError unless the parameters are allowed; see `Controller.check`."""
        super().check()
        check_gains(self, "position_gain", "velocity_gain", "attitude_gain", "attitude_rate_gain")
        check_gains(self, "heading_gain", "yaw_rate_gain", "tilt_acceleration", "yaw_acceleration")
        check_gains(self, "velocity_integral_gain", "attitude_integral_gain", zero_allowed=True)
        check_gains(self, "yaw_rate_integral_gain", "torque_lead", zero_allowed=True)
        check_gains(self, "integral_limit", "angular_integral_limit", zero_allowed=True)
        limit = self.tilt_limit
        require(0 < limit <= 1.0, "tilt_limit", limit, "must be above 0 and at most 1 rad")

    def derive(self, tuning: Tuning) -> None:
        """Set the gains that are not given; see `Controller.derive`."""
        self._default("position_gain", (tuning.position / tuning.velocity,) * 3)
        self._default("velocity_gain", (tuning.velocity,) * 3)
        self._default("velocity_integral_gain", (tuning.velocity * tuning.integral,) * 3)
        own_attitude = self.attitude_gain is not None or self.attitude_rate_gain is not None
        self._default("torque_lead", 0.0 if own_attitude else tuning.torque_lead)
        self._default("tilt_acceleration", math.inf if own_attitude else tuning.tilt_acceleration)
        self._default("attitude_gain", tuning.attitude)
        self._default("attitude_integral_gain", tuning.attitude * tuning.integral)
        self._default("attitude_rate_gain", tuning.rate)
        self._default("heading_gain", tuning.heading)
        self._default("yaw_rate_gain", tuning.yaw_rate)
        self._default("yaw_rate_integral_gain", tuning.yaw_rate * tuning.integral)
        self._default("yaw_acceleration", tuning.yaw_acceleration)
