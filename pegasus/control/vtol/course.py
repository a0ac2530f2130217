"""Courses of VTOL: legs on the rotors and on the wings, with the transitions between them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.state import VehicleState
from pegasus.control.fixed_wing.course import FAR, Course, Courses, Maker, Paces, direction, world_vector
from pegasus.control.fixed_wing.legs import BACK, CIRCLE, DESCENT, HOVER, LINE, STANDING, TRANSITION, Leg

_NEAR = 1.0
"""Distance from its place at which a hover ends [m]."""
_DEEP = 1000.0
"""Depth of the target of a descent below the ground [m]."""


@dataclass(frozen=True)
class VtolPaces(Paces):
    """Airspeeds and distances by which legs are made."""

    height: float
    """Height at which it goes over to the wings, by that of the take-off [m]."""
    transition_distance: float
    """Distance of a transition in still air [m]."""
    back_distance: float
    """Distance of a transition back [m]."""


class VtolCourse(Course):
    """Legs of one copy; see `Course`.

    Args:
        paces: Airspeeds and distances.
    """

    paces: VtolPaces

    def launch(self, height: float) -> list[Maker]:
        """Return the leg of a climb by a height [m] above where it stands."""
        return [partial(_rising, height, _NEAR)]

    def wait(self, climb: float) -> Maker:
        """Return an endless hover after a climb."""
        return self.hover()

    def hover(
        self, place: Array | None = None, heading: float | None = None, duration: float = math.inf
    ) -> Maker:
        """Return a hover.

        Args:
            place: Place [m]; by default where it begins.
            heading: Heading [rad]; that at its begin if None.
            duration: Time [s].
        """
        return partial(_hovering, place, heading, duration)

    def holding(self, place: Array, duration: float) -> Maker:
        """Return a hover at a place [m] for a time [s]."""
        return self.hover(place, None, duration)

    def approach_heading(self, heading: float) -> float | None:
        """Return None: it lands the shortest way."""
        return None

    def is_far(self, place: Array, here: Array, *, back: bool) -> bool:
        """Return whether a place [m] is far enough to fly there on the wings.

        Args:
            place: The place [m].
            here: Position [m].
            back: Whether it hovers there.
        """
        own = self.paces
        least = 1.5 * own.transition_distance + (own.back_distance if back else 0.0)
        return math.dist(place[:2], here[:2]) > least

    def landing(self, point: Array, heading: float | None, here: Array) -> list[Maker]:
        """Return the legs of a landing: on the wings if it is far, in hover to above the point, and down.

        Args:
            point: Point of touch-down [m].
            heading: Direction of the approach [rad]; the shortest way if None.
            here: Position [m].
        """
        height = max(min(float(here[2] - point[2]), self.paces.height), 2.0)
        above = point + np.array([0.0, 0.0, height])
        lines = [self.line(above)] if self.is_far(point, here, back=True) else []
        if heading is not None:
            gate = above - 2.0 * self.paces.back_distance * direction(heading)
            lines = [self.line(gate), self.line(above, gate)]
        return [*lines, self.hover(above, duration=0.0), partial(_descending, point), _stopped]


def _rising(height: float, lead: float, course: Course, here: Array, heading: float) -> Leg:
    course.home, course.home_heading = here, heading
    return _hover(here + np.array([0.0, 0.0, height]), heading, 0.0, lead)


def _hovering(
    place: Array | None, heading: float | None, duration: float, course: Course, here: Array, now: float
) -> Leg:
    lead, time = (0.0, 0.0) if math.isinf(duration) else (_NEAR, duration)
    return _hover(here if place is None else place, now if heading is None else heading, time, lead)


def _hover(place: Array, heading: float, duration: float, lead: float) -> Leg:
    return Leg(HOVER, world_vector(place), world_vector(place + direction(heading)), duration, lead, 0.0)


def _changing(kind: float, way: float | None, course: Course, here: Array, heading: float) -> Leg:
    end = here + FAR * direction(heading if way is None else way)
    return Leg(kind, world_vector(here), world_vector(end), 0.0, 0.0, course.paces.airspeed)


def _descending(point: Array, course: Course, here: Array, heading: float) -> Leg:
    deep = point - np.array([0.0, 0.0, _DEEP])
    return Leg(DESCENT, world_vector(deep), world_vector(point + direction(heading)), 0.0, 0.0, 0.0)


def _stopped(course: Course, here: Array, heading: float) -> Leg:
    return Leg(STANDING, world_vector(here), world_vector(here), 0.0, 0.0, 0.0)


class VtolCourses(Courses):
    """Courses of N copies, with the transitions between hover and flight on the wings; see `Courses`.

    Args:
        courses: The courses.
        ahead: Axis of flight on the wings in the body frame, shape (3,).
    """

    def __init__(self, courses: Sequence[VtolCourse], ahead: Array) -> None:
        super().__init__(courses)
        self._ahead = ahead

    def heading(self, row: int, state: VehicleState) -> float:
        """Return the heading of a copy, on the wings that of the axis of flight [rad]."""
        if self.columns["kind"][row] in (HOVER, DESCENT, STANDING):
            return super().heading(row, state)
        nose = (state.rotation[row] * self._ahead).sum(axis=1)
        return math.atan2(nose[1], nose[0])

    def go_on(self, row: int, state: VehicleState) -> Leg:
        """Begin the next leg of a copy, or the transition to it, and return it."""
        course, here = self.courses[row], state.position[row].copy()
        if course.coming:
            heading, was = self.heading(row, state), float(self.columns["kind"][row])
            leg = course.coming[0](course, here, heading)
            if leg.kind in (LINE, CIRCLE) and was in (HOVER, DESCENT, STANDING):
                end = np.array([leg.end[0], leg.end[1], here[2]])
                size = abs(leg.radius) if leg.kind == CIRCLE else 0.0
                away = math.dist(end[:2], here[:2])
                way = math.atan2(*(end - here)[1::-1].tolist()) if away > size + _NEAR else heading
                turn = partial(_hovering, None, way, 0.0)
                rise = [partial(_rising, course.paces.height, _NEAR)] if was == STANDING else [turn]  # type: ignore[attr-defined]
                course.coming[:0] = [*rise, partial(_changing, TRANSITION, way)]
            elif leg.kind in (HOVER, DESCENT) and was in (LINE, CIRCLE, TRANSITION):
                course.coming.insert(0, partial(_changing, BACK, None))
        made = super().go_on(row, state)
        if (
            made.kind == LINE
            and course.coming
            and course.coming[0](course, here, 0.0).kind in (HOVER, DESCENT)
        ):
            # It ends where the way back to hover begins.
            self.columns["radius"][row] = 1.0
        return made
