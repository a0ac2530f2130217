"""Links to autopilots that are flown by MAVLink set-points and commands, and the dialects of autopilots."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pegasus.backends.mavlink.airframe import other_attitude
from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.local_axes import LocalAxes
from pegasus.backends.mavlink.messages import Decoder, encode, make_message
from pegasus.base.errors import ConfigError
from pegasus.contracts.state import Plan, Reference, VehicleState

_log = logging.getLogger(__name__)

SET_POINT_INTERVAL = 0.05
"""Simulated time between two set-points [s]; PX4 leaves its offboard mode after 0.5 s without one."""
RETRY_INTERVAL = 1.0
"""Simulated time between attempts to arm, and between heartbeats [s]."""
ONBOARD_CONTROLLER, GROUND_STATION = 18, 6
"""MAV_TYPE of pilots that send set-points, and of those that send missions."""
NO_AUTOPILOT, _MAVLINK_VERSION = 8, 3
"""MAV_AUTOPILOT_INVALID, which ground stations send, and the version of MAVLink in heartbeats."""
_LOCAL_NED = 1
_DO_SET_MODE, _ARM_DISARM, _TAKE_OFF = 176, 400, 22
_CUSTOM_MODE = 1.0
_IGNORE_NOTHING_BUT_YAW_RATE = 1 << 11
_IGNORE_RATES, _IGNORE_ATTITUDE = 7, 1 << 7
_PILOT_SYSTEM, _PILOT_COMPONENT = 245, 191
_WARNING = 4
"""Highest number of severity that is a complaint."""


class Dialect(NamedTuple):
    """Flight modes and take-off of a type of autopilot."""

    guided: tuple[float, float]
    """Parameters 2 and 3 of DO_SET_MODE to follow set-points."""
    land: tuple[float, float]
    """Parameters 2 and 3 of DO_SET_MODE to land."""
    mission: tuple[float, float]
    """Parameters 2 and 3 of DO_SET_MODE to fly the mission."""
    home_first: bool
    """True if missions begin with an item that sets the home position."""
    take_off_height: float | None
    """Height of the take-off command that it needs before set-points [m]; None if it needs none."""
    patience: float
    """Simulated time after which failed arming is reported [s]."""


PX4_DIALECT = Dialect(
    guided=(6.0, 0.0),
    land=(4.0, 6.0),
    mission=(4.0, 4.0),
    home_first=False,
    take_off_height=None,
    patience=20.0,
)
"""OFFBOARD, AUTO.LAND and AUTO.MISSION."""
ARDUPILOT_DIALECT = Dialect(
    guided=(4.0, 0.0),
    land=(9.0, 0.0),
    mission=(3.0, 0.0),
    home_first=True,
    take_off_height=1.5,
    patience=60.0,
)
"""GUIDED, LAND and AUTO of ArduCopter."""
ARDUPLANE_DIALECT = ARDUPILOT_DIALECT._replace(guided=(15.0, 0.0), land=(20.0, 0.0), mission=(10.0, 0.0))
"""GUIDED, QLAND and AUTO of ArduPlane."""


class Lines(NamedTuple):
    """Links to N autopilots, with their names, system ids and dialect."""

    dialect: Dialect
    """Modes and take-off of the autopilots."""
    links: Sequence[Callable[[], Link]]
    """Function that opens the link to each autopilot; retried after a ConfigError."""
    systems: Sequence[int]
    """System id of each autopilot."""
    names: Sequence[str]
    """Name of each autopilot in messages."""
    printed: Callable[[int], str] = lambda _: ""
    """Function from a row to the reasons against arming that this autopilot has printed; if empty, those
    received over the link are reported."""
    axes: Sequence[LocalAxes] = ()
    """Axes of each autopilot's local frame; those of the world if empty."""


