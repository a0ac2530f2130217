"""Control laws of guided flight: attitude or body rates in place of the reference, where commanded."""

from pegasus.base.step_math import Quat, Real, Vec3, atan2, cos, rotate, rotate_inverse, scaled, sin
from pegasus.control.approach import eased_yaw
from pegasus.control.cascaded_pid import CascadedPIDController, angle_error, angular_loop, cascaded_pid_law
from pegasus.control.control_step import Body, lead_compensation, torque_of
from pegasus.control.geometric import (
    GeometricController,
    attitude_torque,
    geometric_law,
    heading_gain,
    integrated,
)
from pegasus.control.guided_step import ATTITUDE
from pegasus.control.mission_step import Setpoint


def guided_geometric_law(
    own: GeometricController,
    body: Body,
    setpoint: Setpoint,
    integral: Vec3,
    turned: Vec3,
    directive: Real,
    attitude: Quat,
    rates: Vec3,
    lift: Real,
    dt: Real,
) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Return force [N] and torque [N m] by the loops of the geometric controller.

    Args:
        own: The controller.
        body: The vehicle.
        setpoint: Its reference.
        integral: State of the geometric controller.
        turned: Angular velocity at the previous call [rad/s].
        directive: What it follows, such as `ATTITUDE`; below that its reference.
        attitude: Commanded attitude, unit quaternion, body to world.
        rates: Commanded angular velocity in the body frame, that of the commanded attitude if there is one
            [rad/s].
        lift: Commanded thrust along the body's z axis [N].
        dt: Time since the previous call [s].
    """
    if directive < ATTITUDE:
        return geometric_law(own, body, setpoint, integral, turned, dt)
    x = Vec3(1.0, 0.0, 0.0)
    y = Vec3(0.0, 1.0, 0.0)
    z = Vec3(0.0, 0.0, 1.0)
    if directive == ATTITUDE:
        x = rotate(attitude, x)
        y = rotate(attitude, y)
        z = rotate(attitude, z)
        yaw = atan2(-y[0], y[1])
        turn = eased_yaw(body.orientation, yaw, heading_gain(own), own.yaw_acceleration) - yaw
        x = rotate_inverse(body.orientation, turned_about_z(x, turn))
        y = rotate_inverse(body.orientation, turned_about_z(y, turn))
        z = rotate_inverse(body.orientation, turned_about_z(z, turn))
    torque = lead_compensation(own.torque_lead, body, attitude_torque(own, body, x, y, z, rates), turned, dt)
    return Vec3(0.0, 0.0, lift), torque, integral, body.angular_velocity


def turned_about_z(v: Vec3, angle: Real) -> Vec3:
    """Return a vector turned about the world's z axis by an angle [rad]."""
    c = cos(angle)
    s = sin(angle)
    return Vec3(c * v[0] - s * v[1], s * v[0] + c * v[1], v[2])


def guided_pid_law(
    own: CascadedPIDController,
    body: Body,
    setpoint: Setpoint,
    integral: Vec3,
    angular_integral: Vec3,
    turned: Vec3,
    directive: Real,
    attitude: Quat,
    rates: Vec3,
    lift: Real,
    dt: Real,
) -> tuple[Vec3, Vec3, Vec3, Vec3, Vec3]:
    """Return force [N] and torque [N m] by the inner loops of the PID controller, and its integrals.

    The inputs are those of `guided_geometric_law`.
    """
    if directive < ATTITUDE:
        return cascaded_pid_law(own, body, setpoint, integral, angular_integral, turned, dt)
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
    torque = lead_compensation(own.torque_lead, body, torque_of(body, angular), turned, dt)
    return Vec3(0.0, 0.0, lift), torque, integral, angular_integral, body.angular_velocity
