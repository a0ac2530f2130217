"""Approach of a distant setpoint within the acceleration that a vehicle has to brake."""

from pegasus.base.step_math import Quat, Real, Vec3, atan2, maximum, minimum, rotate, sqrt, tan, wrapped
from pegasus.control.control_step import Body

THRUST_SHARE = 0.9
"""Share of the largest thrust used for acceleration; the rest is reserved for attitude control."""

LOWEST = 1.0
"""Least commanded vertical acceleration [m/s^2], so that the thrust has a direction."""

_BRAKING_SHARE = 0.5
"""Share of the available acceleration planned for braking; the rest is for control."""

_STEEPEST = 1.4
"""Largest tilt that is planned for braking [rad]."""

_UPRIGHT = 0.2
"""Least cosine of the tilt at which a vehicle has a heading that can be approached."""


def eased(error: Real, gain: Real, acceleration: Real) -> Real:
    """Return the error whose velocity `gain * error` can be braked to rest over the given error.

    Near the setpoint it is the error itself. Farther away the velocity follows the braking parabola, which
    continues it smoothly: the switching curve of a proximate time-optimal servomechanism (Workman 1987,
    Adaptive Proximate Time-Optimal Servomechanisms, Stanford; Franklin, Powell and Workman 1998, Digital
    Control of Dynamic Systems, sec. 13.4.4).

    Args:
        error: Error, of any sign [m or rad].
        gain: Velocity by error [1/s].
        acceleration: Acceleration to brake with, above 0 [m/s^2 or rad/s^2].
    """
    near = acceleration / (gain * gain)
    if error > near:
        return sqrt(near * (2.0 * error - near))
    if error < -near:
        return -sqrt(near * (-2.0 * error - near))
    return error


def eased_position(error: Vec3, position_gain: Vec3, body: Body, tilt_limit: Real) -> Vec3:
    """Return the position error, reduced where it is too large to brake in time.

    Args:
        error: Position error, world frame [m].
        position_gain: Velocity by position error along the world's axes [1/s].
        body: The vehicle.
        tilt_limit: Largest tilt [rad].
    """
    weight = -body.gravity[2]
    highest = body.max_thrust / body.mass * THRUST_SHARE
    spare = maximum(highest * highest - weight * weight, 0.01 * weight * weight)
    level = _BRAKING_SHARE * minimum(weight * tan(minimum(tilt_limit, _STEEPEST)), sqrt(spare))
    # A climb is braked by gravity, a descent by the thrust that is left.
    brake = maximum(weight - LOWEST, 0.1 * weight)
    if error[2] < 0.0:
        brake = maximum(highest - weight, 0.05 * weight)
    up = eased(error[2], position_gain[2], _BRAKING_SHARE * brake)
    distance = sqrt(error[0] * error[0] + error[1] * error[1])
    steepest = maximum(position_gain[0], position_gain[1])
    if distance <= level / (steepest * steepest):
        return Vec3(error[0], error[1], up)
    x = eased(distance, position_gain[0], level) / distance
    y = eased(distance, position_gain[1], level) / distance
    return Vec3(error[0] * x, error[1] * y, up)


def eased_tilt(error: Vec3, gain: Real, acceleration: Real) -> Vec3:
    """Return the attitude error with roll and pitch reduced where they are too large to brake in time.

    Args:
        error: Rotation vector to the true attitude, or its negative [rad].
        gain: Body rate by attitude error [1/s].
        acceleration: Angular acceleration to brake with [rad/s^2].
    """
    tilt = sqrt(error[0] * error[0] + error[1] * error[1])
    if tilt * gain * gain <= acceleration:
        return error
    share = eased(tilt, gain, acceleration) / tilt
    return Vec3(error[0] * share, error[1] * share, error[2])


def eased_yaw(orientation: Quat, yaw: Real, gain: Real, acceleration: Real) -> Real:
    """Return a heading on the way to another one, which the vehicle can still stop at.

    Far from upright it is the other one. The heading of a vehicle is the direction in the plane of its x and
    z axes, as in `attitude_from_thrust`: it does not change with the tilt.

    Args:
        orientation: Attitude, unit quaternion, body to world.
        yaw: Desired heading [rad].
        gain: Yaw rate by heading error [1/s].
        acceleration: Angular acceleration to brake with [rad/s^2].
    """
    left = rotate(orientation, Vec3(0.0, 1.0, 0.0))
    up = rotate(orientation, Vec3(0.0, 0.0, 1.0))
    if up[2] < _UPRIGHT:
        return yaw
    error = wrapped(yaw - atan2(-left[0], left[1]))
    # Near the setpoint the given heading is kept to the bit.
    return yaw + (eased(error, gain, acceleration) - error)
