"""What others tell a vehicle: topics that are read at every step, checked, and kept as its demand."""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pegasus.backends.ros2.cdr import CdrError, decode
from pegasus.backends.ros2.demand import Demand
from pegasus.backends.ros2.description import Message
from pegasus.backends.ros2.messages import (
    Float64,
    Float64MultiArray,
    MultiDOFJointTrajectory,
    Quaternion,
    Twist,
    Vector3,
)
from pegasus.backends.ros2.paths import CommandedPath, PathPoint
from pegasus.backends.ros2.qos import RELIABLE
from pegasus.backends.ros2.topics import Topics
from pegasus.backends.ros2.transport import Subscription
from pegasus.errors import ConfigError
from pegasus.state import VehicleState

_log = logging.getLogger(__name__)

_LONGEST_WAIT = 3600.0
"""A path that begins later than this is none that is to be flown: its stamp is of another clock [s]."""
_SILENCE = 1.0
"""Simulated time between two reports of refused commands on one topic [s]."""


class Place(NamedTuple):
    """Where a copy is, and how it moves, when a command comes."""

    position: Sequence[float]
    """Position in the world [m]."""
    velocity: Sequence[float]
    """Velocity in the world [m/s]."""
    yaw: float
    """Heading [rad]."""


Take = Callable[[Demand, Any, float, Place], None]
"""Put a message into a demand, at a simulation time, for a vehicle at a place."""


class _Inlet:
    """One topic of N copies that is read."""

    def __init__(
        self, topic: str, kind: type[Message], take: Take, subscriptions: Sequence[Subscription]
    ) -> None:
        self._topic, self._kind, self._take = topic, kind, take
        self._subscriptions = list(enumerate(subscriptions))
        self._reported = -math.inf

    def read(self, t: float, demands: Sequence[Demand], state: VehicleState) -> None:
        """Put what came into the demands.

        Args:
            t: Simulation time [s].
            demands: Demand of each copy.
            state: True state.
        """
        for i, subscription in self._subscriptions:
            for data in subscription.take():
                try:
                    self._take(demands[i], decode(self._kind, data), t, _place_of(state, i))
                except (ConfigError, CdrError) as error:
                    self._report(t, i, error)

    def _report(self, t: float, copy: int, error: Exception) -> None:
        if t - self._reported >= _SILENCE or t < self._reported:
            self._reported = t
            _log.warning(
                "a command on %s of copy %d is refused, the last good one stays: %s",
                self._topic,
                copy,
                error,
            )


class Commands:
    """The topics that N copies of a vehicle are told things on.

    Args:
        topics: Where they are opened.
        rotor_count: Number of rotors R.
        frame: Frame of the world, which paths are in.

    Raises:
        ConfigError: If an option of a topic is not allowed.
    """

    def __init__(self, topics: Topics, rotor_count: int, *, frame: str) -> None:
        kinds: list[tuple[str, type[Message], Take]] = [
            *((f"control/rotor{i}/ref", Float64, rotor_taker(i)) for i in range(rotor_count)),
            ("control/rotors", Float64MultiArray, take_rotors),
            ("control/attitude_thrust", Float64MultiArray, take_attitude_thrust),
            ("cmd_vel", Twist, take_velocity),
            ("control/trajectory", MultiDOFJointTrajectory, trajectory_taker(frame)),
        ]
        self._inlets = [
            _Inlet(topic, kind, take, opened)
            for topic, kind, take in kinds
            if (opened := topics.subscriptions(topic, kind, RELIABLE)) is not None
        ]

    def read(self, t: float, demands: Sequence[Demand], state: VehicleState) -> None:
        """Put what came since the last call into the demands; a bad command is reported and changes nothing.

        Args:
            t: Simulation time [s].
            demands: Demand of each copy.
            state: True state.
        """
        for inlet in self._inlets:
            inlet.read(t, demands, state)


def rotor_taker(rotor: int) -> Take:
    """Return what takes the wanted speed of one rotor [rad/s].

    Args:
        rotor: Its index.
    """

    def take(demand: Demand, message: Float64, t: float, _: Place) -> None:
        _require_finite("data", (message.data,))
        demand.take_rotor(rotor, message.data, t)

    return take


def take_rotors(demand: Demand, message: Float64MultiArray, t: float, _: Place) -> None:
    """Take the wanted speeds of all rotors [rad/s].

    Args:
        demand: Demand of the vehicle.
        message: R numbers.
        t: Simulation time [s].

    Raises:
        ConfigError: If there are more or fewer than R numbers, or one is not finite.
    """
    _require_numbers(message.data, demand.rotor_count, "rotor speeds [rad/s]")
    demand.take_rotors(np.array(message.data), t)


