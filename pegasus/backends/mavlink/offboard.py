"""Offboard pilot: arms autopilots and flies them along a trajectory by MAVLink set-points and commands."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pegasus.backends.mavlink.autopilot_line import (
    RETRY_INTERVAL,
    SET_POINT_INTERVAL,
    AutopilotLine,
    Lines,
    PilotOfLines,
)
from pegasus.contracts.state import Plan, Reference, VehicleState
from pegasus.control.full_pose import ALONG_Z, require_pose
from pegasus.control.mission import Mission
from pegasus.control.mission_step import WIDTH
from pegasus.control.trajectories import Trajectory


class OffboardPilot(PilotOfLines["_Autopilot"]):
    """Pilot that arms N autopilots, flies each along the same trajectory from its start, and lands it.

    An autopilot arms when its estimator is ready. The request is repeated every second; reasons against
    arming are reported after the delay that the dialect defines. All times are simulated.

    Args:
        trajectory: The trajectory.
        lines: Links to the autopilots.
    """

    def __init__(self, trajectory: Trajectory, lines: Lines) -> None:
        super().__init__([_Autopilot(trajectory, lines, row) for row in range(len(lines.systems))])

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
        if t < self.due:
            return
        for autopilot, there, is_armed in zip(self._autopilots, present, armed, strict=True):
            if there:
                autopilot.update(t, state, armed=is_armed)
            autopilot.report(self.reference)
        # One that is absent is asked for at every step.
        self.due = min(autopilot.due for autopilot in self._autopilots)

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


class _Autopilot(AutopilotLine):
    """One autopilot and its progress."""

    def __init__(self, trajectory: Trajectory, lines: Lines, row: int) -> None:
        super().__init__(lines, row)
        # After a take-off command it is in the air when it begins to follow.
        spin_up = 1.0 if self._dialect.take_off_height is None else 0.0
        self.mission = Mission(trajectory, count=1, relative=True, spin_up=spin_up)
        if self.mission.courses[0].width > WIDTH:
            require_pose("trajectory", ALONG_Z, "", "MAVLink autopilot", able=False)
        self._start: list[float] | None = None
        self._state: VehicleState | None = None
        self._next_set_point = self._next_command = self._updated = -math.inf
        self._flying = self._landing = False

    def update(self, t: float, state: VehicleState, *, armed: bool) -> None:
        """Send the messages that are due to this autopilot."""
        if t < self.due:
            return
        if state is not self._state:
            # Its arrays are live.
            self._state, self._own = state, state.of(slice(self._row, self._row + 1))
        own, moves = self._own, t >= self._next_set_point
        if self._start is None:
            self._start = own.position[0].tolist()
        if moves and armed and not self._landing and self._may_follow(own):
            # Physics steps decide on the time between set-points: it will be that of the last two.
            interval, self._updated = t - self._updated, t
            self.mission.interval = interval if interval < 2 * SET_POINT_INTERVAL else 0.0
            self.mission.update(t, own)
            self._flying = self._flying or self.mission.airborne
        over = self._flying and (self.mission.finished or self.mission.landing)
        if over or (self._flying and not armed):
            self._landing = True
        if t >= self._next_command:
            self._next_command = t + RETRY_INTERVAL
            self._instruct(armed=armed)
            self.check_arming(t, armed=armed or self._flying)
        if moves:
            self._next_set_point = t + SET_POINT_INTERVAL
            if self._flying or self._dialect.take_off_height is None:
                self._set_point(t, own)

    @property
    def due(self) -> float:
        """Time of its next message [s]; the mission advances with the set-points."""
        return min(self._next_set_point, self._next_command)

    def _may_follow(self, own: VehicleState) -> bool:
        """Return whether it is high enough to follow set-points."""
        height = self._dialect.take_off_height
        assert self._start is not None
        return height is None or self._flying or bool(own.position[0, 2] > self._start[2] + 0.8 * height)

    def _instruct(self, *, armed: bool) -> None:
        """Send the commands of the present phase; repeated until they take effect."""
        self.listen()
        self.send_heartbeat()
        if self._landing:
            if armed:
                self.set_mode(self._dialect.land)
        elif not self._flying:
            self.prepare(armed=armed, height=self._dialect.take_off_height)

    def report(self, reference: Reference) -> None:
        """Write the reference of this autopilot into its row of the common reference."""
        own, row = self.mission.reference, self._row
        reference.position[row], reference.velocity[row] = own.position[0], own.velocity[0]
        reference.acceleration[row], reference.jerk[row] = own.acceleration[0], own.jerk[0]
        reference.yaw[row], reference.yaw_rate[row] = own.yaw[0], own.yaw_rate[0]
        reference.idle[row] = own.idle[0] or self._landing or not self._flying
        reference.segment = own.segment

    def _set_point(self, t: float, own: VehicleState) -> None:
        """Send the reference relative to the start, where its local frame begins."""
        assert self._start is not None
        reference = self.mission.reference
        place = (reference if self._flying else own).position[0].tolist()
        self.send_set_point(
            t,
            [a - b for a, b in zip(place, self._start, strict=True)],
            reference.velocity[0].tolist(),
            reference.acceleration[0].tolist(),
            float(reference.yaw[0]) if self._flying else float(own.heading[0]),
        )
