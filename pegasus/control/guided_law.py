"""Control laws of guided flight: attitude or body rates in place of the reference, where commanded."""

from pegasus.base.step_math import Quat, Real, Vec3, atan2, rotate, rotate_inverse, scaled
from pegasus.control.cascaded_pid import CascadedPIDController, angle_error, angular_loop, cascaded_pid_law
from pegasus.control.control_step import Body, Setpoint, torque_of
from pegasus.control.geometric import GeometricController, attitude_torque, geometric_law, integrated

REFERENCE, ATTITUDE, BODY_RATES = 0.0, 1.0, 2.0
"""Values of `directive`: a copy follows its reference, an attitude, or body rates."""


def guided_geometric_law(
    own: GeometricController,
    body: Body,
    setpoint: Setpoint,
    integral: Vec3,
    directive: Real,
    attitude: Quat,
    rates: Vec3,
    lift: Real,
    dt: Real,
) -> tuple[Vec3, Vec3, Vec3]:
    """Return force [N] and torque [N m] by the loops of the geometric controller.

    Args:
        own: The controller.
        body: The vehicle.
        setpoint: Its reference.
        integral: State of the geometric controller.
        directive: What it follows: `REFERENCE`, `ATTITUDE` or `BODY_RATES`.
        attitude: Commanded attitude, unit quaternion, body to world.
        rates: Commanded angular velocity in the body frame, that of the commanded attitude if there is one
            [rad/s].
        lift: Commanded thrust along the body's z axis [N].
        dt: Time since the previous call [s].
    """
    if directive == REFERENCE:
        return geometric_law(own, body, setpoint, integral, dt)
    x = Vec3(1.0, 0.0, 0.0)
    y = Vec3(0.0, 1.0, 0.0)
    z = Vec3(0.0, 0.0, 1.0)
    if directive == ATTITUDE:
        x = rotate_inverse(body.orientation, rotate(attitude, x))
        y = rotate_inverse(body.orientation, rotate(attitude, y))
        z = rotate_inverse(body.orientation, rotate(attitude, z))
    return Vec3(0.0, 0.0, lift), attitude_torque(own, body, x, y, z, rates), integral


def guided_pid_law(
    own: CascadedPIDController,
    body: Body,
    setpoint: Setpoint,
    integral: Vec3,
    angular_integral: Vec3,
    directive: Real,
    attitude: Quat,
    rates: Vec3,
    lift: Real,
    dt: Real,
) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Return force [N] and torque [N m] by the inner loops of the PID controller.

    Args:
        own: The controller.
        body: The vehicle.
        setpoint: Its reference.
        integral: Integral of the linear error.
        angular_integral: Integral of the angular error.
        directive: What it follows: `REFERENCE`, `ATTITUDE` or `BODY_RATES`.
        attitude: Commanded attitude, unit quaternion, body to world.
        rates: Commanded angular velocity in the body frame [rad/s].
        lift: Commanded thrust along the body's z axis [N].
        dt: Time since the previous call [s].
    """
    if directive == REFERENCE:
        return cascaded_pid_law(own, body, setpoint, integral, angular_integral, dt)
    rate_error = rates - body.angular_velocity
    damping = own.attitude_rate_gain
    spin = own.yaw_rate_gain
    if directive == ATTITUDE:
        forward = rotate(attitude, Vec3(1.0, 0.0, 0.0))
        up = rotate(attitude, Vec3(0.0, 0.0, 1.0))
        error = angle_error(body.orientation, up, atan2(forward[1], forward[0]))
        angular, angular_integral = angular_loop(own, error, rate_error, angular_integral, dt)
    else:
        # The integrals of roll and pitch rate have the time constant of those of the angles.
        turn = own.attitude_integral_gain / own.attitude_gain * damping
        growth = Vec3(turn * rate_error[0], turn * rate_error[1], own.yaw_rate_integral_gain * rate_error[2])
        growth = growth * dt
        angular_integral = integrated(angular_integral, growth, growth, growth, own.angular_integral_limit)
        angular = angular_integral + scaled(Vec3(damping, damping, spin), rate_error)
    return Vec3(0.0, 0.0, lift), torque_of(body, angular), integral, angular_integral