def take_attitude_thrust(demand: Demand, message: Float64MultiArray, t: float, _: Place) -> None:
    """Take roll, pitch and yaw (ZYX) [rad], and the thrust along the body's z axis [N].

    Args:
        demand: Demand of the vehicle.
        message: Four numbers.
        t: Simulation time [s].

    Raises:
        ConfigError: If there are not four numbers, one is not finite, or the thrust is negative.
    """
    _require_numbers(message.data, 4, "numbers: roll, pitch, yaw [rad] and thrust [N]")
    roll, pitch, yaw, thrust = message.data
    if thrust < 0:
        raise ConfigError("must not be negative", field="thrust", value=thrust)
    demand.take_attitude((roll, pitch, yaw), thrust, t)


def take_velocity(demand: Demand, message: Twist, t: float, _: Place) -> None:
    """Take the velocity ahead, to the left and up [m/s], and the rate of the heading [rad/s].

    Args:
        demand: Demand of the vehicle.
        message: The twist; its rates about x and y are not used.
        t: Simulation time [s].

    Raises:
        ConfigError: If a number is not finite.
    """
    linear, angular = _numbers(message.linear), _numbers(message.angular)
    _require_finite("linear", linear)
    _require_finite("angular", angular)
    demand.take_velocity(linear, message.angular.z, t)


def trajectory_taker(frame: str) -> Take:
    """Return what takes a path.

    Args:
        frame: Frame of the world.
    """

    def take(demand: Demand, message: MultiDOFJointTrajectory, t: float, place: Place) -> None:
        given = message.header.frame_id
        if given not in ("", frame):
            raise ConfigError(f"must be {frame} or empty", field="frame_id", value=given)
        take_trajectory(demand, message, t, place)

    return take


def take_trajectory(demand: Demand, message: MultiDOFJointTrajectory, t: float, place: Place) -> None:
    """Take a path in the world: the first transform, velocity and acceleration of each point.

    It begins at the stamp of the header, or now where that is zero. Where its first point is still to come,
    the way there begins at where the vehicle is.

    Args:
        demand: Demand of the vehicle.
        message: The trajectory.
        t: Simulation time [s].
        place: Where the vehicle is.

    Raises:
        ConfigError: If the stamp is not of simulation time, there is no point, times do not grow, or a number
            is not finite.
    """
    stamp = message.header.stamp
    begin = stamp.sec + stamp.nanosec * 1e-9 or t
    if begin > t + _LONGEST_WAIT:
        raise ConfigError(
            f"is {begin - t:.0f} s ahead of simulation time",
            field="stamp",
            value=begin,
            remedy="set use_sim_time, or leave the stamp at zero for now",
        )
    points = []
    for k, given in enumerate(message.points):
        time = given.time_from_start.sec + given.time_from_start.nanosec * 1e-9
        if not given.transforms:
            raise ConfigError("must not be empty", field=f"points.{k}.transforms")
        points.append(
            PathPoint(
                time,
                _numbers(given.transforms[0].translation),
                _heading(given.transforms[0].rotation),
                _numbers(given.velocities[0].linear) if given.velocities else None,
                _numbers(given.accelerations[0].linear) if given.accelerations else None,
            )
        )
        for values in points[-1][1], (points[-1].yaw,), points[-1].velocity, points[-1].acceleration:
            _require_finite(f"points.{k}", values or ())
        if k and not time > points[-2].time:
            raise ConfigError(
                "must be later than the one before", field=f"points.{k}.time_from_start", value=time
            )
    if not points or begin + points[-1].time < t:
        raise ConfigError("must hold a point that is still to come", field="points")
    now = max(t - begin, 0.0)
    if points[0].time > now:
        points.insert(0, PathPoint(now, place.position, place.yaw, place.velocity, (0.0, 0.0, 0.0)))
    demand.take_path(CommandedPath(points), begin)


def _place_of(state: VehicleState, copy: int) -> Place:
    rotation = state.rotation[copy]
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    return Place(state.position[copy].tolist(), state.velocity[copy].tolist(), yaw)


def _numbers(vector: Vector3) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def _heading(q: Quaternion) -> float:
    square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w
    if not square > 0:
        return math.nan
    return math.atan2(2 * (q.w * q.z + q.x * q.y), square - 2 * (q.y * q.y + q.z * q.z))


def _require_numbers(values: Sequence[float], count: int, what: str) -> None:
    if len(values) != count:
        raise ConfigError(f"must hold {count} {what}, not {len(values)}", field="data")
    _require_finite("data", values)


def _require_finite(field: str, values: Iterable[float]) -> None:
    values = list(values)
    if not all(map(math.isfinite, values)):
        raise ConfigError("must hold finite numbers", field=field, value=values)
