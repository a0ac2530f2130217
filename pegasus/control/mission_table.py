"""Table of missions: the references of several vehicles in each step."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.tracing.launches import Part, program_of, rows_of
from pegasus.contracts.state import VehicleState
from pegasus.control.mission import Course, Mission
from pegasus.control.mission_step import (
    ARGUMENTS,
    BLOCK,
    RESULTS,
    START,
    WIDTH,
    follow,
    motion_arrays,
    setpoint_arrays,
)

_NEVER = 2**62
"""Step at which the next points are due of a mission without any."""


@dataclass(frozen=True)
class _Entry:
    """Course in a table, with the number of its vehicle, the state of its copies, and its columns."""

    owner: int
    mission: Mission
    course: Course
    state: VehicleState
    arrays: dict[str, Array]


class MissionTable:
    """Missions of several vehicles, and the launch of their step.

    Args:
        vehicles: The missions of the vehicles with their states, and the rows of their copies.
        bodies: Columns of the states of all copies.
    """

    def __init__(
        self, vehicles: Sequence[tuple[Mission, VehicleState, slice]], bodies: Mapping[str, Any]
    ) -> None:
        self._guided = [(k, *vehicle[:2]) for k, vehicle in enumerate(vehicles) if not vehicle[0].courses]
        self._courses: list[_Entry] = []
        self._event = np.zeros(1)
        for owner, (mission, state, rows) in enumerate(vehicles):
            shared = motion_arrays(bodies, rows) | setpoint_arrays(mission.reference)
            shared |= {f"start.{name}": array for name, array in mission.start.items()}
            shared |= {"mode": mission.mode, "called": np.zeros(len(mission.mode)), "event": self._event}
            for course in mission.courses:
                arrays = {**shared, "ahead": np.zeros((BLOCK, WIDTH))}
                self._courses.append(_Entry(owner, mission, course, state.of(course.rows), arrays))
        self._due = np.zeros(len(self._courses), dtype=np.int64)
        self._next = 0 if self._courses else _NEVER
        self._launch: Callable[..., None] | None = None
        self.started = {k for k, (mission, _, _) in enumerate(vehicles) if (mission.mode == START).any()}
        """Numbers of the vehicles of which copies have lifted off at the last update."""

    def update(self, step: int, t: float, times: Callable[[], Array]) -> None:
        """Set the references of a step.

        Args:
            step: Number of the step.
            t: Simulation time [s].
            times: Function that returns the times of this step and of those after it [s], up to `BLOCK`.
        """
        if self.started:
            self.started = set()
        if step >= self._next:
            self._advance(np.flatnonzero(self._due <= step).tolist(), step, times())
        if self._courses:
            if self._launch is None:
                parts = [Part(e.arrays, e.course.rows.start, e.course.rows.stop) for e in self._courses]
                program = program_of(follow, *ARGUMENTS, outputs=RESULTS, count=rows_of(parts))
                self._launch = program.launch_parts(parts)
            self._launch(step=step)
            if self._event[0]:
                # The courses of these copies go on otherwise, so that the references are made again.
                called = [k for k, e in enumerate(self._courses) if e.arrays["called"][e.course.rows].any()]
                self._advance(called, step, times())
                self._launch(step=step)
                self._event[0] = 0.0
        for owner, mission, state in self._guided:
            mission.update(t, state)
            if mission.lifts_off:
                self.started.add(owner)

    def renew(self, courses: Collection[Course]) -> None:
        """Make the points of courses that were restarted anew at the next update.

        Args:
            courses: The courses.
        """
        self._due[[k for k, entry in enumerate(self._courses) if entry.course in courses]] = 0
        self._next = 0 if self._courses else _NEVER

    def _advance(self, numbers: Sequence[int], step: int, times: Array) -> None:
        """Make the points of courses ahead; those of many courses end at different steps."""
        count = len(self._courses)
        for k in numbers:
            entry, course = self._courses[k], self._courses[k].course
            segment = course.reference.segment
            ahead = course.advance(times[: BLOCK - (step + k * BLOCK // count) % BLOCK], entry.state)
            entry.arrays["ahead"][(step + np.arange(len(ahead))) % BLOCK] = ahead
            self._due[k] = step + len(ahead)
            if course.show_modes():
                self.started.add(entry.owner)
            if course.reference.segment != segment:
                entry.mission.name_segment()
        self._next = int(self._due.min())
