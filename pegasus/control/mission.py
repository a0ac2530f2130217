"""Missions: reference of N vehicles through spin-up, take-off, trajectory and touch-down."""

import math
import struct

import numpy as np

from pegasus.base.arrays import Array
from pegasus.control.trajectories import Point, Profile, Trajectory, sequence
from pegasus.core.state import Plan, Reference, VehicleState

_FREE_FALL = 0.3
"""Descent during spin-up that shows that a vehicle is in the air [m]."""

_SINK_RATE = 0.1
"""Sink rate of the reference after a landing until ground contact [m/s]."""

_SETTLING = 0.5
"""Time for a vehicle to follow this sink rate before it counts as landed [s]."""

_NUMBERS = struct.Struct("14d")
"""Position to jerk, heading and its rate of one vehicle."""

_ON_THE_GROUND = Point((0.0, 0.0, 0.0), yaw=0.0, idle=True)


class Mission:
    """A flight of N vehicles along a trajectory.

    The vehicles first idle on the ground. Then they climb, fly to the start of the trajectory, follow it and
    hold its end. After a landing the reference sinks until each vehicle has landed.

    Args:
        trajectory: The trajectory.
        count: Number of vehicles N.
        relative: Whether the trajectory is relative to each vehicle's start position, or in world
            coordinates.
        spin_up: Idle time before take-off [s]; 0 for a vehicle that starts in the air.
    """

    def __init__(self, trajectory: Trajectory, *, count: int, relative: bool, spin_up: float) -> None:
        self._trajectory, self._count, self._relative, self._spin_up = trajectory, count, relative, spin_up
        # Position, velocity, acceleration, jerk, heading and its rate share one array.
        self._numbers = np.zeros(14 * count)
        self._motion = self._numbers[: 12 * count].reshape(4, count, 3)
        self.reference = Reference(
            self._motion[0],
            self._motion[1],
            self._motion[2],
            self._motion[3],
            self._numbers[12 * count : 13 * count],
            self._numbers[13 * count :],
            np.ones(count, dtype=bool),
            segment="idle",
        )
        """Reference of the vehicles at the last `update`; live arrays."""
        self.airborne = False
        """Whether any vehicle follows the reference; the others idle on the ground."""
        self.landed = np.zeros(count, dtype=bool)
        """Vehicles that have completed the last landing, shape (N,)."""
        self.landing = False
        """Whether the last landing is over and the vehicles settle; `landed` is then valid."""
        self.finished = False
        """Whether the trajectory is over and, if it ends with a landing, all vehicles have landed."""
        self.duration = spin_up + sequence(trajectory, start=_ON_THE_GROUND).duration
        """Time from the start to the end of the trajectory [s]; exact from take-off on."""
        self._plan: sequence | None = None
        self._fade: Profile | None = None
        self._begin = math.nan

    def update(self, t: float, state: VehicleState) -> None:
        """Advance the reference to time t.

        Args:
            t: Simulation time [s].
            state: True state at t.
        """
        if self._plan is None:
            if math.isnan(self._begin):
                self._arrive(t, state)
            fell = bool((state.position[:, 2] < self._height - _FREE_FALL).any())
            if t - self._begin < self._spin_up and not fell:
                self._motion[0] = state.position
                return
            self._plan = self._planned(t, state, grounded=self._spin_up > 0 and not fell)
        if self.finished and self._plan.lands:
            self._motion[0] = state.position
            return
        clock = t - self._plan_begin
        over = clock - self._plan.duration
        point, segment = self._plan.at(clock)
        if point.idle:
            self._stand(state)
            self.finished = over >= 0
            return
        if not self.airborne:
            self._lift_off(t, point, state)
        self.reference.segment = segment
        if over < 0:
            self._place(t, point)
        elif self._plan.lands:
            self._place(t, point)
            self._settle(over, state)
        else:
            self._place(t, Point(point.position, yaw=point.yaw))
            self.reference.segment, self.finished = "hold", True

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flight plan at time t; None before take-off and after the end.

        Args:
            t: Simulation time [s].
        """
        if self._plan is None or self.finished:
            return None
        return Plan(self._plan, t - self._plan_begin, self._origin)

    def _arrive(self, t: float, state: VehicleState) -> None:
        self._begin = t
        self._height = state.position[:, 2].copy()
        self._yaw = _heading(state)
        self._origin = np.zeros((self._count, 3))
        if self._relative:
            self._origin[:, :2] = state.position[:, :2]
        self._first_origin: list[float] = self._origin[0].tolist()
        self._first_yaw = float(self._yaw[0])
        self.reference.yaw[...] = self._yaw

    def _planned(self, t: float, state: VehicleState, *, grounded: bool) -> sequence:
        """Return the flight from the first vehicle's position; the offsets of the others fade out."""
        self._plan_begin = t
        position: list[float] = (state.position[0] - self._origin[0]).tolist()
        here = Point(position, yaw=float(self._yaw[0]), idle=grounded)
        plan = sequence(self._trajectory, start=here)
        self.duration = t - self._begin + plan.duration
        return plan

    def _stand(self, state: VehicleState) -> None:
        """Set the reference to the vehicles' positions on the ground."""
        self._motion[0] = state.position
        if self.airborne:
            self.airborne = False
            self._motion[1:] = 0.0
            self.reference.yaw[...] = _heading(state)
            self.reference.yaw_rate[...] = 0.0
            self.reference.idle[...] = True
            self.reference.segment = "idle"

    def _lift_off(self, t: float, point: Point, state: VehicleState) -> None:
        """Start at each vehicle's true position and fade out its offset from the trajectory."""
        self.airborne = True
        self.reference.idle[...] = False
        self._lift_off_time = t
        self._offset = state.position - (self._origin + point.position)
        self._yaw_offset = np.zeros(self._count)
        if point.yaw is not None:
            self._yaw_offset = np.remainder(_heading(state) - point.yaw + math.pi, 2 * math.pi) - math.pi
        farthest = float(max(np.abs(self._offset).max(), np.abs(self._yaw_offset).max()))
        self._fade = Profile(farthest, rate=1.0, acceleration=1.0)

    def _place(self, t: float, point: Point) -> None:
        """Write a point of the trajectory into the reference of each vehicle."""
        reference, motion = self.reference, self._motion
        (px, py, pz), velocity, acceleration, jerk, yaw, yaw_rate, _ = point
        if self._count == 1:
            # One call: assigning small arrays takes several times as long.
            x, y, z = self._first_origin
            position, yaw = (px + x, py + y, pz + z), self._first_yaw if yaw is None else yaw
            numbers = (*position, *velocity, *acceleration, *jerk, yaw, yaw_rate)
            _NUMBERS.pack_into(self._numbers, 0, *numbers)  # type: ignore[arg-type]
        else:
            # Columns: adding or assigning a row to many rows takes twice as long.
            for axis, coordinate in enumerate((px, py, pz)):
                np.add(self._origin[:, axis], coordinate, out=motion[0, :, axis])
            for order, derivative in enumerate((velocity, acceleration, jerk), start=1):
                for axis, component in enumerate(derivative):
                    motion[order, :, axis].fill(component)
            reference.yaw[...] = self._yaw if yaw is None else yaw
            reference.yaw_rate.fill(yaw_rate)
        if self._fade is None:
            return
        elapsed = t - self._lift_off_time
        if elapsed >= self._fade.duration:
            self._fade = None
            return
        faded = np.array(self._fade.at(elapsed)) / self._fade.distance
        left = np.array([1.0, 0.0, 0.0, 0.0]) - faded
        motion += left[:, None, None] * self._offset
        reference.yaw += left[0] * self._yaw_offset
        reference.yaw_rate += left[1] * self._yaw_offset

    def _settle(self, elapsed: float, state: VehicleState) -> None:
        """Sink after a landing; a vehicle that does not follow is on the ground."""
        self.landing = True
        reference, landed = self.reference, self.landed
        reference.position[:, 2] -= _SINK_RATE * elapsed
        reference.velocity[:, 2] = -_SINK_RATE
        if elapsed >= _SETTLING:
            landed |= (state.velocity * state.velocity).sum(axis=1) < (0.5 * _SINK_RATE) ** 2
        reference.position[landed] = state.position[landed]
        reference.velocity[landed] = 0.0
        reference.idle[...] = landed
        if landed.all():
            self._stand(state)
            self.finished = True


def _heading(state: VehicleState) -> Array:
    heading: Array = np.arctan2(state.rotation[:, 1, 0], state.rotation[:, 0, 0])
    return heading
