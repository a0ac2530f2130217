"""Subscribed commands: messages read at every step, validated, and stored as demands."""

import logging
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pegasus.backends.ros2.demand import CommandedPath, Demand, PathPoint
from pegasus.backends.ros2.graph import RELIABLE, Subscription
from pegasus.backends.ros2.messages import CdrError, Message, decode
from pegasus.backends.ros2.topics import Topics
from pegasus.base.errors import ConfigError
from pegasus.contracts.state import VehicleState
from pegasus.core.link_state import FaultyLine, LinkState
from pegasus.model.machine import Channel

_log = logging.getLogger(__name__)

_NUMBERS = "std_msgs/msg/Float64MultiArray"
_TRAJECTORY = "trajectory_msgs/msg/MultiDOFJointTrajectory"

_MAX_DELAY = 3600.0
"""Maximum time until a path begins [s]; a later stamp comes from another clock."""
_MAX_SPEED, _MAX_ACCELERATION, _MAX_TURN = 100.0, 200.0, 35.0
"""Largest plausible speed [m/s], acceleration [m/s^2] and rate of the heading [rad/s] of a command; no
multirotor reaches them, so larger ones are of other units or of a fault."""
_MAX_TILT = math.pi
"""Largest plausible roll and pitch [rad]; larger ones are degrees."""
_FIRST_CHANNEL = 1000
"""Number of the first topic of commands among those whose messages can be lost."""
_REPORT_INTERVAL = 1.0
"""Minimum simulated time between two warnings on one topic [s]."""


class Motion(NamedTuple):
    """Motion of a copy when a command arrives."""

    position: Sequence[float]
    """Position in the world [m]."""
    velocity: Sequence[float]
    """Velocity in the world [m/s]."""
    yaw: float
    """Heading [rad]."""


Take = Callable[[Demand, Message, float, Motion], None]
"""Function that stores a message in a demand, given simulation time and motion of the vehicle."""


class _Inlet:
    """Subscribed topic of N copies."""

    def __init__(self, topic: str, kind: str, take: Take, subscriptions: Sequence[Subscription]) -> None:
        self._topic, self._kind, self._take = topic, kind, take
        self._subscriptions = list(enumerate(subscriptions))
        self._reported = -math.inf
        self._lines: list[FaultyLine] | None = None

    def fail(self, links: LinkState, channel: int) -> None:
        """Let messages be lost or late from now on.

        Args:
            links: Faults of the links of the vehicle.
            channel: Number of the topic.
        """
        self._lines = [FaultyLine(links, "ros2", i, channel) for i in range(len(self._subscriptions))]

    def read(self, t: float, demands: Sequence[Demand], state: VehicleState) -> None:
        """Store received commands in the demands.

        Args:
            t: Simulation time [s].
            demands: Demand of each copy.
            state: True state.
        """
        for i, subscription in self._subscriptions:
            received: Iterable[bytes] = subscription.take()
            if self._lines is not None:
                received = self._lines[i].passed(list(received), t)
            for data in received:
                try:
                    self._take(demands[i], decode(self._kind, data), t, _motion_of(state, i))
                except (ConfigError, CdrError) as error:
                    self._report(t, i, error)

    def _report(self, t: float, copy: int, error: Exception) -> None:
        if t - self._reported >= _REPORT_INTERVAL or t < self._reported:
            self._reported = t
            _log.warning(
                "invalid command on %s for copy %d, the last valid one is kept: %s",
                self._topic,
                copy,
                error,
            )


