"""Guided flight of autopilots: the commands of guided controllers by set-points and flight modes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.backends.mavlink.autopilot_line import (
    RETRY_INTERVAL,
    SET_POINT_INTERVAL,
    AutopilotLine,
    Lines,
    Pilot,
)
from pegasus.backends.mavlink.estimate_link import EstimateListener
from pegasus.backends.mavlink.thrust_output import ThrustOutput
from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.contracts.state import Plan, VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.control.guided_commands import GuidedCommands
from pegasus.control.guided_mission import GuidedMission
from pegasus.control.guided_step import ATTITUDE, LAND

_SPIN_UP = 1.0
"""Time from arming, or after the autopilot's own take-off, until the reference moves [s]."""
_RISEN = 0.8
"""Share of the height of a take-off command at which an autopilot follows set-points."""
_REPEATS = 3
"""Number of requests for the guided mode after a landing that another command ends."""


class AutopilotMission(GuidedMission):
    """Mission whose vehicles fly as soon as they are ready, and have landed when they are disarmed.

    Args:
        count: Number of vehicles N.
        height: Climb at take-off [m].
        speed: Maximum speed towards a point [m/s].
        acceleration: Maximum acceleration [m/s^2].
    """

    def __init__(self, *, count: int, height: float, speed: float, acceleration: float) -> None:
        super().__init__(count=count, spin_up=_SPIN_UP, height=height, speed=speed, acceleration=acceleration)
        self.armed, self.ready = self.columns["armed"], self.columns["ready"]
        """1 for vehicles that are armed, and for those that can take off, else 0, shape (N,)."""
        self.armed[...] = self.ready[...] = 0.0
        self.base = np.full((count, 3), math.nan)
        """Position of each vehicle when it was last disarmed [m]."""
        self.columns["base"] = self.base


class GuidedPilot:
    """Pilot that arms N autopilots for a take-off, streams the reference of a mission, and lands them.

    The mission sees each vehicle as its autopilot does: at the place of the take-off, moved by what the
    autopilot's estimate has moved since. All times are simulated.

    Args:
        mission: The mission.
        estimates: Listener to the autopilots' estimates.
        lines: Links to the autopilots.
        shares: Function from the thrust of each vehicle along its z axis [N] and the cosine of its tilt to
            the thrust of set-points, 0 to 1, shape (N,) each.
    """

    def __init__(
        self,
        mission: AutopilotMission,
        estimates: EstimateListener,
        lines: Lines,
        shares: Callable[[Array, Array], Array],
    ) -> None:
        self.reference, self._shares = mission.reference, shares
        self._mission, self._estimates, self._dialect = mission, estimates, lines.dialect
        self._autopilots = [_Autopilot(lines, row) for row in range(len(lines.systems))]
        self._anchor = np.zeros((len(lines.systems), 3))
        self._due, self._orders = -math.inf, mission.order.copy()

    due = -math.inf
    """A new command is not kept waiting: it is updated at every step."""

    def update(
        self, t: float, state: VehicleState, *, present: Sequence[bool], armed: Sequence[bool]
    ) -> None:
        """Advance the mission and send the messages that are due at time t.

        Args:
            t: Simulation time [s].
            state: True state.
            present: Whether each autopilot is connected.
            armed: Whether each autopilot is armed.
        """
        mission = self._mission
        if t < self._due and (mission.order == self._orders).all():
            return
        self._due, self._orders[...] = t + SET_POINT_INTERVAL, mission.order
        mission.armed[...] = np.array(armed) & np.array(present)
        seen = self.seen(state)
        mission.ready[...] = mission.armed
        heights = self._take_off_heights
        if heights is not None:
            mission.ready *= state.position[:, 2] > mission.base[:, 2] + _RISEN * heights
        mission.update(t, seen)
        shares = self._thrust(seen)
        for row, autopilot in enumerate(self._autopilots):
            if present[row]:
                height = None if heights is None or mission.ready[row] else float(heights[row])
                autopilot.instruct(t, mission, height=height)
                if mission.flying[row] and mission.columns["directive"][row] >= ATTITUDE:
                    self._send_attitude(t, row, autopilot, float(shares[row]))
                else:
                    self._send_set_point(t, row, autopilot, seen)

    def reasons(self, copy: int) -> str:
        """Return why an autopilot is not armed; empty if it is.

        Args:
            copy: Its copy.
        """
        return "" if self._mission.armed[copy] else self._autopilots[copy].reasons

    def plan(self, t: float) -> Plan | None:
        """Return the straight path to the target; see `GuidedMission.plan`."""
        return self._mission.plan(t)

    def close(self) -> None:
        """Close the links."""
        for autopilot in self._autopilots:
            autopilot.close()

    @property
    def _take_off_heights(self) -> Array | None:
        """Heights to which the autopilots climb by themselves [m], shape (N,); None if they do not."""
        height = self._dialect.take_off_height
        return None if height is None else np.minimum(height, self._mission.columns["climb"])

    def seen(self, state: VehicleState) -> VehicleState:
        """Return places and velocities as the autopilots see them, in a copy of the true state.

        They are the true ones until the autopilots send estimates.
        """
        mission, local = self._mission, self._estimates.local_position
        velocity = self._estimates.estimate.velocity
        standing = mission.armed == 0
        mission.base[standing] = state.position[standing]
        self._anchor[standing] = (state.position - np.nan_to_num(local))[standing]
        seen = {name: array.copy() for name, array in vars(state).items()}
        seen["position"] = np.where(np.isnan(local), state.position, self._anchor + local)
        seen["velocity"] = np.where(np.isnan(velocity), state.velocity, velocity)
        return VehicleState(**seen)

    def _thrust(self, seen: VehicleState) -> Array:
        """Return the thrust of set-points by attitude or body rates, 0 to 1, shape (N,)."""
        columns = self._mission.columns
        if (columns["directive"] < ATTITUDE).all():
            return np.zeros(len(columns["directive"]))
        x, y, _, _ = columns["attitude"].T
        commanded = columns["directive"] == ATTITUDE
        cosine = np.where(commanded, 1.0 - 2.0 * (x * x + y * y), seen.rotation[:, 2, 2])
        return self._shares(columns["lift"], cosine)

    def _send_attitude(self, t: float, row: int, autopilot: "_Autopilot", thrust: float) -> None:
        columns = self._mission.columns
        by_rates = columns["directive"][row] != ATTITUDE
        attitude = None if by_rates else columns["attitude"][row].tolist()
        autopilot.send_attitude(t, attitude, columns["rates"][row].tolist(), thrust)

    def _send_set_point(self, t: float, row: int, autopilot: "_Autopilot", seen: VehicleState) -> None:
        mission, reference = self._mission, self._mission.reference
        follows = bool(mission.flying[row])
        if not follows and self._dialect.take_off_height is not None:
            return
        place = (reference.position if follows else seen.position)[row] - self._anchor[row]
        autopilot.send_set_point(
            t,
            place.tolist(),
            (reference.velocity[row] * follows).tolist(),
            (reference.acceleration[row] * follows).tolist(),
            float((reference.yaw if follows else seen.heading)[row]),
        )


