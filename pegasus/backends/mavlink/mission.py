"""Missions of waypoints that autopilots fly by themselves, by MAVLink's mission protocol."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pegasus.backends.mavlink.autopilot_line import (
    GROUND_STATION,
    NO_AUTOPILOT,
    RETRY_INTERVAL,
    AutopilotLine,
    Lines,
    Pilot,
    PilotOfLines,
)
from pegasus.backends.mavlink.offboard import OffboardPilot
from pegasus.base.components import Vec3
from pegasus.base.errors import ConfigError, unknown_name
from pegasus.contracts.state import Plan, VehicleState
from pegasus.control.trajectories import Trajectory, trajectory_from_spec
from pegasus.environment.geodesy import Geodetic, geodetic_from_local

_WAYPOINT = 16
_KINDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "takeoff": (22, ("pitch",)),
    "vtol_takeoff": (84, ()),
    "waypoint": (_WAYPOINT, ("hold_time", "radius")),
    "loiter": (18, ("turns", "", "radius")),
    "land": (21, ()),
    "vtol_land": (85, ()),
}
"""MAV_CMD of each kind of item, and the names of its parameters from param1 on."""
_INTERVAL = 0.1
"""Simulated time between looks at the messages of an autopilot [s]."""
_REPEATS = 3
"""Number of requests for the mission mode, which a failsafe or a user may leave afterwards."""
_ABOVE_HOME = 6
_ACCEPTED = 0
_ARMED = 128
"""MAV_MODE_FLAG_SAFETY_ARMED."""


class MissionItem(NamedTuple):
    """Command of a mission, such as a waypoint or a landing."""

    command: int
    """MAV_CMD."""
    position: Vec3
    """Place from the start of the vehicle, in the world's axes [m]."""
    parameters: tuple[float, ...] = (0.0, 0.0, 0.0)
    """Parameters 1 to 3 of the command."""


def mission_from_spec(spec: Any, *, field: str = "waypoints") -> list[MissionItem]:
    """Return the items of a mission in a scenario file.

    Args:
        spec: List of mappings of one kind to its parameters, such as `{waypoint: {position: [200, 0, 30]}}`.
        field: Dotted path of it in its file, for errors.

    Raises:
        ConfigError: If it is no such list, or a kind or parameter is unknown or not allowed.
    """
    if not isinstance(spec, list | tuple) or not spec:
        raise ConfigError(
            "must be a list of items",
            field=field,
            value=spec,
            remedy="such as [{takeoff: {position: [100, 0, 30]}}, {waypoint: {position: [300, 0, 40]}}]",
        )
    return [_item(entry, f"{field}.{index}") for index, entry in enumerate(spec)]


def flight_from_spec(trajectory: Any, waypoints: Any) -> Trajectory | list[MissionItem] | None:
    """Return what autopilots are to fly: a trajectory, the items of a mission, or None.

    Args:
        trajectory: Trajectory of a backend, or None.
        waypoints: Mission of a backend, or None.

    Raises:
        ConfigError: If both are given, or one is wrong.
    """
    if waypoints is None:
        return None if trajectory is None else trajectory_from_spec(trajectory)
    if trajectory is not None:
        raise ConfigError("exclude a trajectory", field="waypoints", remedy="omit one of them")
    return mission_from_spec(waypoints)


def pilot_of(flight: Trajectory | list[MissionItem] | None, lines: Lines, origin: Geodetic) -> Pilot | None:
    """Return the pilot of a flight, None without one.

    Args:
        flight: What the autopilots are to fly.
        lines: Links to them.
        origin: Geographic origin of the world.
    """
    if isinstance(flight, list):
        return MissionPilot(flight, lines, origin)
    return None if flight is None else OffboardPilot(flight, lines)


def _item(entry: Any, field: str) -> MissionItem:
    if not isinstance(entry, Mapping) or len(entry) != 1:
        known = ", ".join(_KINDS)
        problem = "must be a mapping of one name to its parameters"
        raise ConfigError(problem, field=field, value=entry, remedy=f"known are {known}")
    ((kind, given),) = entry.items()
    if kind not in _KINDS:
        raise unknown_name("kind of mission item", kind, sorted(_KINDS)).about(field)
    command, names = _KINDS[kind]
    allowed = ["position", *filter(None, names)]
    for name in given if isinstance(given, Mapping) else ():
        if name not in allowed:
            raise ConfigError(
                f"is no parameter; {kind} has {', '.join(allowed)}", field=f"{field}.{kind}", value=name
            )
    position: Any = given.get("position", ()) if isinstance(given, Mapping) else ()
    if not _are_finite(position, 3):
        raise ConfigError(
            "must be three numbers",
            field=f"{field}.{kind}.position",
            value=position or None,
            remedy="x, y, z in m",
        )
    values = [given.get(name, 0.0) for name in names] + [0.0] * (3 - len(names))
    if not _are_finite(values, 3):
        raise ConfigError("must be numbers", field=f"{field}.{kind}", value=dict(given))
    x, y, z = position
    return MissionItem(command, (x, y, z), tuple(map(float, values)))