class Commands:
    """Command topics of N copies of a vehicle.

    Args:
        topics: Topics of the vehicle.
        channels: Channels of the vehicle.
        frame: World frame, in which paths are given.
        flown: Whether a controller flies the vehicle by attitude, velocity or path.

    Raises:
        ConfigError: If an option of a topic is not allowed.
    """

    def __init__(self, topics: Topics, channels: Sequence[Channel], *, frame: str, flown: bool) -> None:
        kinds: list[tuple[str, str, Take]] = [
            *((t, "std_msgs/msg/Float64", channel_taker(k)) for k, t in enumerate(channel_topics(channels))),
            ("control/rotors" if flown else "control/channels", _NUMBERS, take_channels),
        ]
        if flown:
            kinds += [
                ("control/attitude_thrust", _NUMBERS, take_attitude_thrust),
                ("cmd_vel", "geometry_msgs/msg/Twist", take_velocity),
                ("control/trajectory", _TRAJECTORY, trajectory_taker(frame)),
            ]
        self._inlets = [
            _Inlet(topic, kind, take, opened)
            for topic, kind, take in kinds
            if (opened := topics.subscriptions(topic, kind, RELIABLE)) is not None
        ]
        self._faulty = False

    def fail(self, links: LinkState) -> None:
        """Let messages be lost or late from now on, as the faults of the link say.

        Args:
            links: Faults of the links of the vehicle.
        """
        if not self._faulty:
            self._faulty = True
            for k, inlet in enumerate(self._inlets):
                inlet.fail(links, _FIRST_CHANNEL + k)

    def read(self, t: float, demands: Sequence[Demand], state: VehicleState) -> None:
        """Store commands received since the last call; an invalid one is logged and changes nothing.

        Args:
            t: Simulation time [s].
            demands: Demand of each copy.
            state: True state.
        """
        for inlet in self._inlets:
            inlet.read(t, demands, state)


def channel_topics(channels: Sequence[Channel]) -> list[str]:
    """Return the topic of each channel: `control/aileron/ref`, and `control/rotor0/ref` of `rotor_0`."""
    return [f"control/{re.sub(r'^rotor_', 'rotor', channel.name)}/ref" for channel in channels]


def channel_taker(k: int) -> Take:
    """Return the function that takes the command of one channel."""

    def take(demand: Demand, message: Message, t: float, _: Motion) -> None:
        _require_finite("data", (message.data,))
        demand.take_channels(message.data, t, chosen=k)

    return take


def take_channels(demand: Demand, message: Message, t: float, _: Motion) -> None:
    """Take the commands of all channels.

    Args:
        demand: Demand of the vehicle.
        message: std_msgs/Float64MultiArray of U numbers.
        t: Simulation time [s].

    Raises:
        ConfigError: If there are not U numbers, or one is not finite.
    """
    channels = demand.channels
    _require_numbers(message.data, len(channels), f"commands ({'; '.join(map(str, channels))})")
    demand.take_channels(np.array(message.data), t)


def take_attitude_thrust(demand: Demand, message: Message, t: float, _: Motion) -> None:
    """Take roll, pitch and yaw (ZYX) [rad], and the thrust along the body's z axis [N].

    Args:
        demand: Demand of the vehicle.
        message: std_msgs/Float64MultiArray of four numbers.
        t: Simulation time [s].

    Raises:
        ConfigError: If there are not four numbers, one is not finite, the thrust is negative, or roll or
            pitch is above half a turn.
    """
    _require_numbers(message.data, 4, "numbers: roll, pitch, yaw [rad] and thrust [N]")
    roll, pitch, yaw, thrust = message.data.tolist()
    if thrust < 0:
        raise ConfigError("must not be negative", field="thrust", value=thrust)
    _require_within("roll", roll, _MAX_TILT, "rad")
    _require_within("pitch", pitch, _MAX_TILT, "rad")
    demand.take_attitude((roll, pitch, yaw), thrust, t)


def take_velocity(demand: Demand, message: Message, t: float, _: Motion) -> None:
    """Take the velocity forward, left and up [m/s], and the rate of the heading [rad/s].

    Args:
        demand: Demand of the vehicle.
        message: geometry_msgs/Twist; its rates about x and y are not used.
        t: Simulation time [s].

    Raises:
        ConfigError: If a number is not finite, or speed or rate are not plausible.
    """
    linear, angular = _numbers(message.linear), _numbers(message.angular)
    _require_finite("linear", linear)
    _require_finite("angular", angular)
    _require_within("linear", math.hypot(*linear), _MAX_SPEED, "m/s")
    _require_within("angular.z", message.angular.z, _MAX_TURN, "rad/s")
    demand.take_velocity(linear, message.angular.z, t)