class _Autopilot(AutopilotLine):
    """Link to one autopilot, which sends the commands of the present phase of its flight."""

    def __init__(self, lines: Lines, row: int) -> None:
        super().__init__(lines, row)
        self._next, self._phase, self._left = -math.inf, "", 0

    def instruct(self, t: float, mission: AutopilotMission, *, height: float | None) -> None:
        """Send the commands of its phase: at once when it changes, then every second."""
        armed, phase = bool(mission.armed[self._row]), self._phase_of(mission)
        if phase != self._phase:
            # The mode of a vehicle that flies is left alone afterwards: a user or a failsafe may change it.
            self._left = _REPEATS if (self._phase, phase) == ("land", "fly") else 0
            self._next, self._phase, self._asked_since = t, phase, None
        if t < self._next:
            return
        self._next = t + RETRY_INTERVAL
        self.listen()
        self.send_heartbeat()
        if phase == "take off":
            self.prepare(armed=armed, height=height)
            self.check_arming(t, armed=armed)
        elif phase == "land":
            self.set_mode(self._dialect.land)
        elif phase == "fly" and self._left:
            self._left -= 1
            self.set_mode(self._dialect.guided)

    def _phase_of(self, mission: AutopilotMission) -> str:
        if mission.rising[self._row]:
            return "take off"
        if mission.flying[self._row] and mission.columns["directive"][self._row] != LAND:
            return "fly"
        # One that was armed by others is left alone.
        return "land" if mission.armed[self._row] and self._phase != "stand" else "stand"


@dataclass(eq=False)
class GuidedAutopilot(GuidedCommands):
    """Mixin for autopilots that are flown by commands; without a command they are not armed."""

    def __post_init__(self) -> None:
        self._require_limits()
        # A program without sight of the vehicle must not arm a real flight controller.
        why = "the commands fly it"
        allowed = {"trajectory": why, "waypoints": why, "connection": "only a PX4 on this machine"}
        for option, why in allowed.items():
            value = getattr(self, option, None)
            remedy = "omit it, or use the class without commands"
            require(value is None, option, value, f"is not allowed with commands: {why}", remedy)
        self.renew_mission(1)
        self._flown: GuidedPilot | None = None
        self._listener: EstimateListener | None = None
        super().__post_init__()  # type: ignore[misc]

    def bind(self, vehicle: Vehicle) -> None:
        """Prepare for a vehicle; see the autopilot's class."""
        super().bind(vehicle)
        assert self._flyer is not None
        self.renew_mission(vehicle.count)
        self._output = ThrustOutput(self._flyer, self._outputs)  # type: ignore[attr-defined]

    def start(self) -> None:
        """Start the autopilots, disarmed; commands given before the first step are kept."""
        if self.mission.begun:
            self.renew_mission(len(self.mission.order))
        super().start()

    def renew_mission(self, count: int) -> None:
        """Make a new mission of N vehicles the present one."""
        limits = {"height": self.height, "speed": self.speed, "acceleration": self.acceleration}
        self.mission: AutopilotMission = AutopilotMission(count=count, **limits)

    def thrust_limits(self) -> tuple[Array, Array]:
        """Return the weight and the largest thrust of each copy [N]; see `GuidedCommands.thrust_limits`."""
        return self._output.weight, self._output.most

    def _thrust_shares(self, thrust: Array, cosine: Array) -> Array:
        """Return the thrust of set-points that gives a thrust, 0 to 1, shape (N,).

        Args:
            thrust: Thrust of each vehicle along its z axis [N], shape (N,).
            cosine: Cosine of its tilt, shape (N,).
        """
        raise NotImplementedError

    def _new_pilot(self, lines: Lines) -> Pilot | None:
        assert self._listener is not None
        self._flown = GuidedPilot(self.mission, self._listener, lines, self._thrust_shares)
        return self._flown

    def reason(self, copy: int) -> str:
        """Return why a copy cannot do a command; empty if unknown."""
        return "" if self._flown is None else self._flown.reasons(copy)