def _are_finite(values: Any, count: int) -> bool:
    fits = isinstance(values, list | tuple) and len(values) == count
    return fits and all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        for value in values
    )


class MissionPilot(PilotOfLines["_Autopilot"]):
    """Pilot that sends a mission to N autopilots, arms them, and lets them fly it.

    It is their ground station. The requests are repeated every second until an autopilot is armed; reasons
    against arming are reported after the delay that the dialect defines. All times are simulated.

    Args:
        items: The mission, from the start of each vehicle.
        lines: Links to the autopilots.
        origin: Geographic origin of the world.
    """

    def __init__(self, items: Sequence[MissionItem], lines: Lines, origin: Geodetic) -> None:
        super().__init__([_Autopilot(items, lines, row, origin) for row in range(len(lines.systems))])

    @property
    def reached(self) -> list[int]:
        """Number of items that each autopilot has reached."""
        return [autopilot.reached for autopilot in self._autopilots]

    def update(
        self, t: float, state: VehicleState, *, present: Sequence[bool], armed: Sequence[bool]
    ) -> None:
        """Exchange the messages that are due at time t.

        Args:
            t: Simulation time [s].
            state: True state, whose first positions are the starts.
            present: Whether each autopilot is connected.
            armed: Whether each autopilot is armed.
        """
        if t < self.due:
            return
        self.due = t + _INTERVAL
        for autopilot, there, is_armed, position in zip(
            self._autopilots, present, armed, state.position.tolist(), strict=True
        ):
            if there:
                autopilot.update(t, position, armed=is_armed)

    def plan(self, t: float) -> Plan | None:
        """Return None: the autopilots plan their paths themselves."""
        return None


class _Autopilot(AutopilotLine):
    """Link to an autopilot, and how far it has got in its mission."""

    def __init__(self, items: Sequence[MissionItem], lines: Lines, row: int, origin: Geodetic) -> None:
        heard = "HEARTBEAT", "MISSION_REQUEST", "MISSION_REQUEST_INT", "MISSION_ACK", "MISSION_ITEM_REACHED"
        super().__init__(lines, row, heard=heard)
        home = [MissionItem(_WAYPOINT, (0.0, 0.0, 0.0))] if self._dialect.home_first else []
        self._items, self._origin = [*home, *items], origin
        self._start: list[float] | None = None
        self._next = -math.inf
        self._is_accepted = self._is_rejected = self._was_armed = self._says_armed = False
        self._requests = 0
        self.reached = 0
        """Number of items that it has reached."""

    @property
    def reasons(self) -> str:
        """Its reasons against arming."""
        if not self._is_rejected:
            return super().reasons
        return f"it rejects the mission: {self._complaint or 'no reason was received'}"

    def update(self, t: float, position: list[float], *, armed: bool) -> None:
        """Read its messages and send those that are due to it."""
        if self._start is None:
            self._start = position
        for message in self.listen():
            self._take(message)
        # ArduPlane's outputs are those of a disarmed one until it takes off.
        armed = armed or self._says_armed
        newly_armed, self._was_armed = armed and not self._was_armed, armed
        if newly_armed:
            self._next, self._requests = t, _REPEATS
        if t < self._next:
            return
        self._next = t + RETRY_INTERVAL
        self.send_heartbeat(GROUND_STATION)
        if not self._is_accepted:
            self._send(
                "MISSION_COUNT",
                target_system=self._system,
                target_component=1,
                count=len(self._items),
            )
        elif not armed and self.reached == 0:
            # Not in mission mode: in that PX4 sets no home position, without which it does not arm.
            self.arm()
        elif armed and self._requests > 0:
            self._requests -= 1
            self.set_mode(self._dialect.mission)
        self.check_arming(t, armed=armed or self.reached > 0)

    def _take(self, message: Any) -> None:
        if message.msgname == "HEARTBEAT":
            if message.autopilot != NO_AUTOPILOT:
                self._says_armed = bool(message.base_mode & _ARMED)
        elif message.msgname == "MISSION_ITEM_REACHED":
            self.reached = max(self.reached, message.seq + (0 if self._dialect.home_first else 1))
        elif message.msgname == "MISSION_ACK":
            # ArduPilot rejects missions while it starts.
            self._is_accepted = self._is_accepted or message.type == _ACCEPTED
            self._is_rejected = not self._is_accepted
        elif message.seq < len(self._items):
            self._send_item(message.seq)

    def _send_item(self, number: int) -> None:
        assert self._start is not None
        item = self._items[number]
        place = np.array(self._start) + item.position
        latitude, longitude, _ = geodetic_from_local(place, origin=self._origin)
        first, second, third = item.parameters
        self._send(
            "MISSION_ITEM_INT",
            target_system=self._system,
            target_component=1,
            seq=number,
            frame=_ABOVE_HOME,
            command=item.command,
            current=int(number == 0),
            autocontinue=1,
            param1=first,
            param2=second,
            param3=third,
            # Heading: PX4's NaN is that of the path, ArduPilot accepts numbers only.
            param4=0.0 if self._dialect.home_first else math.nan,
            x=round(float(latitude) * 1e7),
            y=round(float(longitude) * 1e7),
            z=item.position[2],
        )