def trajectory_taker(frame: str) -> Take:
    """Return the function that takes a path."""

    def take(demand: Demand, message: Message, t: float, motion: Motion) -> None:
        given = message.header.frame_id
        if given not in ("", frame):
            raise ConfigError(f"must be {frame} or empty", field="frame_id", value=given)
        take_trajectory(demand, message, t, motion)

    return take


def take_trajectory(demand: Demand, message: Message, t: float, motion: Motion) -> None:
    """Take a path in the world: the first transform, velocity and acceleration of each point.

    It begins at the stamp of the header, or now if the stamp is zero. If its first point lies ahead, the path
    leads there from the vehicle's present state.

    Args:
        demand: Demand of the vehicle.
        message: trajectory_msgs/MultiDOFJointTrajectory.
        t: Simulation time [s].
        motion: Motion of the vehicle.

    Raises:
        ConfigError: If the stamp is not of simulation time, there is no point, times are negative or do not
            increase, a number is not finite, or speed, acceleration or turns are not plausible.
    """
    stamp = message.header.stamp
    begin = stamp.sec + stamp.nanosec * 1e-9 or t
    if begin > t + _MAX_DELAY:
        raise ConfigError(
            f"is {begin - t:.0f} s ahead of simulation time",
            field="stamp",
            value=begin,
            remedy="set use_sim_time, or set the stamp to zero to begin now",
        )
    points = []
    for k, given in enumerate(message.points):
        time = given.time_from_start.sec + given.time_from_start.nanosec * 1e-9
        if time < 0:
            raise ConfigError("must not be negative", field=f"points.{k}.time_from_start", value=time)
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
        _require_within(
            f"points.{k}.accelerations",
            math.hypot(*points[-1].acceleration or ()),
            _MAX_ACCELERATION,
            "m/s^2",
        )
        if k and not time > points[-2].time:
            raise ConfigError(
                "must be later than that of the previous point",
                field=f"points.{k}.time_from_start",
                value=time,
            )
    if not points or begin + points[-1].time < t:
        raise ConfigError("must contain a point in the future", field="points")
    now = max(t - begin, 0.0)
    if points[0].time > now:
        points.insert(0, PathPoint(now, motion.position, motion.yaw, motion.velocity, (0.0, 0.0, 0.0)))
    path = CommandedPath(points)
    speed, turn = path.peaks()
    _require_within("speed", speed, _MAX_SPEED, "m/s")
    _require_within("rate of the heading", turn, _MAX_TURN, "rad/s")
    demand.take_path(path, begin)


def _motion_of(state: VehicleState, copy: int) -> Motion:
    rotation = state.rotation[copy]
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    return Motion(state.position[copy].tolist(), state.velocity[copy].tolist(), yaw)


def _numbers(vector: Message) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def _heading(q: Message) -> float:
    square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w
    if not square > 0:
        return math.nan
    return math.atan2(2 * (q.w * q.z + q.x * q.y), square - 2 * (q.y * q.y + q.z * q.z))


def _require_numbers(values: Sequence[float], count: int, what: str) -> None:
    if len(values) != count:
        raise ConfigError(f"must contain {count} {what}, not {len(values)}", field="data")
    _require_finite("data", values)


def _require_finite(field: str, values: Iterable[float]) -> None:
    values = [float(value) for value in values]
    if not all(map(math.isfinite, values)):
        raise ConfigError("must be finite numbers", field=field, value=values)


def _require_within(field: str, value: float, limit: float, unit: str) -> None:
    if not abs(value) <= limit:
        raise ConfigError(f"must be within {limit:.4g} {unit}", field=field, value=value)
