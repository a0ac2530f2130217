"""Geometric controller on SE(3)."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    clamped,
    cos,
    cross,
    dot,
    maximum,
    minimum,
    norm,
    rotate,
    rotate_inverse,
    scaled,
    sin,
    sqrt,
    tan,
    vector,
)
from pegasus.contracts.trajectory import Vec3 as Triple
from pegasus.control.approach import LOWEST, THRUST_SHARE, eased_position, eased_tilt, eased_yaw
from pegasus.control.control_step import Body, lead_compensation, lift_in_climb, torque_of
from pegasus.control.controller import Controller
from pegasus.control.drag_compensation import against_drag, torque_against_drag
from pegasus.control.full_pose import asks, nearest_attitude, reach_at, within_cone
from pegasus.control.mission_step import Setpoint
from pegasus.control.per_copy import DERIVED, Derived, PerCopy, each
from pegasus.control.tuning import Tuning, check_gains

UPRIGHT_LIMIT = 1.4
"""Largest tilt limit with which the thrust always points up [rad]."""

_HEADED = 0.16
"""Least cosine of the tilt with which a heading is commanded; that of a tilt of 1.4 rad is larger."""

_HALF_TURN = 1e-9
"""Value of 1 + trace below which two attitudes are half a turn apart."""


def limited_acceleration(demand: Vec3, body: Body, tilt_limit: Real) -> Vec3:
    """Return the commanded acceleration within the rotors' limits.

    The vertical component has priority; the horizontal one is scaled down to the tilt limit and to the rest
    of the largest acceleration. Beyond a tilt limit of a right angle the vertical one may point down, as far
    as the limit allows beside the horizontal one.

    Args:
        demand: Desired acceleration by the rotors, world frame [m/s^2].
        body: The vehicle.
        tilt_limit: Largest tilt [rad].
    """
    highest = body.max_thrust / body.mass * THRUST_SHARE
    up = minimum(maximum(demand[2], LOWEST), highest)
    horizontal = sqrt(demand[0] * demand[0] + demand[1] * demand[1])
    if tilt_limit > UPRIGHT_LIMIT:
        lowest = horizontal * cos(tilt_limit) / maximum(sin(tilt_limit), 1e-12)
        lowest = maximum(lowest, minimum(highest * cos(tilt_limit), 0.0))
        up = minimum(maximum(demand[2], lowest), highest)
        allowed = sqrt(highest * highest - up * up)
        scale = allowed / maximum(maximum(horizontal, allowed), 1e-12)
        limited = Vec3(demand[0] * scale, demand[1] * scale, up)
        size = norm(limited)
        if size < 1e-9:
            return Vec3(0.0, 0.0, LOWEST)
        if size < LOWEST:
            limited = limited * (LOWEST / size)
        return limited
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


def integral_change(lead: Vec3, offset: Vec3, error: Vec3, slip: Vec3) -> Vec3:
    """Return the rate of the integral of the position error [m].

    Without lead it stands still along axes whose error is reduced, so that a long way does not wind it up.
    With lead it is that of the velocity that is missing, which ends as it began.

    Args:
        lead: Velocity error that is integrated with the position error, by its factor [s].
        offset: Position error [m].
        error: Position error reduced by `eased_position` [m].
        slip: Velocity error [m/s].
    """
    change = error + scaled(lead, slip)
    x = change[0]
    y = change[1]
    z = change[2]
    if lead[0] == 0.0 and error[0] != offset[0]:
        x = 0.0
    if lead[1] == 0.0 and error[1] != offset[1]:
        y = 0.0
    if lead[2] == 0.0 and error[2] != offset[2]:
        z = 0.0
    return Vec3(x, y, z)


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


def free_of_heading(orientation: Quat, thrust: Vec3, jerk: Vec3) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Return the desired axes and rates, as `attitude_from_thrust`, of the least turn from an attitude.

    Args:
        orientation: Attitude, unit quaternion, body to world.
        thrust: Acceleration by the rotors, world frame [m/s^2].
        jerk: Rate of the acceleration, world frame [m/s^3].
    """
    inverse = 1.0 / norm(thrust)
    z_axis = thrust * inverse
    forward = rotate(orientation, Vec3(1.0, 0.0, 0.0))
    left = rotate(orientation, Vec3(0.0, 1.0, 0.0))
    # The axis of the vehicle that is nearer to the plane across the thrust keeps its direction in it.
    if abs(dot(left, z_axis)) < abs(dot(forward, z_axis)):
        y_axis = left - z_axis * dot(left, z_axis)
        y_axis = y_axis * (1.0 / norm(y_axis))
        x_axis = cross(y_axis, z_axis)
    else:
        x_axis = forward - z_axis * dot(forward, z_axis)
        x_axis = x_axis * (1.0 / norm(x_axis))
        y_axis = cross(z_axis, x_axis)
    return x_axis, y_axis, z_axis, Vec3(-dot(y_axis, jerk) * inverse, dot(x_axis, jerk) * inverse, 0.0)


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
    gains = vector(own.attitude_gain)
    damping = vector(own.rate_gain)
    error = attitude_error(x, y, z)
    error = eased_tilt(error, gains[0] / damping[0], own.tilt_acceleration)
    angular = scaled(gains, error) + scaled(damping, rate_error)
    return cross(turning, torque_of(body, turning)) - torque_of(body, angular)


