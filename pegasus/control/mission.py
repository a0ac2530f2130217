"""From a trajectory to the reference of N vehicles: spin-up, take-off, the flight, touch-down."""

import math

import numpy as np

from pegasus.arrays import Array
from pegasus.control.plan import Plan
from pegasus.control.reference import Reference
from pegasus.control.trajectories import Point, Profile, Trajectory, sequence
from pegasus.state import VehicleState

_FREE_FALL = 0.3
"""A vehicle that sinks by this much while it should stand is in the air [m]."""

_SINK_RATE = 0.1
"""How fast the reference sinks on after a landing until the ground is felt [m/s]."""

_SETTLING = 0.5
"""How long a vehicle may take to follow this sinking before it is taken to stand [s]."""

_ON_THE_GROUND = Point((0.0, 0.0, 0.0), yaw=0.0, idle=True)


class Mission:
    """One flight of a trajectory by N vehicles.

    The vehicles first stand, rotors idling. Then they climb and fly to where the trajectory begins, follow
    it, and hold its end. After a landing the reference sinks on until each vehicle stands.

    Args:
        trajectory: What is flown.
        count: Number of vehicles N.
        relative: Whether each vehicle flies it from where it stood at the start, or all at the same place.
        spin_up: How long the rotors idle before take-off [s]; 0 for a vehicle that starts in the air.
    """

    def __init__(self, trajectory: Trajectory, *, count: int, relative: bool, spin_up: float) -> None:
        self._trajectory, self._count, self._relative, self._spin_up = trajectory, count, relative, spin_up
        # Position, velocity, acceleration and jerk share one array.
        self._motion = np.zeros((4, count, 3))
        self.reference = Reference(
            self._motion[0],
            self._motion[1],
            self._motion[2],
            self._motion[3],
            np.zeros(count),
            np.zeros(count),
            np.ones(count, dtype=bool),
            segment="idle",
        )
        """What the vehicles follow at the time of the last `update`; live arrays."""
        self.airborne = False
        """Whether any vehicle follows the reference; the others stand with their rotors idling."""
        self.landed = np.zeros(count, dtype=bool)
        """Which vehicles have landed for good, shape (N,)."""
        self.landing = False
        """Whether the last landing is over and the vehicles settle; then `landed` is to be looked at."""
        self.finished = False
        """Whether the trajectory is over and, where it ends with a landing, all vehicles stand."""
        self.duration = spin_up + sequence(trajectory, start=_ON_THE_GROUND).duration
        """Time from the start to the end of the trajectory [s]; exact once the vehicles take off."""
        self._plan: sequence | None = None
        self._fade: Profile | None = None
        self._begin = math.nan

    def update(self, t: float, state: VehicleState) -> None:
        """Bring the reference to time t.

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
        point = self._plan.sample(clock)
        if point.idle:
            self._stand(state)
            self.finished = over >= 0
            return
        if not self.airborne:
            self._lift_off(t, point, state)
        self.reference.segment = self._plan.segment(clock)
        if over < 0:
            self._place(t, point)
        elif self._plan.lands:
            self._place(t, point)
            self._settle(over, state)
        else:
            self._place(t, Point(point.position, yaw=point.yaw))
            self.reference.segment, self.finished = "hold", True

    def plan(self, t: float) -> Plan | None:
        """Return what is left to fly at time t; None before the take-off and after the end.

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
        self.reference.yaw[...] = self._yaw

    def _planned(self, t: float, state: VehicleState, *, grounded: bool) -> sequence:
        """Return the flight from where the first vehicle is; the differences of the others fade."""
        self._plan_begin = t
        position: list[float] = (state.position[0] - self._origin[0]).tolist()
        here = Point(position, yaw=float(self._yaw[0]), idle=grounded)
        plan = sequence(self._trajectory, start=here)
        self.duration = t - self._begin + plan.duration
        return plan

    def _stand(self, state: VehicleState) -> None:
        """Refer to where the vehicles stand."""
        self._motion[0] = state.position
        if self.airborne:
            self.airborne = False
            self._motion[1:] = 0.0
            self.reference.yaw[...] = _heading(state)
            self.reference.yaw_rate[...] = 0.0
            self.reference.idle[...] = True
            self.reference.segment = "idle"

    def _lift_off(self, t: float, point: Point, state: VehicleState) -> None:
        """Begin at where each vehicle really is and let the difference to the trajectory fade."""
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
        """Write a point of the trajectory into the reference, for each vehicle at its place."""
        reference, motion = self.reference, self._motion
        motion[...] = np.array(point.motion)[:, None]
        motion[0] += self._origin
        reference.yaw[...] = self._yaw if point.yaw is None else point.yaw
        reference.yaw_rate[...] = point.yaw_rate
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
        """Sink on after a landing; a vehicle that does not follow stands on the ground."""
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
