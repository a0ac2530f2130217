"""Offboard pilot: arms autopilots and flies them along a trajectory by MAVLink set-points and commands."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.messages import (
    CommandLong,
    Decoder,
    Heartbeat,
    SetPositionTargetLocalNed,
    StatusText,
    encode,
)
from pegasus.base.errors import ConfigError
from pegasus.control.mission import Mission
from pegasus.control.trajectories import Trajectory
from pegasus.core.state import Plan, Reference, VehicleState

_log = logging.getLogger(__name__)

_SET_POINT_INTERVAL = 0.05
"""Simulated time between two set-points [s]; PX4 leaves its offboard mode after 0.5 s without one."""
_RETRY_INTERVAL = 1.0
"""Simulated time between attempts to arm, and between heartbeats [s]."""
_ONBOARD_CONTROLLER, _NO_AUTOPILOT = 18, 8
_DO_SET_MODE, _ARM_DISARM, _TAKE_OFF = 176, 400, 22
_CUSTOM_MODE = 1.0
_IGNORE_NOTHING_BUT_YAW_RATE = 1 << 11
_PILOT_SYSTEM, _PILOT_COMPONENT = 245, 191
_WARNING = 4
"""Highest number of severity that is a complaint."""


class Dialect(NamedTuple):
    """Flight modes and take-off of a type of autopilot."""

    guided: tuple[float, float]
    """Parameters 2 and 3 of DO_SET_MODE to follow set-points."""
    land: tuple[float, float]
    """Parameters 2 and 3 of DO_SET_MODE to land."""
    take_off_height: float | None
    """Height of the take-off command that it needs before set-points [m]; None if it needs none."""
    patience: float
    """Simulated time after which failed arming is reported [s]."""


PX4_DIALECT = Dialect(guided=(6.0, 0.0), land=(4.0, 6.0), take_off_height=None, patience=20.0)
"""OFFBOARD and AUTO.LAND."""
ARDUPILOT_DIALECT = Dialect(guided=(4.0, 0.0), land=(9.0, 0.0), take_off_height=1.5, patience=60.0)
"""GUIDED and LAND of ArduCopter."""


class OffboardPilot:
    """Pilot that arms N autopilots, flies each along the same trajectory from its start, and lands it.

    An autopilot arms when its estimator is ready. The request is repeated every second; reasons against
    arming are reported after the delay that the dialect defines. All times are simulated.

    Args:
        trajectory: The trajectory.
        dialect: Modes and take-off of the autopilots.
        links: Function that opens the link to each autopilot; retried after a ConfigError.
        systems: System id of each autopilot.
        names: Name of each autopilot in messages.
        printed: Function from a row to the reasons against arming that this autopilot has printed; if empty,
            those received over the link are reported.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        dialect: Dialect,
        links: Sequence[Callable[[], Link]],
        systems: Sequence[int],
        names: Sequence[str],
        printed: Callable[[int], str] = lambda _: "",
    ) -> None:
        self._autopilots = [
            _Autopilot(trajectory, dialect, link, system, row, name, partial(printed, row))
            for row, (link, system, name) in enumerate(zip(links, systems, names, strict=True))
        ]
        state = VehicleState.at_rest(len(systems), 1)
        self.reference = Reference.hold(state.position, state.position[:, 0])
        """Reference sent to the autopilots; live arrays."""
        self.reference.idle[...] = True
        self._due = -math.inf

    def update(
        self, t: float, state: VehicleState, *, present: Sequence[bool], armed: Sequence[bool]
    ) -> None:
        """Send the messages that are due at time t.

        Args:
            t: Simulation time [s].
            state: True state, whose first positions are the starts.
            present: Whether each autopilot is connected.
            armed: Whether each autopilot is armed.
        """
        if t < self._due:
            return
        for autopilot, there, is_armed in zip(self._autopilots, present, armed, strict=True):
            if there:
                autopilot.update(t, state, armed=is_armed)
            autopilot.report(self.reference)
        # One that is absent is asked for at every step.
        self._due = min(autopilot.due for autopilot in self._autopilots)

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the trajectory, by the progress of the first autopilot; None before the flight.

        Args:
            t: Simulation time [s].
        """
        plans = [autopilot.mission.plan(t) for autopilot in self._autopilots]
        first = plans[0]
        if first is None:
            return None
        origins = [first.origin if plan is None else plan.origin for plan in plans]
        return replace(first, origin=np.concatenate(origins))

    def close(self) -> None:
        """Close the links."""
        for autopilot in self._autopilots:
            autopilot.close()


class _Autopilot:
    """One autopilot and its progress."""

    def __init__(
        self,
        trajectory: Trajectory,
        dialect: Dialect,
        open_link: Callable[[], Link],
        system: int,
        row: int,
        name: str,
        printed: Callable[[], str],
    ) -> None:
        self._dialect, self._open_link, self._system, self._row = dialect, open_link, system, row
        self._name, self._printed = name, printed
        # After a take-off command it is in the air when it begins to follow.
        spin_up = 1.0 if dialect.take_off_height is None else 0.0
        self.mission = Mission(trajectory, count=1, relative=True, spin_up=spin_up)
        self._link: Link | None = None
        self._decoder = Decoder()
        self._complaint = ""
        self._asked_since: float | None = None
        self._sequence = 0
        self._start: list[float] | None = None
        self._next_set_point = self._next_command = -math.inf
        self._flying = self._landing = False

    def update(self, t: float, state: VehicleState, *, armed: bool) -> None:
        """Send the messages that are due to this autopilot."""
        if t < self.due:
            return
        own, moves = _row(state, self._row), t >= self._next_set_point
        if self._start is None:
            self._start = own.position[0].tolist()
        if moves and armed and not self._landing and self._may_follow(own):
            self.mission.update(t, own)
            self._flying = self._flying or self.mission.airborne
        over = self._flying and (self.mission.finished or self.mission.landing)
        if over or (self._flying and not armed):
            self._landing = True
        if t >= self._next_command:
            self._next_command = t + _RETRY_INTERVAL
            self._instruct(armed=armed)
            self._check_arming(t, armed=armed)
        if moves:
            self._next_set_point = t + _SET_POINT_INTERVAL
            if self._flying or self._dialect.take_off_height is None:
                self._send(self._set_point(t, own))

    @property
    def due(self) -> float:
        """Time of its next message [s]; the mission advances with the set-points."""
        return min(self._next_set_point, self._next_command)

    def close(self) -> None:
        """Close the link."""
        if self._link is not None:
            self._link.close()

    def _may_follow(self, own: VehicleState) -> bool:
        """Return whether it is high enough to follow set-points."""
        height = self._dialect.take_off_height
        assert self._start is not None
        return height is None or self._flying or bool(own.position[0, 2] > self._start[2] + 0.8 * height)

    def _instruct(self, *, armed: bool) -> None:
        """Send the commands of the present phase; repeated until they take effect."""
        self._listen()
        self._send(Heartbeat(type=_ONBOARD_CONTROLLER, autopilot=_NO_AUTOPILOT))
        if self._landing:
            if armed:
                self._command(_DO_SET_MODE, _CUSTOM_MODE, *self._dialect.land)
        elif not self._flying:
            self._command(_DO_SET_MODE, _CUSTOM_MODE, *self._dialect.guided)
            if not armed:
                self._command(_ARM_DISARM, 1.0)
            elif self._dialect.take_off_height is not None:
                self._command(_TAKE_OFF, 0.0, height=self._dialect.take_off_height)

    def _check_arming(self, t: float, *, armed: bool) -> None:
        """Report once that it does not arm, with its reasons."""
        if armed or self._flying:
            self._asked_since = math.inf
        elif self._asked_since is None:
            self._asked_since = t
        elif t - self._asked_since >= self._dialect.patience:
            self._asked_since = math.inf
            complaint = self._printed() or self._complaint or "no reason was received"
            _log.warning("%s has not armed within %g s: %s", self._name, self._dialect.patience, complaint)

    def _listen(self) -> None:
        """Read its messages and keep complaints; open the link if necessary."""
        try:
            if self._link is None:
                self._link, self._decoder = self._open_link(), Decoder()
            for message in self._decoder.feed(self._link.receive()):
                if type(message) is StatusText and message.severity <= _WARNING:
                    self._complaint = message.line
        except ConfigError:
            # It is not listening yet.
            self._link = None
        except LinkClosedError:
            self.close()
            self._link = None

    def report(self, reference: Reference) -> None:
        """Write the reference of this autopilot into its row of the common reference."""
        own, row = self.mission.reference, self._row
        reference.position[row], reference.velocity[row] = own.position[0], own.velocity[0]
        reference.acceleration[row], reference.jerk[row] = own.acceleration[0], own.jerk[0]
        reference.yaw[row], reference.yaw_rate[row] = own.yaw[0], own.yaw_rate[0]
        reference.idle[row] = own.idle[0] or self._landing or not self._flying
        reference.segment = own.segment

    def _set_point(self, t: float, own: VehicleState) -> SetPositionTargetLocalNed:
        """Return the reference in PX4's local frame: NED relative to the start."""
        assert self._start is not None
        reference = self.mission.reference
        east, north, up = reference.position[0].tolist() if self._flying else own.position[0].tolist()
        x0, y0, z0 = self._start
        ve, vn, vu = reference.velocity[0].tolist()
        ae, an, au = reference.acceleration[0].tolist()
        yaw = float(reference.yaw[0]) if self._flying else float(own.heading[0])
        return SetPositionTargetLocalNed(
            round(t * 1e3),
            north - y0,
            east - x0,
            z0 - up,
            vn,
            ve,
            -vu,
            an,
            ae,
            -au,
            math.remainder(math.pi / 2 - yaw, 2 * math.pi),
            0.0,
            _IGNORE_NOTHING_BUT_YAW_RATE,
            self._system,
            1,
        )

    def _command(
        self, number: int, param1: float, param2: float = 0.0, param3: float = 0.0, *, height: float = 0.0
    ) -> None:
        self._send(
            CommandLong(
                param1=param1,
                param2=param2,
                param3=param3,
                param7=height,
                command=number,
                target_system=self._system,
                target_component=1,
            )
        )

    def _send(self, message: NamedTuple) -> None:
        if self._link is None:
            return
        frame = encode(message, sequence=self._sequence, system=_PILOT_SYSTEM, component=_PILOT_COMPONENT)
        self._sequence += 1
        try:
            self._link.send(frame)
        except LinkClosedError:
            self.close()
            self._link = None


def _row(state: VehicleState, row: int) -> VehicleState:
    """Return the state of one copy; its arrays are live."""
    rows = slice(row, row + 1)
    return VehicleState(**{name: array[rows] for name, array in vars(state).items()})
