"""Controllers that are flown by commands during flight, per copy, and their laws."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.step_math import Quat, Real, Vec3, atan2, rotate, rotate_inverse, scaled
from pegasus.control.approach import eased_yaw
from pegasus.control.cascaded_pid import CascadedPIDController, angle_error, angular_loop, cascaded_pid_law
from pegasus.control.control_step import Body, lead_compensation, torque_of
from pegasus.control.controller import Controller
from pegasus.control.geometric import (
    GeometricController,
    attitude_torque,
    geometric_law,
    heading_gain,
    integrated,
)
from pegasus.control.guided_commands import GuidedCommands
from pegasus.control.guided_mission import GuidedMission
from pegasus.control.guided_step import ATTITUDE, turned_about_z
from pegasus.control.mission_step import Setpoint
from pegasus.control.trajectories import Trajectory, hold, sequence


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


@dataclass(eq=False)
class Guided(GuidedCommands, Controller):
    """Mixin for controllers that are flown by commands; the controller's trajectory is not used."""

    trajectory: Any = None
    mission_kind: ClassVar[type[GuidedMission]] = GuidedMission
    """Class of its mission."""

    def __post_init__(self) -> None:
        for name in ("height", "speed", "acceleration", "spin_up"):
            value = getattr(self, name)
            require(np.ndim(value) == 0, name, value, "must be one number, for all copies")
        self._require_limits()
        if not isinstance(self.trajectory, Trajectory):
            self.trajectory = sequence(hold(height=self.height))
        super().__post_init__()

    def start(self) -> None:
        """Restart on the ground; commands given before the first step are kept."""
        super().start()
        mission = self.mission
        # The law reads what the mission writes.
        for name in self.columns.keys() & mission.columns.keys():
            self.columns[name][...] = mission.columns[name]
            mission.columns[name] = self.columns[name]

    def thrust_limits(self) -> tuple[Array, Array]:
        """Return the weight and the largest thrust of each copy [N]; see `GuidedCommands.thrust_limits`."""
        if "lift" not in self.columns:
            return super().thrust_limits()
        return self.mass * np.linalg.norm(self.gravity, axis=1), self.max_thrust

    def pose_excess(self, attitude: Array) -> Array:
        """Return how far attitudes are turned towards the vertical; see `GuidedCommands.pose_excess`."""
        tilt = 2.0 * np.arcsin(np.minimum(np.hypot(attitude[:, 0], attitude[:, 1]), 1.0))
        excess: Array = np.maximum(tilt - math.acos(self.push.cosine), 0.0)
        return excess

    def require_attitudes(self, field: str) -> None:
        """Raise a ConfigError unless the vehicle holds attitudes; see `Controller.require_attitudes`."""
        Controller.require_attitudes(self, field)

    def renew_mission(self, count: int) -> None:
        """Make a new mission of N vehicles the present one."""
        limits = {"height": self.height, "speed": self.speed, "acceleration": self.acceleration}
        self._follow(self.mission_kind(count=count, spin_up=self.spin_up, **limits))


@dataclass(eq=False)
class GuidedController(Guided, GeometricController):
    """Geometric controller that is flown by commands."""

    law: ClassVar[Any] = staticmethod(guided_geometric_law)


@dataclass(eq=False)
class GuidedPIDController(Guided, CascadedPIDController):
    """Cascaded PID controller that is flown by commands."""

    law: ClassVar[Any] = staticmethod(guided_pid_law)