class Pilot(Protocol):
    """Pilot of N autopilots: it sends them set-points and commands."""

    reference: Reference

    @property
    def due(self) -> float:
        """Time of the next update that has something to do [s]."""

    def update(
        self, t: float, state: VehicleState, *, present: Sequence[bool], armed: Sequence[bool]
    ) -> None:
        """Send the messages that are due at time t."""

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flight."""

    def close(self) -> None:
        """Close the links."""


class AutopilotLine:
    """Link to one autopilot: its set-points, its commands, and its reasons against arming.

    Args:
        lines: Links of all autopilots.
        row: Row of this one.
        heard: Names of the messages that `listen` returns.
    """

    def __init__(self, lines: Lines, row: int, *, heard: Sequence[str] = ()) -> None:
        self._dialect, self._row, self._name = lines.dialect, row, lines.names[row]
        self._heard = "STATUSTEXT", *heard
        self._open_link, self._system, self._printed = lines.links[row], lines.systems[row], lines.printed
        self._axes = lines.axes[row] if lines.axes else LocalAxes()
        self._link: Link | None = None
        self._decoder = Decoder(*self._heard)
        self._complaint = ""
        self._asked_since: float | None = None
        self._sequence = 0

    @property
    def reasons(self) -> str:
        """Its reasons against arming."""
        return self._printed(self._row) or self._complaint or "no reason was received"

    def close(self) -> None:
        """Close the link."""
        if self._link is not None:
            self._link.close()

    def send_heartbeat(self, kind: int = ONBOARD_CONTROLLER) -> None:
        """Send a heartbeat.

        Args:
            kind: MAV_TYPE of the sender.
        """
        self._send(
            "HEARTBEAT",
            type=kind,
            autopilot=NO_AUTOPILOT,
            mavlink_version=_MAVLINK_VERSION,
        )

    def set_mode(self, mode: tuple[float, float]) -> None:
        """Request a flight mode.

        Args:
            mode: Parameters 2 and 3 of DO_SET_MODE.
        """
        self._command(_DO_SET_MODE, _CUSTOM_MODE, *mode)

    def arm(self) -> None:
        """Request that it arms."""
        self._command(_ARM_DISARM, 1.0)

    def prepare(self, *, armed: bool, height: float | None) -> None:
        """Request its guided mode; arm it, or send it the take-off command if it needs one.

        Args:
            armed: Whether it is armed.
            height: Height of the take-off command [m]; None for none.
        """
        self.set_mode(self._dialect.guided)
        if not armed:
            self.arm()
        elif height is not None:
            self._command(_TAKE_OFF, 0.0, height=height)

    def check_arming(self, t: float, *, armed: bool) -> None:
        """Report once that it does not arm, with its reasons.

        Args:
            t: Simulation time [s].
            armed: Whether it is armed, or need not be.
        """
        if armed:
            self._asked_since = math.inf
        elif self._asked_since is None:
            self._asked_since = t
        elif t - self._asked_since >= self._dialect.patience:
            self._asked_since = math.inf
            _log.warning("%s has not armed within %g s: %s", self._name, self._dialect.patience, self.reasons)

    def send_set_point(
        self,
        t: float,
        position: Sequence[float],
        velocity: Sequence[float],
        acceleration: Sequence[float],
        yaw: float,
    ) -> None:
        """Send a set-point.

        Args:
            t: Simulation time [s].
            position: Position from the origin of its local frame, in the world's axes [m].
            velocity: Velocity in the world [m/s].
            acceleration: Acceleration in the world [m/s^2].
            yaw: Heading, counter-clockwise from the world's x [rad].
        """
        axes = self._axes
        (east, north, up), (ve, vn, vu), (ae, an, au) = map(axes.vector, (position, velocity, acceleration))
        self._send(
            "SET_POSITION_TARGET_LOCAL_NED",
            time_boot_ms=round(t * 1e3),
            target_system=self._system,
            target_component=1,
            coordinate_frame=_LOCAL_NED,
            type_mask=_IGNORE_NOTHING_BUT_YAW_RATE,
            x=north,
            y=east,
            z=-up,
            vx=vn,
            vy=ve,
            vz=-vu,
            afx=an,
            afy=ae,
            afz=-au,
            yaw=math.remainder(math.pi / 2 - yaw + axes.angle, 2 * math.pi),
        )

    def send_attitude(
        self, t: float, attitude: Sequence[float] | None, rates: Sequence[float], thrust: float
    ) -> None:
        """Send an attitude or body rates, with a thrust.

        Args:
            t: Simulation time [s].
            attitude: Unit quaternion xyzw, FLU to world; None for the rates.
            rates: Angular velocity, FLU [rad/s].
            thrust: Collective thrust, 0 to 1.
        """
        roll, pitch, yaw = rates
        self._send(
            "SET_ATTITUDE_TARGET",
            time_boot_ms=round(t * 1e3),
            target_system=self._system,
            target_component=1,
            type_mask=_IGNORE_ATTITUDE if attitude is None else _IGNORE_RATES,
            q=(1.0, 0.0, 0.0, 0.0) if attitude is None else other_attitude(*self._axes.attitude(attitude)),
            body_roll_rate=roll,
            body_pitch_rate=-pitch,
            body_yaw_rate=-yaw,
            thrust=thrust,
        )

    def listen(self) -> list[Any]:
        """Read its messages, keep complaints, and return the others; open the link if necessary."""
        others = []
        try:
            if self._link is None:
                self._link, self._decoder = self._open_link(), Decoder(*self._heard)
            for message in self._decoder.feed(self._link.receive()):
                if message.msgname != "STATUSTEXT":
                    others.append(message)
                elif message.severity <= _WARNING:
                    self._complaint = message.text
        except ConfigError:
            # It is not listening yet.
            self._link = None
        except LinkClosedError:
            self.close()
            self._link = None
        return others

    def _command(
        self, number: int, param1: float, param2: float = 0.0, param3: float = 0.0, *, height: float = 0.0
    ) -> None:
        self._send(
            "COMMAND_LONG",
            target_system=self._system,
            target_component=1,
            command=number,
            param1=param1,
            param2=param2,
            param3=param3,
            param7=height,
        )

    def _send(self, name: str, **fields: Any) -> None:
        if self._link is None:
            return
        frame = encode(
            make_message(name, **fields),
            sequence=self._sequence,
            system=_PILOT_SYSTEM,
            component=_PILOT_COMPONENT,
        )
        self._sequence += 1
        try:
            self._link.send(frame)
        except LinkClosedError:
            self.close()
            self._link = None


L = TypeVar("L", bound=AutopilotLine)


class PilotOfLines(Generic[L]):
    """Links of a pilot to N autopilots, and its reference, which is idle until the pilot changes it.

    Args:
        autopilots: The links.
    """

    def __init__(self, autopilots: Sequence[L]) -> None:
        self._autopilots = list(autopilots)
        state = VehicleState.at_rest(len(self._autopilots), 1)
        self.reference = Reference.hold(state.position, state.position[:, 0])
        """Reference sent to the autopilots; live arrays."""
        self.reference.idle[...] = True
        self.due = -math.inf
        """Time of the next message [s]."""

    def close(self) -> None:
        """Close the links."""
        for autopilot in self._autopilots:
            autopilot.close()
