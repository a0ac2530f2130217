"""Courses of planes: the legs that each copy flies one after another."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.contracts.state import VehicleState
from pegasus.contracts.trajectory import Point, Trajectory
from pegasus.control.fixed_wing.legs import CIRCLE, CLIMB, DESCENT, GLIDE, LINE, STANDING, Leg
from pegasus.control.mission_step import arrays_of
from pegasus.control.trajectories import sequence
from pegasus.control.trajectories.maneuvers import Hold, Idle, Land, Takeoff

_NAMES = (
    *("idle", "launch", "climb", "line", "circle", "approach"),
    *("hover", "transition", "back_transition", "descent", "run"),
)
"""Names of the segments by kind of leg."""
_TURN = 0.1
"""Change of direction at which a curve becomes another line [rad]."""
_CORNER = 0.5
"""Change of direction from which lines meet in a corner [rad]."""
_SPACING = 1.0
"""Least length of the lines of a curve [m]."""
_SAMPLES = 5000
"""Number of points at which a part of a trajectory is looked at."""
FAR = 1e6
"""Lead beyond the distance of any reference point, and length of endless lines [m]."""
_LEVELLED = 3.0
"""Height error at which a circle down to an approach ends [m]."""


@dataclass(frozen=True)
class Paces:
    """Airspeeds and distances by which legs are made."""

    airspeed: float
    """Airspeed on the way [m/s]."""
    approach_airspeed: float
    """Airspeed of the approach [m/s]."""
    launch_speed: float
    """Airspeed at which the launch, or the run on wheels, ends [m/s]."""
    launch_kind: float
    """Kind of leg of the launch, `LAUNCH` or `RUN`."""
    turn_radius: float
    """Radius of turns at corners [m]."""
    loiter_radius: float
    """Radius of circles [m]."""
    glide_slope: float
    """Height by distance of the approach."""
    glide_height: float
    """Height above the ground at which the approach begins, at most [m]."""


Maker = Callable[["Course", Array, float], Leg]
"""Returns a leg of a copy that begins at a position [m] with a heading [rad]; it is saved."""


class Course:
    """Legs of one copy.

    Args:
        paces: Airspeeds and distances.
    """

    def __init__(self, paces: Paces) -> None:
        self.paces = paces
        self.coming: list[Maker] = []
        """Legs after the present one."""
        self.home: Array = np.zeros(3)
        """Position of the last take-off [m], shape (3,)."""
        self.home_heading = 0.0
        """Heading at the last take-off [rad]."""

    def launch(self, height: float) -> list[Maker]:
        """Return the legs of a launch and a climb by a height [m] straight on."""
        return [_launched, partial(_climbing, height)]

    def line(
        self,
        end: Array,
        start: Array | None = None,
        *,
        airspeed: float | None = None,
        corner: float | None = None,
    ) -> Maker:
        """Return a line, by default from where the plane is.

        Args:
            end: End [m].
            start: Start [m].
            airspeed: Airspeed [m/s].
            corner: Change of direction at its end [rad]; None if it is to be reached.
        """
        return partial(_straight, end, start, airspeed, corner)

    def loiter(
        self,
        center: Array | None = None,
        radius: float | None = None,
        *,
        airspeed: float | None = None,
        above: float | None = None,
    ) -> Maker:
        """Return an endless circle.

        Args:
            center: Centre, at its height [m]; by default to the left of the plane, at its height.
            above: Height of the circle above the take-off [m]; that of the centre if None.
            radius: Radius, above 0 counter-clockwise [m].
            airspeed: Airspeed [m/s].
        """
        return partial(_circling, center, radius, airspeed, above)

    def wait(self, climb: float) -> Maker:
        """Return the endless leg after a climb by a height [m]."""
        return self.loiter(above=climb)

    def landing(self, point: Array, heading: float | None, here: Array) -> list[Maker]:
        """Return the legs of a landing: to the begin of the approach, down to its height, and the approach.

        Args:
            point: Point of touch-down [m].
            heading: Direction of the approach [rad]; that of the take-off if None.
            here: Position of the plane [m].
        """
        heading, height = self.home_heading if heading is None else heading, float(here[2])
        paces, ahead = self.paces, direction(heading)
        begin = min(max(height - point[2], 10.0), paces.glide_height)
        top = point - ahead * (begin / paces.glide_slope) + (0.0, 0.0, begin)
        gate = top - ahead * (2.0 * paces.loiter_radius)
        # A circle whose left turn ends on the line of the approach.
        middle = gate + paces.loiter_radius * direction(heading + 0.5 * math.pi)
        return [
            self.line(np.array([*gate[:2], max(height, top[2])]), corner=0.0),
            partial(_descending, middle, gate),
            self.line(top, gate, airspeed=paces.approach_airspeed),
            partial(_gliding, top, point),
            _stopped,
        ]

    def along(self, trajectory: Trajectory, here: Array, origin: Array, heading: float) -> list[Maker]:
        """Return the legs of a trajectory.

        Args:
            trajectory: The trajectory; of a curve its path counts, not its times.
            here: Position of the plane [m].
            origin: Origin of the trajectory [m].
            heading: Heading of the plane [rad], in which it takes off and lands.

        Raises:
            ConfigError: If a part cannot be flown by a plane.
        """
        whole = sequence(trajectory, start=Point(tuple((here - origin).tolist()), idle=True))
        made: list[Maker] = []
        path: list[Array] = []
        last = here
        for part in whole.parts:
            if isinstance(part, Takeoff) and not made and not path:
                made += self.launch(part.height - float(here[2]))
                last = origin + np.array(part.complete(part.duration).position)
            elif isinstance(part, Land):
                made, path = made + self._lines(path), []
                ground = origin + np.array(part.complete(part.duration).position)
                made += self.landing(ground, self.approach_heading(heading), last)
            elif isinstance(part, Hold):
                made, path = [*made, *self._lines(path), self.holding(last, part.duration)], []
            elif math.isinf(part.duration):
                radius = getattr(part, "radius", None)
                if radius is None or part.name != "circle":
                    raise ConfigError("is endless, which a plane flies of circles only", field=part.name)
                middle = getattr(part, "center", (0.0, 0.0))
                center = origin + np.array([*middle, part.height])  # type: ignore[attr-defined]
                made, path = [*made, *self._lines(path), self.loiter(center, float(radius))], []
            elif not isinstance(part, Idle):
                times = np.linspace(0.0, part.duration, _SAMPLES)
                places = origin + part.samples(times)[0][:, :3]
                found = corners(places)
                path += found if not path else found[1:]
                last = places[-1]
        made += self._lines(path)
        return made

    def holding(self, place: Array, duration: float) -> Maker:
        """Return the leg of a hold at a place [m] for a time [s]: an endless circle.

        Raises:
            ConfigError: If it is not endless.
        """
        if not math.isinf(duration):
            raise ConfigError("a plane cannot hold for a time", field="hold.duration", remedy="fly a circle")
        return self.loiter(place)

    def approach_heading(self, heading: float) -> float | None:
        """Return the direction of the approach of a trajectory that begins with a heading [rad]."""
        return heading

    def _lines(self, path: Sequence[Array]) -> list[Maker]:
        """Return lines through points."""
        made = []
        for k in range(1, len(path)):
            corner = None
            if k + 1 < len(path):
                corner = _angle(path[k] - path[k - 1], path[k + 1] - path[k])
            made.append(self.line(path[k], path[k - 1], corner=corner))
        return made


def _launched(course: Course, here: Array, heading: float) -> Leg:
    course.home, course.home_heading = here, heading
    ahead = here + FAR * direction(heading)
    return Leg(
        course.paces.launch_kind, world_vector(here), world_vector(ahead), 0.0, 0.0, course.paces.launch_speed
    )


def _climbing(height: float, course: Course, here: Array, heading: float) -> Leg:
    start = course.home + np.array([0.0, 0.0, height])
    end = start + FAR * direction(course.home_heading)
    return Leg(CLIMB, world_vector(start), world_vector(end), 0.0, 0.0, course.paces.airspeed)


def _straight(
    end: Array,
    start: Array | None,
    airspeed: float | None,
    corner: float | None,
    course: Course,
    here: Array,
    heading: float,
) -> Leg:
    lead = 0.0
    if corner is not None:
        lead = FAR if corner < _CORNER else course.paces.turn_radius * math.tan(0.5 * min(corner, 2.2))
    begin = here if start is None else start
    return Leg(LINE, world_vector(begin), world_vector(end), 0.0, lead, airspeed or course.paces.airspeed)


def _circling(
    center: Array | None,
    radius: float | None,
    airspeed: float | None,
    above: float | None,
    course: Course,
    here: Array,
    heading: float,
) -> Leg:
    size = course.paces.loiter_radius if radius is None else radius
    middle = here + size * direction(heading + 0.5 * math.pi) if center is None else center
    if above is not None:
        middle = np.array([*middle[:2], course.home[2] + above])
    pace = airspeed or course.paces.airspeed
    return Leg(CIRCLE, world_vector(middle), world_vector(middle), size, 0.0, pace)


def _descending(middle: Array, gate: Array, course: Course, here: Array, heading: float) -> Leg:
    size = course.paces.loiter_radius
    return Leg(CIRCLE, world_vector(middle), world_vector(gate), size, _LEVELLED, course.paces.airspeed)


def _gliding(top: Array, point: Array, course: Course, here: Array, heading: float) -> Leg:
    return Leg(GLIDE, world_vector(top), world_vector(point), 0.0, 0.0, course.paces.approach_airspeed)


def _stopped(course: Course, here: Array, heading: float) -> Leg:
    return standing(here)


def corners(places: Array) -> list[Array]:
    """Return the ends of straight lines that follow a path [m], shape (n, 3)."""
    kept, ahead = [places[0]], None
    before = places[0]
    for place in places[1:]:
        if math.dist(place[:2], before[:2]) < 1e-3:
            continue
        way = place - before
        if (
            ahead is not None
            and _angle(ahead, way) > _TURN
            and math.dist(before[:2], kept[-1][:2]) > _SPACING
        ):
            kept.append(before)
            ahead = None
        ahead = way if ahead is None else ahead
        before = place
    return [*kept, places[-1]] if math.dist(places[-1][:2], kept[-1][:2]) > 1e-3 else kept


def standing(here: Array) -> Leg:
    """Return the leg of a plane at rest at a place [m]."""
    return Leg(STANDING, world_vector(here), world_vector(here), 0.0, 0.0, 0.0)


def _angle(a: Array, b: Array) -> float:
    turn = math.atan2(float(a[0] * b[1] - a[1] * b[0]), float(a[0] * b[0] + a[1] * b[1]))
    return abs(turn)


def direction(heading: float) -> Array:
    """Return the level unit vector of a heading [rad], shape (3,)."""
    return np.array([math.cos(heading), math.sin(heading), 0.0])


def world_vector(place: Array) -> Vec3:
    """Return a place as a vector."""
    x, y, z = place.tolist()
    return Vec3(x, y, z)


class Courses:
    """Courses of N copies, as the mission of their controller.

    Args:
        courses: Courses of N copies.
    """

    def __init__(self, courses: Sequence[Course]) -> None:
        self.courses = courses
        count = len(courses)
        self.columns = arrays_of(Leg, count)
        """Columns of `Leg` by name."""
        self.order = np.zeros(count, dtype=np.int64)
        """Number of commands that each copy has had, shape (N,)."""
        self.state: VehicleState | None = None
        """State at the last step; None before."""
        self.time = math.nan
        """Time of the last step [s]; NaN before."""
        self.landed = np.zeros(count, dtype=bool)
        """Copies that have landed, shape (N,)."""
        self.failed = np.zeros(count, dtype=bool)
        """Copies that could not fly their courses, shape (N,)."""
        self.begun = False

    @property
    def flying(self) -> BoolArray:
        """Copies that are not at rest, shape (N,)."""
        flying: BoolArray = self.columns["kind"] != STANDING
        return flying

    @property
    def finished(self) -> bool:
        """True if all copies have landed, or follow the last leg of their courses."""
        return self.begun and bool(self.reached.all())

    @property
    def reached(self) -> BoolArray:
        """Copies on the last leg of their courses, shape (N,)."""
        return np.array([not course.coming for course in self.courses]) & ~self.failed

    def heading(self, row: int, state: VehicleState) -> float:
        """Return the heading of a copy [rad]."""
        return float(state.heading[row])

    @property
    def segment(self) -> str:
        """Name of the legs; `mixed` if they differ."""
        names = {_NAMES[int(kind)] for kind in self.columns["kind"].tolist()}
        return names.pop() if len(names) == 1 else "mixed"

    def take(self, row: int, legs: Sequence[Maker], state: VehicleState) -> Leg:
        """Replace the course of a copy, and return its first leg."""
        self.failed[row] = False
        self.courses[row].coming = list(legs)
        return self.go_on(row, state)

    def go_on(self, row: int, state: VehicleState) -> Leg:
        """Begin the next leg of a copy, and return it; the last one goes on."""
        course, here = self.courses[row], state.position[row].copy()
        heading = self.heading(row, state)
        was = float(self.columns["kind"][row])
        leg = course.coming.pop(0)(course, here, heading) if course.coming else standing(here)
        if was in (GLIDE, DESCENT) and leg.kind == STANDING:
            self.landed[row] = True
        elif leg.kind != STANDING:
            self.landed[row] = False
        for field in fields(Leg):
            value = getattr(leg, field.name)
            self.columns[field.name][row] = (
                tuple(value[k] for k in range(3)) if isinstance(value, Vec3) else value
            )
        return leg