def heading_gain(own: "GeometricController") -> Real:
    """Return the yaw rate by heading error [1/s]."""
    return vector(own.attitude_gain)[2] / vector(own.rate_gain)[2]


def geometric_law(
    own: "GeometricController", body: Body, setpoint: Setpoint, integral: Vec3, turned: Vec3, dt: Real
) -> tuple[Vec3, Vec3, Vec3, Vec3]:
    """Return force [N] and torque [N m], with the new integral of the position error.

    The force is along z unless the setpoint has an attitude, and the rotors push sideways.

    The last state is the angular velocity at the previous call [rad/s].
    """
    gains = vector(own.position_gain)
    damping = vector(own.velocity_gain)
    slope = Vec3(gains[0] / damping[0], gains[1] / damping[1], gains[2] / damping[2])
    posed = body.push.reach > 0.0 and asks(setpoint.attitude)
    if posed:
        body = replace(body, max_thrust=reach_at(body.push, setpoint.attitude))
    offset = setpoint.position - body.position
    error = eased_position(offset, slope, body, own.tilt_limit)
    slip = setpoint.velocity - body.velocity
    ahead = setpoint.acceleration - body.gravity
    jerk = setpoint.jerk
    if own.drag_compensation > 0.0:
        more, rate = against_drag(body, ahead, jerk, setpoint.velocity, setpoint.acceleration)
        ahead = ahead + more * own.drag_compensation
        jerk = jerk + rate * own.drag_compensation
    demand = ahead + scaled(gains, error) + scaled(damping, slip) + integral
    thrust = limited_acceleration(demand, body, own.tilt_limit)
    change = integral_change(vector(own.integral_lead), offset, error, slip)
    change = scaled(vector(own.integral_gain), change) * dt
    integral = integrated(integral, change, demand, thrust, own.integral_limit)
    yaw = eased_yaw(body.orientation, setpoint.yaw, heading_gain(own), own.yaw_acceleration)
    x, y, z, rates = attitude_from_thrust(thrust, jerk, yaw, setpoint.yaw_rate)
    if z[2] < _HEADED:
        x, y, z, rates = free_of_heading(body.orientation, thrust, jerk)
    if posed:
        x, y, z, rates = nearest_attitude(setpoint.attitude, setpoint.body_rates, thrust, body.push)
    torque = attitude_torque(
        own,
        body,
        rotate_inverse(body.orientation, x),
        rotate_inverse(body.orientation, y),
        rotate_inverse(body.orientation, z),
        rates,
    )
    if own.drag_compensation > 0.0:
        torque = torque + torque_against_drag(body, thrust, setpoint.velocity) * own.drag_compensation
    torque = lead_compensation(own.torque_lead, body, torque, turned, dt)
    force = rotate_inverse(body.orientation, thrust)
    if posed:
        force = within_cone(body.mass * force, body.push)
    else:
        force = Vec3(0.0, 0.0, lift_in_climb(body, body.mass * force[2], setpoint.velocity))
    return force, torque, integral, body.angular_velocity


