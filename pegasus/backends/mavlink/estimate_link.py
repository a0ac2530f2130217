"""State estimates of autopilots, requested over MAVLink and converted to the world frame."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pegasus.backends.mavlink.airframe import other_attitude
from pegasus.backends.mavlink.hub import Inbox
from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.local_axes import LocalAxes
from pegasus.backends.mavlink.messages import Decoder, encode, make_message
from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.contracts.state import Estimate, VehicleState
from pegasus.environment.geodesy import Geodetic, local_from_geodetic

_SET_MESSAGE_INTERVAL = 511
_ATTITUDE_QUATERNION, _LOCAL_POSITION_NED, _GPS_GLOBAL_ORIGIN = 31, 32, 49
_INTERVALS = {_ATTITUDE_QUATERNION: 0.02, _LOCAL_POSITION_NED: 0.02, _GPS_GLOBAL_ORIGIN: 1.0}
"""Simulated time between messages of one type [s]."""
_STOP = -1.0
"""Interval that stops a message type."""
_RETRY_INTERVAL = 1.0
"""Simulated time after which a silent autopilot is asked again [s]."""
_HEARD = ("ATTITUDE_QUATERNION", "LOCAL_POSITION_NED", "GPS_GLOBAL_ORIGIN", "HEARTBEAT")
"""Names of the messages that are decoded; heartbeats only show that the autopilot is there."""
_SAME_INSTANT = 1e-6
"""Tolerance of equal times [s]."""
_SAME_AXES = 1.0
"""Distance within which north is the same [m]; it turns by less than 2e-6 rad below 85 degrees."""
_SYSTEM, _COMPONENT = 245, 192
_FLAT_DEGREE = 111_318.84502145034
"""Length of a degree in ArduPilot [m], LOCATION_SCALING_FACTOR times 1e7."""


class EstimateListener:
    """Listener for the state estimates of N autopilots.

    The local frame of an autopilot begins at its start until it has sent its geographic origin.

    Args:
        links: Function that opens the link to each autopilot; retried after a ConfigError.
        systems: System id of each autopilot.
        origin: Geographic origin of the world.
        flat: Whether the autopilots take the world for flat about its origin, as ArduPilot's simulation does.
            Otherwise local frames have north at their origin, velocities and attitudes that at the vehicle.
        unwanted: Ids of messages to stop on these links, because they use up the bandwidth.
    """

    def __init__(
        self,
        links: Sequence[Callable[[], Link]],
        systems: Sequence[int],
        *,
        origin: Geodetic,
        flat: bool = False,
        unwanted: Sequence[int] = (),
    ) -> None:
        self._estimate = Estimate.unknown(len(systems))
        self._is_read = self._are_heard = False
        self._now: tuple[float, VehicleState, Sequence[bool]] | None = None
        intervals = [(number, _STOP) for number in unwanted]
        intervals += [(number, interval * 1e6) for number, interval in _INTERVALS.items()]
        self._local_position = np.full((len(systems), 3), math.nan)
        self._inbox = Inbox()
        self._lines = [
            _Line(link, system, row, intervals, self._inbox)
            for row, (link, system) in enumerate(zip(links, systems, strict=True))
        ]
        self._origin, self._flat = origin, flat
        self._look_at = -math.inf

    @property
    def estimate(self) -> Estimate:
        """Their estimates; live arrays, up to date from the first time that they are read."""
        self._follow()
        return self._estimate

    @property
    def local_position(self) -> Array:
        """Positions in their local frames, in the world's axes [m], shape (N, 3); NaN until known."""
        self._follow()
        return self._local_position

    def update(self, t: float, state: VehicleState, *, present: Sequence[bool]) -> None:
        """Read messages received by time t, and ask silent autopilots again.

        Args:
            t: Simulation time [s].
            state: True state.
            present: Whether each autopilot is connected.
        """
        self._now = t, state, present
        if t >= self._look_at:
            for row, line in enumerate(self._lines):
                if present[row]:
                    if not self._is_read:
                        line.hold(t)
                    line.repeat_request(t)
                    if line.local_origin is None:
                        self._place(line, state.position[row].tolist())
            self._look_at = min(line.retry_time for line in self._lines) - _SAME_INSTANT
            self._are_heard = all(line.is_heard for line in self._lines)
        if self._is_read or not self._are_heard:
            self._read(self._inbox.ready(), *self._now)

    def close(self) -> None:
        """Close the links."""
        for line in self._lines:
            line.close()
        self._inbox.close()

    def _follow(self) -> None:
        """Decode what has come, and from now on at each step."""
        if not self._is_read:
            self._is_read = True
            if self._now is not None:
                self._read(self._lines, *self._now)

    def _read(self, lines: "Sequence[_Line]", t: float, state: VehicleState, present: Sequence[bool]) -> None:
        for line in lines:
            if present[line.row]:
                for message in line.receive():
                    self._take(t, line.row, line, message, state)

    def _take(self, t: float, row: int, line: "_Line", message: Any, state: VehicleState) -> None:
        estimate = self._estimate
        if message.msgname == "LOCAL_POSITION_NED":
            assert line.local_origin is not None
            line.received_at = estimate.received[row] = t
            moved = line.axes.reverse.vector((message.y, message.x, -message.z))
            self._local_position[row] = moved
            here = [a + b for a, b in zip(line.local_origin, moved, strict=True)]
            if math.dist(here, line.heading_place) > _SAME_AXES:
                self._set_heading(line, here)
            speed = line.heading_axes.reverse.vector((message.vy, message.vx, -message.vz))
            estimate.position[row], estimate.velocity[row] = here, speed
            place, velocity = state.position[row].tolist(), state.velocity[row].tolist()
            estimate.position_error[row] = [a - b for a, b in zip(here, place, strict=True)]
            estimate.velocity_error[row] = [a - b for a, b in zip(speed, velocity, strict=True)]
        elif message.msgname == "ATTITUDE_QUATERNION":
            w, x, y, z = other_attitude(message.q2, message.q3, message.q4, message.q1)
            estimate.orientation[row] = attitude = line.heading_axes.reverse.attitude((x, y, z, w))
            estimate.angular_velocity[row] = message.rollspeed, -message.pitchspeed, -message.yawspeed
            # q and -q are the same attitude.
            true = state.orientation[row].tolist()
            overlap = abs(sum(a * b for a, b in zip(attitude, true, strict=True)))
            estimate.attitude_error[row] = 2.0 * math.acos(min(overlap, 1.0))
        elif message.msgname == "GPS_GLOBAL_ORIGIN":
            place = flat_origin_of if self._flat else local_origin_of
            self._place(line, place(message, origin=self._origin).tolist())

    def _place(self, line: "_Line", place: list[float]) -> None:
        """Set the origin of an autopilot's local frame in the world [m]."""
        if line.local_origin is None:
            self._set_heading(line, place)
        line.local_origin, line.axes = place, self._axes(place)

    def _set_heading(self, line: "_Line", place: list[float]) -> None:
        """Set the axes of velocity and attitude to those of a place in the world [m]."""
        line.heading_place, line.heading_axes = place, self._axes(place)

    def _axes(self, place: Sequence[float]) -> LocalAxes:
        return LocalAxes() if self._flat else LocalAxes.at(self._origin, place)


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
        self.axes = self.heading_axes = LocalAxes()
        """Axes of its local frame, and those of its velocity and attitude."""
        self.heading_place: list[float] = []
        """Place in the world at which the latter are computed [m]."""
        self.received_at = -math.inf
        self._link: Link | None = None
        self._decoder = Decoder(*_HEARD)
        self._held = b""
        self._sequence = 0
        self._next_request = -math.inf
        self._is_asked = False

    @property
    def retry_time(self) -> float:
        """Time at which it is asked again if nothing is received until then [s]."""
        return max(self._next_request, self.received_at + _RETRY_INTERVAL)

    def repeat_request(self, t: float) -> None:
        """Ask for messages if there were none for a while."""
        if t >= self._next_request and t - self.received_at >= _RETRY_INTERVAL:
            self._next_request, self._is_asked = t + _RETRY_INTERVAL, False
            self._ask()

    @property
    def is_heard(self) -> bool:
        """True once a position has been received."""
        return self.received_at > -math.inf

    def hold(self, t: float) -> None:
        """Keep what was received since the last call for `receive`; it is silent without a position."""
        if self.is_heard:
            self._held = self._received()
            if _LOCAL_POSITION_NED.to_bytes(3, "little") in self._held:
                self.received_at = t

    def receive(self) -> list[Any]:
        """Return the received messages."""
        data, self._held = self._held + self._received(), b""
        messages = list(self._decoder.feed(data))
        if messages and not self._is_asked:
            # It may have ignored requests before its first message.
            self._is_asked = True
            self._ask()
        return messages

    def _received(self) -> bytes:
        try:
            return b"" if self._link is None else self._link.receive()
        except LinkClosedError:
            self.close()
            return b""

    def close(self) -> None:
        """Close the link."""
        link, self._link = self._link, None
        if link is not None:
            self._inbox.remove(link)
            link.close()

    def _ask(self) -> None:
        try:
            if self._link is None:
                self._link, self._decoder = self._open_link(), Decoder(*_HEARD)
                self._inbox.add(self._link, self)
            for number, interval in self._intervals:
                request = make_message(
                    "COMMAND_LONG",
                    target_system=self._system,
                    target_component=1,
                    command=_SET_MESSAGE_INTERVAL,
                    param1=number,
                    param2=interval,
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


def local_origin_of(message: Any, *, origin: Geodetic) -> Array:
    """Return the origin of an autopilot's local frame in the world [m], shape (3,).

    Args:
        message: GPS_GLOBAL_ORIGIN: degrees times 1e7, millimetres above mean sea level.
        origin: Geographic origin of the world.
    """
    latitude, longitude = np.array([[message.latitude], [message.longitude]]) * 1e-7
    altitude = np.array([message.altitude * 1e-3])
    place: Array = local_from_geodetic(latitude, longitude, altitude, origin=origin)[0]
    return place


def flat_origin_of(message: Any, *, origin: Geodetic) -> Array:
    """Return the origin of the local frame of an ArduPilot that takes the world for flat [m], shape (3,).

    It multiplies degrees by a constant, those of longitude also by the cosine of the latitude in the middle.
    Source: ArduPilot, Location::get_distance_NED in libraries/AP_Common/Location.cpp.

    Args:
        message: GPS_GLOBAL_ORIGIN: degrees times 1e7, millimetres above mean sea level.
        origin: Geographic origin of the world.
    """
    latitude, longitude = message.latitude * 1e-7, message.longitude * 1e-7
    turn = math.remainder(longitude - origin.longitude, 360.0)
    shrink = max(math.cos(math.radians(0.5 * (latitude + origin.latitude))), 0.01)
    east, north = turn * shrink, latitude - origin.latitude
    return np.array([east * _FLAT_DEGREE, north * _FLAT_DEGREE, message.altitude * 1e-3 - origin.altitude])
