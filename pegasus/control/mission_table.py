"""Table of missions: the references of all vehicles in each step, by two samplers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.tracing.launches import Part, program_of, rows_of
from pegasus.contracts.state import VehicleState
from pegasus.control import guided_step, mission_step
from pegasus.control.guided_step import govern
from pegasus.control.mission_step import BLOCK, START, follow

_NEVER = 2**62
"""Step at which the next points are due of missions without any."""


class MissionTable:
    """References of several vehicles.

    Args:
        vehicles: The missions of the vehicles with their states, and the rows of their copies.
        bodies: Columns of the states of all copies.
        splits: Whether missions whose vehicles start from different poses are split.
    """

    def __init__(
        self,
        vehicles: Sequence[tuple[Any, VehicleState, slice]],
        bodies: Mapping[str, Any],
        *,
        splits: bool = True,
    ) -> None:
        self._vehicles, self._bodies = vehicles, bodies
        self._shared = [
            (mission, state) for mission, state, _ in vehicles if splits and len(mission.mode) > 1
        ]
        self._guided = [(k, v[0], v[1]) for k, v in enumerate(vehicles) if not v[0].courses]
        self.started = {k for k, (mission, *_) in enumerate(vehicles) if (mission.mode == START).any()}
        """Numbers of the vehicles of which copies have lifted off at the last update."""
        self._arrange()

    def _arrange(self) -> None:
        """Prepare the launches."""
        self._called, self._changed = np.zeros(1), np.zeros(1)
        self._courses: list[tuple[Any, VehicleState, int, Any]] = []
        self._parts: list[Part] = []
        guided: list[Part] = []
        for owner, (mission, state, rows) in enumerate(self._vehicles):
            arrays = mission.arrays(self._bodies, rows)
            if not mission.courses:
                guided.append(Part({**arrays, "event": self._changed}, 0, len(mission.mode)))
            arrays |= {"called": np.zeros(len(mission.mode)), "event": self._called}
            for course in mission.courses:
                self._courses.append((course, state.of(course.rows), owner, mission))
                points = {"ahead": np.zeros((BLOCK, course.width))}
                self._parts.append(Part({**arrays, **points}, course.rows.start, course.rows.stop))
        self._due = np.zeros(len(self._courses), dtype=np.int64)
        self._next = 0 if self._courses else _NEVER
        self._follow = [
            _launch(follow, arguments, mission_step.RESULTS, parts)
            for arguments in mission_step.ARGUMENTS
            if (parts := [p for p in self._parts if p.arrays["ahead"].shape[1] == arguments[0].width])
        ]
        self._govern = _launch(govern, guided_step.ARGUMENTS, guided_step.RESULTS, guided)

    def update(self, step: int, t: float, times: Callable[[], Array]) -> None:
        """Set the references of a step, by its number and time [s].

        The times [s] of this step and of those after it, up to `BLOCK`, are asked for when points are due.
        """
        if self.started:
            self.started = set()
        if [mission for mission, state in self._shared if mission.split(state)]:
            self._arrange()
        if step >= self._next:
            self._advance(np.flatnonzero(self._due <= step).tolist(), step, times())
        if self._courses:
            self._run(step)
            if self._called[0]:
                # The courses of these copies go on otherwise, so that the references are made again.
                called = [k for k, p in enumerate(self._parts) if p.arrays["called"][p.first : p.last].any()]
                self._advance(called, step, times())
                self._run(step)
                self._called[0] = 0.0
        if self._guided:
            for _, mission, state in self._guided:
                mission.begin_step(t, state)
            self._govern()
            if self._changed[0]:
                self._changed[0] = 0.0
                for owner, mission, _ in self._guided:
                    mission.summarize()
                    if (mission.mode == START).any():
                        self.started.add(owner)

    def _run(self, step: int) -> None:
        for launch in self._follow:
            launch(step=step)

    def renew(self, courses: Collection[Any]) -> None:
        """Make the points of courses that were restarted anew at the next update."""
        known = [k for k, (course, *_) in enumerate(self._courses) if course in courses]
        if len(known) < len(courses):
            self._arrange()
        self._due[known] = 0
        self._next = 0 if self._courses else _NEVER

    def _advance(self, numbers: Sequence[int], step: int, times: Array) -> None:
        """Make the points of courses ahead; those of many courses end at different steps."""
        count = len(self._courses)
        for k in numbers:
            course, state, owner, mission = self._courses[k]
            segment = course.reference.segment
            ahead = course.advance(times[: BLOCK - (step + k * BLOCK // count) % BLOCK], state)
            self._parts[k].arrays["ahead"][(step + np.arange(len(ahead))) % BLOCK] = ahead
            self._due[k] = step + len(ahead)
            if course.show_modes():
                self.started.add(owner)
            if course.reference.segment != segment:
                mission.name_segment()
        self._next = int(self._due.min())


def _launch(
    function: Callable[..., Any], arguments: Sequence[Any], results: Sequence[str], parts: Sequence[Part]
) -> Callable[..., None]:
    """Return the launch of a step function."""
    if not parts:
        return function
    program = program_of(function, *arguments, outputs=results, count=rows_of(parts))
    return program.launch_parts(parts)
