"""Fly PX4 along a trajectory from outside: set-points and commands to its offboard port."""

import contextlib
import math
import socket
from collections.abc import Sequence
from typing import NamedTuple

from pegasus.backends.mavlink.hil_instance import HilInstance, Phase
from pegasus.backends.mavlink.messages import CommandLong, Heartbeat, SetPositionTargetLocalNed, encode
from pegasus.control.mission import Mission
from pegasus.control.reference import Reference
from pegasus.control.trajectories import Trajectory
from pegasus.state import VehicleState

_SET_POINT_INTERVAL = 0.05
"""Simulated time between two set-points [s]; PX4 leaves its offboard mode after 0.5 s without one."""
_RETRY_INTERVAL = 1.0
"""Simulated time between two attempts to arm, and between two heartbeats [s]."""
_ONBOARD_CONTROLLER, _NO_AUTOPILOT = 18, 8
_DO_SET_MODE, _ARM_DISARM = 176, 400
_CUSTOM_MODE, _OFFBOARD, _AUTO, _AUTO_LAND = 1.0, 6.0, 4.0, 6.0
_IGNORE_NOTHING_BUT_YAW_RATE = 1 << 11
_PILOT_SYSTEM, _PILOT_COMPONENT = 245, 191


class OffboardPilot:
    """Arm N PX4s, fly each along the same trajectory from where it stands, and land it.

    PX4 arms when its estimator is ready; it is asked once a second until it does. All times are simulated.

    Args:
        trajectory: What is flown.
        addresses: Offboard port of each autopilot, (host, port).
        systems: System id of each autopilot.
    """

    def __init__(
        self, trajectory: Trajectory, addresses: Sequence[tuple[str, int]], systems: Sequence[int]
    ) -> None:
        self._trajectory = trajectory
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._students = [
            _Student(self._socket, address, system, trajectory, row)
            for row, (address, system) in enumerate(zip(addresses, systems, strict=True))
        ]
        state = VehicleState.at_rest(len(addresses), 1)
        self.reference = Reference.hold(state.position, state.position[:, 0])
        """What the autopilots are told to follow; live arrays."""
        self.reference.idle[...] = True

    @property
    def finished(self) -> bool:
        """Whether all trajectories are over."""
        return all(student.mission.finished for student in self._students)

    def update(self, t: float, state: VehicleState, instances: Sequence[HilInstance]) -> None:
        """Send what is due at time t.

        Args:
            t: Simulation time [s].
            state: True state, for the place where each vehicle starts.
            instances: The autopilots.
        """
        for student, instance in zip(self._students, instances, strict=True):
            student.update(t, state, instance)
            student.report(self.reference)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class _Student:
    """One autopilot under instruction."""

    def __init__(
        self,
        link: socket.socket,
        address: tuple[str, int],
        system: int,
        trajectory: Trajectory,
        row: int,
    ) -> None:
        self._link, self._address, self._system, self._row = link, address, system, row
        self.mission = Mission(trajectory, count=1, relative=True, spin_up=1.0)
        self._sequence = 0
        self._start: list[float] | None = None
        self._next_set_point = self._next_command = -math.inf
        self._flying = self._landing = False

    def update(self, t: float, state: VehicleState, instance: HilInstance) -> None:
        if instance.phase is Phase.ABSENT:
            return
        own = _row(state, self._row)
        if self._start is None:
            self._start = own.position[0].tolist()
        if instance.armed and not self._landing:
            self.mission.update(t, own)
            self._flying = self._flying or self.mission.airborne
        over = self._flying and (self.mission.finished or self.mission.landing)
        if over or (self._flying and not instance.armed):
            self._landing = True
        if t >= self._next_command:
            self._next_command = t + _RETRY_INTERVAL
            self._send(Heartbeat(type=_ONBOARD_CONTROLLER, autopilot=_NO_AUTOPILOT))
            if self._landing and instance.armed:
                self._command(_DO_SET_MODE, _CUSTOM_MODE, _AUTO, _AUTO_LAND)
            elif not self._flying:
                self._command(_DO_SET_MODE, _CUSTOM_MODE, _OFFBOARD)
                if not instance.armed:
                    self._command(_ARM_DISARM, 1.0)
        if t >= self._next_set_point:
            self._next_set_point = t + _SET_POINT_INTERVAL
            self._send(self._set_point(t, own))

    def report(self, reference: Reference) -> None:
        """Write what this autopilot follows into its row of the reference of all."""
        own, row = self.mission.reference, self._row
        reference.position[row], reference.velocity[row] = own.position[0], own.velocity[0]
        reference.acceleration[row], reference.jerk[row] = own.acceleration[0], own.jerk[0]
        reference.yaw[row], reference.yaw_rate[row] = own.yaw[0], own.yaw_rate[0]
        reference.idle[row] = own.idle[0] or self._landing or not self._flying
        reference.segment = own.segment

    def _set_point(self, t: float, own: VehicleState) -> SetPositionTargetLocalNed:
        """Return the reference in PX4's local frame: NED from where it stood when it started."""
        assert self._start is not None
        reference = self.mission.reference
        east, north, up = reference.position[0].tolist() if self._flying else own.position[0].tolist()
        x0, y0, z0 = self._start
        ve, vn, vu = reference.velocity[0].tolist()
        ae, an, au = reference.acceleration[0].tolist()
        yaw = float(reference.yaw[0]) if self._flying else _heading(own)
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

    def _command(self, number: int, param1: float, param2: float = 0.0, param3: float = 0.0) -> None:
        self._send(
            CommandLong(
                param1=param1,
                param2=param2,
                param3=param3,
                command=number,
                target_system=self._system,
                target_component=1,
            )
        )

    def _send(self, message: NamedTuple) -> None:
        frame = encode(message, sequence=self._sequence, system=_PILOT_SYSTEM, component=_PILOT_COMPONENT)
        self._sequence += 1
        # PX4 may not listen yet; what is lost is sent again.
        with contextlib.suppress(OSError):
            self._link.sendto(frame, self._address)


def _row(state: VehicleState, row: int) -> VehicleState:
    """Return the state of one copy; its arrays are live."""
    rows = slice(row, row + 1)
    return VehicleState(**{name: array[rows] for name, array in vars(state).items()})


def _heading(state: VehicleState) -> float:
    return math.atan2(float(state.rotation[0, 1, 0]), float(state.rotation[0, 0, 0]))
