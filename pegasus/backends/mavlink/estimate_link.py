"""Ask autopilots over MAVLink for what they believe, and turn it into the world's frame."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pegasus.arrays import Array
from pegasus.backends.estimate import Estimate
from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.messages import (
    AttitudeQuaternion,
    CommandLong,
    Decoder,
    GpsGlobalOrigin,
    LocalPositionNed,
    encode,
)
from pegasus.environment.geodesy import Geodetic, local_from_geodetic
from pegasus.errors import ConfigError
from pegasus.frames import swap_attitude_convention
from pegasus.state import VehicleState

_SET_MESSAGE_INTERVAL = 511
_ATTITUDE_QUATERNION, _LOCAL_POSITION_NED, _GPS_GLOBAL_ORIGIN = 31, 32, 49
_INTERVALS = {_ATTITUDE_QUATERNION: 0.02, _LOCAL_POSITION_NED: 0.02, _GPS_GLOBAL_ORIGIN: 1.0}
"""Simulated time between two messages of a kind [s]."""
_STOP = -1.0
"""Interval that stops a message."""
_RETRY_INTERVAL = 1.0
"""Simulated time after which an autopilot that says nothing is asked once more [s]."""
_SYSTEM, _COMPONENT = 245, 192


class EstimateListener:
    """Keep what N autopilots say of where they are.

    The origin of an autopilot's local frame is where it says on Earth; where it stood at the start until it
    says so.

    Args:
        links: Opens the link to each autopilot; tried again when it raises a ConfigError.
        systems: System id of each autopilot.
        origin: Place of the world's origin.
        unwanted: Ids of messages that the autopilots are told to stop on these links, because they take the
            bandwidth of what is asked for.
    """

    def __init__(
        self,
        links: Sequence[Callable[[], Link]],
        systems: Sequence[int],
        *,
        origin: Geodetic,
        unwanted: Sequence[int] = (),
    ) -> None:
        self.estimate = Estimate.unknown(len(systems))
        """What they believe; live arrays."""
        intervals = [(number, _STOP) for number in unwanted]
        intervals += [(number, interval * 1e6) for number, interval in _INTERVALS.items()]
        self._lines = [_Line(link, system, intervals) for link, system in zip(links, systems, strict=True)]
        self._origin = origin

    def update(self, t: float, state: VehicleState, *, present: Sequence[bool]) -> None:
        """Take what has come by time t, and ask those that say nothing.

        Args:
            t: Simulation time [s].
            state: True state.
            present: Whether each autopilot is there.
        """
        for row, line in enumerate(self._lines):
            if not present[row]:
                continue
            if line.local_origin is None:
                line.local_origin = state.position[row].copy()
            for message in line.receive(t):
                self._take(t, row, line, message, state)

    def close(self) -> None:
        """Close the links."""
        for line in self._lines:
            line.close()

    def _take(self, t: float, row: int, line: "_Line", message: Any, state: VehicleState) -> None:
        estimate = self.estimate
        if type(message) is LocalPositionNed:
            line.heard_at = estimate.received[row] = t
            estimate.position[row] = line.local_origin
            estimate.position[row] += message.y, message.x, -message.z
            estimate.velocity[row] = message.vy, message.vx, -message.vz
            estimate.position_error[row] = estimate.position[row] - state.position[row]
            estimate.velocity_error[row] = estimate.velocity[row] - state.velocity[row]
        elif type(message) is AttitudeQuaternion:
            attitude = attitude_of(message)
            estimate.orientation[row] = attitude
            # Between q and -q there is no difference.
            overlap = abs(float(attitude @ state.orientation[row]))
            estimate.attitude_error[row] = 2.0 * math.acos(min(overlap, 1.0))
        elif type(message) is GpsGlobalOrigin:
            line.local_origin = local_origin_of(message, origin=self._origin)


class _Line:
    """The line to one autopilot."""

    def __init__(
        self, open_link: Callable[[], Link], system: int, intervals: Sequence[tuple[int, float]]
    ) -> None:
        self._open_link, self._system, self._intervals = open_link, system, intervals
        self.local_origin: Array | None = None
        """Origin of its local frame in the world [m], shape (3,); None before the first step."""
        self.heard_at = -math.inf
        self._link: Link | None = None
        self._decoder = Decoder()
        self._sequence = 0
        self._next_request = -math.inf
        self._is_told = False

    def receive(self, t: float) -> list[Any]:
        """Return the messages that have come, and ask for them where none have for a while."""
        if t >= self._next_request and t - self.heard_at >= _RETRY_INTERVAL:
            self._next_request, self._is_told = t + _RETRY_INTERVAL, False
            self._ask()
        if self._link is None:
            return []
        try:
            data = self._link.receive()
        except LinkClosedError:
            self.close()
            return []
        if not data:
            return []
        messages = list(self._decoder.feed(data))
        if messages and not self._is_told:
            # Before it spoke it may not have listened: others who use the link can make it speak.
            self._is_told = True
            self._ask()
        return messages

    def close(self) -> None:
        """Close the link."""
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _ask(self) -> None:
        try:
            if self._link is None:
                self._link, self._decoder = self._open_link(), Decoder()
            for number, interval in self._intervals:
                request = CommandLong(
                    param1=number,
                    param2=interval,
                    command=_SET_MESSAGE_INTERVAL,
                    target_system=self._system,
                    target_component=1,
                )
                self._link.send(
                    encode(request, sequence=self._sequence, system=_SYSTEM, component=_COMPONENT)
                )
                self._sequence += 1
        except ConfigError:
            # It does not listen yet.
            self._link = None
        except LinkClosedError:
            self.close()


def attitude_of(message: AttitudeQuaternion) -> Array:
    """Return the attitude that a message tells, FLU to ENU, quaternion xyzw, shape (4,).

    Args:
        message: ATTITUDE_QUATERNION: FRD to NED, real part first.
    """
    return swap_attitude_convention(np.array([message.q2, message.q3, message.q4, message.q1]))


def local_origin_of(message: GpsGlobalOrigin, *, origin: Geodetic) -> Array:
    """Return where an autopilot's local frame begins, in the world [m], shape (3,).

    Args:
        message: GPS_GLOBAL_ORIGIN: degrees times 1e7, millimetres above mean sea level.
        origin: Place of the world's origin.
    """
    latitude, longitude = np.array([[message.latitude], [message.longitude]]) * 1e-7
    altitude = np.array([message.altitude * 1e-3])
    place: Array = local_from_geodetic(latitude, longitude, altitude, origin=origin)[0]
    return place
