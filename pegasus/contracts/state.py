"""True, reference, estimated and planned states of N vehicles, as structs of arrays."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.elementary_arrays import atan2
from pegasus.base.field_docs import fields_text
from pegasus.contracts.trajectory import Trajectory


@dataclass(eq=False)
class VehicleState:
    """State of N identical vehicles at one instant; world ENU, body FLU, SI units.

    The arrays are live: the simulation writes into them at every step. Take a `copy()` to keep one. Those of
    a vehicle are read-only.
    """

    position: Array
    """Origin of the body frame in the world [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternion xyzw, body to world, shape (N, 4)."""
    velocity: Array
    """Velocity of the body frame's origin in the world [m/s], shape (N, 3)."""
    angular_velocity: Array
    """Angular velocity in the body frame [rad/s], shape (N, 3)."""
    rotation: Array
    """Rotation matrix of `orientation`, body to world, shape (N, 3, 3)."""
    acceleration: Array
    """Change of `velocity` over the last step divided by its length [m/s^2], shape (N, 3)."""
    angular_acceleration: Array
    """Change of `angular_velocity` over the last step divided by its length [rad/s^2], shape (N, 3)."""
    rotor_speed: Array
    """Speed of each rotor, positive in its own spin direction [rad/s], shape (N, R)."""

    @classmethod
    def at_rest(cls, count: int, rotor_count: int) -> "VehicleState":
        """Return a level, motionless state at the world's origin.

        Args:
            count: Number of vehicles N.
            rotor_count: Number of rotors R.
        """
        orientation = np.zeros((count, 4))
        orientation[:, 3] = 1.0
        return cls(
            position=np.zeros((count, 3)),
            orientation=orientation,
            velocity=np.zeros((count, 3)),
            angular_velocity=np.zeros((count, 3)),
            rotation=np.tile(np.eye(3), (count, 1, 1)),
            acceleration=np.zeros((count, 3)),
            angular_acceleration=np.zeros((count, 3)),
            rotor_speed=np.zeros((count, rotor_count)),
        )

    @property
    def heading(self) -> Array:
        """Direction of the x axis, counter-clockwise from east [rad], shape (N,)."""
        return atan2(self.rotation[:, 1, 0], self.rotation[:, 0, 0])

    def read_only(self) -> "VehicleState":
        """Return the same state with arrays that cannot be written."""
        views = {field.name: getattr(self, field.name).view() for field in fields(self)}
        for view in views.values():
            view.flags.writeable = False
        return VehicleState(**views)

    def of(self, rows: slice) -> "VehicleState":
        """Return the state of some vehicles; the arrays are views.

        Args:
            rows: The vehicles.
        """
        return VehicleState(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def __repr__(self) -> str:
        """Return one line: the values with their units, or the shapes of many copies."""
        return f"VehicleState({fields_text(self)})"

    def copy(self) -> "VehicleState":
        """Return a copy that later steps do not change."""
        return VehicleState(**{field.name: getattr(self, field.name).copy() for field in fields(self)})


@dataclass(eq=False)
class Reference:
    """Reference of N vehicles at one instant, in the world frame (ENU)."""

    position: Array
    """Position [m], shape (N, 3)."""
    velocity: Array
    """Velocity [m/s], shape (N, 3)."""
    acceleration: Array
    """Acceleration [m/s^2], shape (N, 3)."""
    jerk: Array
    """Jerk [m/s^3], shape (N, 3)."""
    yaw: Array
    """Heading of the body's x axis, counter-clockwise from east [rad], shape (N,)."""
    yaw_rate: Array
    """Rate of the heading [rad/s], shape (N,)."""
    idle: BoolArray
    """Whether the rotors only idle (armed, on the ground), shape (N,)."""
    attitude: Array
    """Attitude, unit quaternion xyzw, body to world; zeros where none is asked for, shape (N, 4)."""
    body_rates: Array
    """Body rates of that attitude [rad/s], shape (N, 3)."""
    segment: str = ""
    """Name of the segment of the flight."""

    @classmethod
    def hold(cls, position: Array, yaw: Array) -> "Reference":
        """Return a reference at rest.

        Args:
            position: Position [m], shape (N, 3).
            yaw: Heading [rad], shape (N,).
        """
        n = len(position)
        return cls(
            np.array(position, dtype=np.float64),
            np.zeros((n, 3)),
            np.zeros((n, 3)),
            np.zeros((n, 3)),
            np.array(yaw, dtype=np.float64),
            np.zeros(n),
            np.zeros(n, dtype=bool),
            np.zeros((n, 4)),
            np.zeros((n, 3)),
        )

    def of(self, rows: slice) -> "Reference":
        """Return the reference of some vehicles; the arrays are views.

        Args:
            rows: The vehicles.
        """
        views: dict[str, Any] = {n: v if isinstance(v, str) else v[rows] for n, v in vars(self).items()}
        return Reference(**views)

    def copy(self) -> "Reference":
        """Return a copy that later steps do not change."""
        copied: dict[str, Any] = {n: v if isinstance(v, str) else v.copy() for n, v in vars(self).items()}
        return Reference(**copied)


@dataclass(eq=False)
class Estimate:
    """State estimates of N autopilots; world ENU, body FLU; NaN where unknown.

    The errors compare each message with the true state at the time of its arrival, so that the time between
    messages does not add to them.
    """

    received: Array
    """Simulation time of the last position message [s], shape (N,)."""
    position: Array
    """Position in the world [m], shape (N, 3)."""
    velocity: Array
    """Velocity in the world [m/s], shape (N, 3)."""
    orientation: Array
    """Attitude, unit quaternions xyzw, shape (N, 4)."""
    angular_velocity: Array
    """Angular velocity in the body frame [rad/s], shape (N, 3)."""
    position_error: Array
    """Estimated less true position [m], shape (N, 3)."""
    velocity_error: Array
    """Estimated less true velocity [m/s], shape (N, 3)."""
    attitude_error: Array
    """Angle between the estimated and the true attitude [rad], shape (N,)."""

    @classmethod
    def unknown(cls, count: int) -> "Estimate":
        """Return the estimates of autopilots that have not sent anything yet."""
        shapes: tuple[tuple[int, ...], ...] = ((), (3,), (3,), (4,), (3,), (3,), (3,), ())
        return cls(*(np.full((count, *shape), math.nan) for shape in shapes))


@dataclass(frozen=True, eq=False)
class Plan:
    """Remaining flight of N vehicles from one instant on; immutable."""

    trajectory: Trajectory
    """Trajectory relative to the origin of each vehicle's flight."""
    clock: float
    """Time along the trajectory [s]."""
    origin: Array
    """Origin of each vehicle's flight in the world [m], shape (N, 3)."""
    plans: Sequence["Plan"] = ()
    """Plan of each vehicle where they differ; `trajectory` and `clock` are those of the first with one."""

    def path(self, copy: int = 0, *, horizon: float = 30.0, interval: float = 0.2) -> Array:
        """Return the coming points of the path of one vehicle [m], shape (K, 3).

        Args:
            copy: Index of the vehicle.
            horizon: Longest time up to the last point [s].
            interval: Time from one point to the next [s].
        """
        if self.plans:
            return self.plans[copy].path(horizon=horizon, interval=interval)
        end = min(self.trajectory.duration, self.clock + horizon)
        count = max(2, 1 + int((end - self.clock) / interval))
        times = np.linspace(self.clock, max(end, self.clock), count).tolist()
        path: Array = self.origin[copy] + np.array([self.trajectory.sample(t).position for t in times])
        return path
