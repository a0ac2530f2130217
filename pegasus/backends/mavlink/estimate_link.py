"""State estimates of autopilots, requested over MAVLink and converted to the world frame."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pegasus.backends.mavlink.airframe import other_attitude
from pegasus.backends.mavlink.hub import Inbox
from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.messages import (
    AttitudeQuaternion,
    CommandLong,
    Decoder,
    GpsGlobalOrigin,
    LocalPositionNed,
    encode,
)
from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.core.state import Estimate, VehicleState
from pegasus.environment.geodesy import Geodetic, local_from_geodetic

_SET_MESSAGE_INTERVAL = 511
_ATTITUDE_QUATERNION, _LOCAL_POSITION_NED, _GPS_GLOBAL_ORIGIN = 31, 32, 49
_INTERVALS = {_ATTITUDE_QUATERNION: 0.02, _LOCAL_POSITION_NED: 0.02, _GPS_GLOBAL_ORIGIN: 1.0}
"""Simulated time between messages of one type [s]."""
_STOP = -1.0
"""Interval that stops a message type."""
_RETRY_INTERVAL = 1.0
"""Simulated time after which a silent autopilot is asked again [s]."""
_SAME_INSTANT = 1e-6
"""Tolerance of equal times [s]."""
_SYSTEM, _COMPONENT = 245, 192


class EstimateListener:
    """Listener for the state estimates of N autopilots.

    The local frame of an autopilot begins at its start until it has sent its geographic origin.

    Args:
        links: Function that opens the link to each autopilot; retried after a ConfigError.
        systems: System id of each autopilot.
        origin: Geographic origin of the world.
        unwanted: Ids of messages to stop on these links, because they use up the bandwidth.
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
        """Their estimates; live arrays."""
        intervals = [(number, _STOP) for number in unwanted]
        intervals += [(number, interval * 1e6) for number, interval in _INTERVALS.items()]
        self.local_position = np.full((len(systems), 3), math.nan)
        """Positions in their local frames, east, north and up [m], shape (N, 3); NaN until known."""
        self._inbox = Inbox()
        self._lines = [
            _Line(link, system, row, intervals, self._inbox)
            for row, (link, system) in enumerate(zip(links, systems, strict=True))
        ]
        self._origin = origin
        self._look_at = -math.inf

    def update(self, t: float, state: VehicleState, *, present: Sequence[bool]) -> None:
        """Read messages received by time t, and ask silent autopilots again.

        Args:
            t: Simulation time [s].
            state: True state.
            present: Whether each autopilot is connected.
        """
        if t >= self._look_at:
            for row, line in enumerate(self._lines):
                if present[row]:
                    line.ask_again(t)
                    if line.local_origin is None:
                        line.local_origin = state.position[row].tolist()
            self._look_at = min(line.silent_at for line in self._lines) - _SAME_INSTANT
        for line in self._inbox.ready():
            if present[line.row]:
                for message in line.receive():
                    self._take(t, line.row, line, message, state)

    def close(self) -> None:
        """Close the links."""
        for line in self._lines:
            line.close()
        self._inbox.close()

    def _take(self, t: float, row: int, line: "_Line", message: Any, state: VehicleState) -> None:
        estimate = self.estimate
        if type(message) is LocalPositionNed:
            assert line.local_origin is not None
            x, y, z = line.local_origin
            line.received_at = estimate.received[row] = t
            self.local_position[row] = (message.y, message.x, -message.z)
            estimate.position[row] = here = (x + message.y, y + message.x, z - message.z)
            estimate.velocity[row] = speed = (message.vy, message.vx, -message.vz)
            place, velocity = state.position[row].tolist(), state.velocity[row].tolist()
            estimate.position_error[row] = [a - b for a, b in zip(here, place, strict=True)]
            estimate.velocity_error[row] = [a - b for a, b in zip(speed, velocity, strict=True)]
        elif type(message) is AttitudeQuaternion:
            w, x, y, z = other_attitude(message.q2, message.q3, message.q4, message.q1)
            estimate.orientation[row] = attitude = (x, y, z, w)
            # q and -q are the same attitude.
            true = state.orientation[row].tolist()
            overlap = abs(sum(a * b for a, b in zip(attitude, true, strict=True)))
            estimate.attitude_error[row] = 2.0 * math.acos(min(overlap, 1.0))
        elif type(message) is GpsGlobalOrigin:
            line.local_origin = local_origin_of(message, origin=self._origin).tolist()


class _Line:
    """Link to one autopilot."""

    def __init__(
        self,
        open_link: Callable[[], Link],
        system: int,
        row: int,
        intervals: Sequence[tuple[int, float]],
        inbox: Inbox,
    ) -> None:
        self._open_link, self._system, self._intervals, self._inbox = open_link, system, intervals, inbox
        self.row = row
        """Row of its vehicle."""
        self.local_origin: list[float] | None = None
        """Origin of its local frame in the world [m]; None before the first step."""
        self.received_at = -math.inf
        self._link: Link | None = None
        self._decoder = Decoder()
        self._sequence = 0
        self._next_request = -math.inf
        self._is_asked = False

    @property
    def silent_at(self) -> float:
        """Time at which it is asked again if nothing is received until then [s]."""
        return max(self._next_request, self.received_at + _RETRY_INTERVAL)

    def ask_again(self, t: float) -> None:
        """Ask for messages if there were none for a while."""
        if t >= self._next_request and t - self.received_at >= _RETRY_INTERVAL:
            self._next_request, self._is_asked = t + _RETRY_INTERVAL, False
            self._ask()

    def receive(self) -> list[Any]:
        """Return the received messages."""
        if self._link is None:
            return []
        try:
            data = self._link.receive()
        except LinkClosedError:
            self.close()
            return []
        messages = list(self._decoder.feed(data))
        if messages and not self._is_asked:
            # It may have ignored requests before its first message.
            self._is_asked = True
            self._ask()
        return messages

    def close(self) -> None:
        """Close the link."""
        link, self._link = self._link, None
        if link is not None:
            self._inbox.remove(link)
            link.close()

    def _ask(self) -> None:
        try:
            if self._link is None:
                self._link, self._decoder = self._open_link(), Decoder()
                self._inbox.add(self._link, self)
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
            # It is not listening yet.
            self._link = None
        except LinkClosedError:
            self.close()


def local_origin_of(message: GpsGlobalOrigin, *, origin: Geodetic) -> Array:
    """Return the origin of an autopilot's local frame in the world [m], shape (3,).

    Args:
        message: GPS_GLOBAL_ORIGIN: degrees times 1e7, millimetres above mean sea level.
        origin: Geographic origin of the world.
    """
    latitude, longitude = np.array([[message.latitude], [message.longitude]]) * 1e-7
    altitude = np.array([message.altitude * 1e-3])
    place: Array = local_from_geodetic(latitude, longitude, altitude, origin=origin)[0]
    return place