@dataclass(eq=False)
class GeometricController(Controller):
    """Geometric controller of position and heading with feed-forward of velocity, acceleration and jerk.

    The desired acceleration gives the thrust along the vehicle's z axis and the attitude, which is controlled
    on SO(3) (Mellinger and Kumar 2011; Lee, Leok and McClamroch 2010). The gains are accelerations. Those not
    given follow from the vehicle; see `pegasus.control.tuning`.
    """

    law: ClassVar[Any] = staticmethod(geometric_law)
    follows_attitudes: ClassVar[bool] = True
    thrust_share: ClassVar[float] = THRUST_SHARE

    position_gain: Derived[Triple] = DERIVED
    """Acceleration by position error, along the world's axes [1/s^2]; by default derived from the vehicle."""
    velocity_gain: Derived[Triple] = DERIVED
    """Acceleration by velocity error [1/s]; by default derived from the vehicle."""
    integral_gain: Derived[Triple] = DERIVED
    """Acceleration by integrated position error [1/s^3]; by default derived from the vehicle."""
    integral_lead: Derived[Triple] = DERIVED
    """Velocity error that is integrated with the position error, by its factor [s]; by default
    velocity_gain / position_gain, and 0 if `integral_gain` is given."""
    integral_limit: PerCopy[float] = each(3.0)
    """Largest acceleration by integrated error, along each axis [m/s^2]."""
    attitude_gain: Derived[Triple] = DERIVED
    """Angular acceleration by attitude error, about the body's axes [1/s^2]; by default derived from the
    vehicle."""
    rate_gain: Derived[Triple] = DERIVED
    """Angular acceleration by rate error [1/s]; by default derived from the vehicle."""
    torque_lead: Derived[float] = DERIVED
    """Share of missing roll and pitch torque, by the angular acceleration, that is added to the command; by
    default derived from the motors' lag, and 0 if a gain of attitude or rate is given."""
    tilt_acceleration: Derived[float] = DERIVED
    """Angular acceleration planned to stop at a roll and pitch [rad/s^2]; by default derived from the
    vehicle, and without limit if a gain of attitude or rate is given."""
    yaw_acceleration: Derived[float] = DERIVED
    """Angular acceleration planned to stop at a heading [rad/s^2]; by default derived from the vehicle."""
    tilt_limit: PerCopy[float] = each(1.0)
    """Largest commanded tilt [rad], up to pi; beyond a tilt of 80 degrees the heading is free."""

    drag_compensation: PerCopy[float] = each(0.0)
    """Share of the drag across the rotors' axis, at the velocity of the trajectory, that is fed forward, 0 to
    1; see `pegasus.control.drag_compensation`."""

    def check(self) -> None:
        """Raise a ConfigError unless the parameters are allowed; see `Controller.check`."""
        super().check()
        check_gains(self, "position_gain", "velocity_gain", "attitude_gain", "rate_gain")
        check_gains(
            self, "integral_gain", "integral_lead", "torque_lead", "integral_limit", zero_allowed=True
        )
        check_gains(self, "tilt_acceleration", "yaw_acceleration")
        share = self.drag_compensation
        require(0 <= share <= 1, "drag_compensation", share, "must be from 0 to 1")
        limit = self.tilt_limit
        require(0 < limit <= math.pi, "tilt_limit", limit, "must be above 0 and at most pi [rad]")

    def derive(self, tuning: Tuning) -> None:
        """Set the gains that are not given; see `Controller.derive`."""
        given = self.integral_gain is not None
        self._default("position_gain", (tuning.position,) * 3)
        self._default("velocity_gain", (tuning.velocity,) * 3)
        self._default("integral_gain", (tuning.position * tuning.integral,) * 3)
        pairs = zip(self.velocity_gain, self.position_gain, strict=True)
        self._default("integral_lead", (0.0,) * 3 if given else tuple(v / p for v, p in pairs))
        own_attitude = self.attitude_gain is not None or self.rate_gain is not None
        self._default("torque_lead", 0.0 if own_attitude else tuning.torque_lead)
        self._default("tilt_acceleration", math.inf if own_attitude else tuning.tilt_acceleration)
        self._default("attitude_gain", (tuning.attitude, tuning.attitude, tuning.heading * tuning.yaw_rate))
        self._default("rate_gain", (tuning.rate, tuning.rate, tuning.yaw_rate))
        self._default("yaw_acceleration", tuning.yaw_acceleration)
