"""What controllers of winged vehicles share: their parameters and commands."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.contracts.backend import Backend, BackendBank
from pegasus.contracts.estimator import Estimator
from pegasus.contracts.reading import PitotReading
from pegasus.contracts.state import Reference, VehicleState
from pegasus.contracts.vehicle import MachineVehicle, Vehicle
from pegasus.control.copy_values import rows_of_copies
from pegasus.control.fixed_wing.course import Course, Courses, Maker, Paces
from pegasus.control.fixed_wing.figures import PlaneFigures
from pegasus.control.fixed_wing.legs import STANDING, Leg
from pegasus.control.fixed_wing.wind import Pitot, WindState, WingAxes
from pegasus.control.guided_commands import Command
from pegasus.control.mission_step import arrays_of
from pegasus.control.trajectories import trajectory_from_spec
from pegasus.core.placement import Copies, chosen_copies
from pegasus.core.steady_loads import array_of

_LATEST = 0.5
"""Age of a reading of the airspeed that is used [s]."""


@dataclass(eq=False)
class WingedController(Backend):
    """Base of the controllers of winged vehicles, which fly along legs."""

    trajectory: Any = None
    """Trajectory as of other controllers, of which the path counts; None to wait for commands."""
    _: KW_ONLY
    relative: bool = True
    """Whether the trajectory is relative to each vehicle's start position, or in world coordinates."""
    airspeed: float | None = None
    """Airspeed on the way [m/s]; 1.4 times the least one if None."""
    height: float = 30.0
    """Climb at take-off [m]."""
    loiter_radius: float | None = None
    """Radius of circles [m]; that of a turn at 25 degrees of bank if None."""
    bank_limit: float = 0.8
    """Largest bank [rad]."""
    paces: Paces = field(init=False, repr=False)
    """Airspeeds and distances of its legs."""
    mission: Courses = field(init=False, repr=False)
    """Progress of the copies: `finished`, `landed`, `flying`."""

    drives = True
    reads_sensors = False
    takes_feedback = True
    positive: ClassVar[tuple[str, ...]] = ("airspeed", "loiter_radius", "height")
    """Parameters that are above 0, or None."""
    law: ClassVar[Any]
    """Step function; see `plane_law`."""
    law_state: ClassVar[type]
    """Class of its state."""

    def __post_init__(self) -> None:
        if self.trajectory is not None:
            self.trajectory = trajectory_from_spec(self.trajectory)
        for name in self.positive:
            value = getattr(self, name)
            require(value is None or 0 < value < math.inf, name, value, "must be above 0")
        require(0 < self.bank_limit <= 1.2, "bank_limit", self.bank_limit, "must be above 0, to 1.2 rad")

    @property
    def bank(self) -> type[BackendBank]:
        """Class that runs it together with other controllers of planes."""
        # Not at the top: it imports Warp.
        from pegasus.control.fixed_wing.bank import PlaneBank

        return PlaneBank

    @property
    def guided(self) -> Courses:
        """Mission that takes the commands."""
        if not hasattr(self, "mission"):
            raise ConfigError(
                "is in no simulation", field=type(self).__name__, remedy="add its vehicle first"
            )
        return self.mission

    @property
    def flyer_name(self) -> str:
        """Name of the vehicle."""
        return self._vehicle.name

    def reason(self, copy: int) -> str:
        """Return why a copy cannot do a command; empty if unknown."""
        return ""

    def bind(self, vehicle: Vehicle) -> None:
        """Find the figures and the gains of a vehicle.

        Raises:
            ConfigError: If it cannot be flown by this controller, or an airspeed or a part of the trajectory
            is beyond it.
        """
        self._vehicle = cast("MachineVehicle", vehicle)
        estimator = getattr(vehicle, "estimator", None)
        self._estimator = estimator if isinstance(estimator, Estimator) and estimator.flown else None
        self.derive(self._vehicle)
        if self.trajectory is not None:
            # Once, so that parts that it cannot fly are named now.
            self.courses(1).courses[0].along(self.trajectory, np.zeros(3), np.zeros(3), 0.0)
        self.columns: dict[str, Array] = arrays_of(self.law_state, vehicle.count)
        """State of the law by name, one row per copy."""
        self.air: dict[str, Array] = {}
        """Estimated wind and the airspeed sensor by name, one row per copy; empty without an estimator."""
        self.observes = self._estimator is not None and self._estimator.air_velocity is None
        """Whether it estimates the wind itself."""
        if self._estimator is not None:
            kinds = ("state", WindState), ("pitot", Pitot)
            self.air = {
                f"{kind}.{name}": array
                for kind, made in kinds
                for name, array in arrays_of(made, vehicle.count).items()
            }
            self.air["pitot.axis"][...] = array_of(self.flight_axes.ahead)
        self.start()

    def derive(self, vehicle: MachineVehicle) -> None:
        """Find `figures`, `paces` and `gains` of a vehicle; see `bind`."""
        raise NotImplementedError

    @property
    def wings(self) -> PlaneFigures:
        """Figures of flight on the wings."""
        raise NotImplementedError

    @property
    def flight_axes(self) -> WingAxes:
        """Axes of flight on the wings."""
        return WingAxes(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))

    @property
    def airspeeds(self) -> tuple[float, float]:
        """Least and largest airspeed that commands may give [m/s]."""
        raise NotImplementedError

    def check_airspeed(self, name: str, wings: PlaneFigures) -> None:
        """Raise a ConfigError unless a parameter is an airspeed of level flight."""
        low, high, value = 1.05 * wings.least_airspeed, wings.most_airspeed, getattr(self, name)
        allowed = f"must be from {low:.3g} to {high:.3g} m/s, in which {self.flyer_name} flies level"
        require(value is None or low <= value <= high, name, value, allowed)

    def start(self) -> None:
        """Begin anew on the ground; commands given before the first step are kept."""
        count = self._vehicle.count
        if not hasattr(self, "mission") or self.mission.begun:
            self.mission = self.courses(count)
            self.reference = Reference.hold(np.zeros((count, 3)), np.zeros(count))
            self._waiting: dict[int, list[Maker]] = {}
        for name, values in (*self.columns.items(), *self.air.items()):
            if name != "pitot.axis":
                values[...] = 0.0
        self._heard = -math.inf
        self.rearranged = True
        """True after a reset, until the bank has made its launches for the new arrays."""

    def reset_copies(self, rows: IntArray) -> None:
        """Begin the flights of copies anew, from where they stand."""
        for name in self.columns:
            self.columns[name][rows] = 0.0
        for name in self.air:
            if name.startswith("state."):
                self.air[name][rows] = 0.0
        if self.mission.state is not None:
            for row in rows.tolist():
                self._take(row, self._first_legs(row, self.mission.state), self.mission.state)

    def begin_step(self, t: float, state: VehicleState) -> None:
        """Note time [s] and state of a step, and begin flights that are to begin."""
        mission = self.mission
        mission.time, mission.state = t, state
        if self.air:
            self._sense(t)
        if not mission.begun and (self._estimator is None or self._estimator.ready.all()):
            mission.begun = True
            for row in range(self._vehicle.count):
                self._take(row, self._waiting.pop(row, []) or self._first_legs(row, state), state)

    def _sense(self, t: float) -> None:
        """Take the wind of the estimator, or the new reading of an airspeed sensor."""
        assert self._estimator is not None
        wind = self._estimator.air_velocity
        if wind is not None:
            self.air["state.wind"][...] = wind
            return
        for name, reading in self._vehicle.new_readings.items():
            if isinstance(reading, PitotReading) and np.isfinite(reading.differential_pressure).all():
                axis = np.array(getattr(self._vehicle.sensors[name], "axis", (1.0, 0.0, 0.0)))
                self.air["pitot.axis"][...] = axis / math.sqrt(float((axis * axis).sum()))
                self.air["pitot.pressure"][...] = reading.differential_pressure
                self._heard = t
        self.air["pitot.known"][...] = t - self._heard < _LATEST

    def go_on(self, over: Array) -> None:
        """Begin the next legs of copies whose legs are over, shape (N,)."""
        assert self.mission.state is not None
        for row in np.flatnonzero(over).tolist():
            self.note(row, self.mission.go_on(row, self.mission.state))

    def _first_legs(self, row: int, state: VehicleState) -> list[Maker]:
        if self.trajectory is None:
            return []
        here = state.position[row].copy()
        origin = here * (1.0, 1.0, 0.0) * float(self.relative)
        return self.mission.courses[row].along(self.trajectory, here, origin, float(state.heading[row]))

    def _take(self, row: int, legs: Sequence[Maker], state: VehicleState) -> None:
        self.note(row, self.mission.take(row, legs, state))

    def courses(self, count: int) -> Courses:
        """Return courses of N copies at rest."""
        return Courses([Course(self.paces) for _ in range(count)])

    def note(self, row: int, leg: Leg) -> None:
        """Prepare for the next leg of a copy."""
        assert self.reference is not None
        self.reference.segment, self.reference.idle[row] = self.mission.segment, leg.kind == STANDING

    def takeoff(self, *, height: float | None = None, copies: Copies = None) -> Command:
        """Take off, climb, and wait there.

        Args:
            height: Climb [m]; the controller's `height` if None.
            copies: Copies M; all if None.

        Raises:
            ConfigError: If one of them is in the air already, or the height is not above 0 m.
        """
        climb = self.height if height is None else height
        require(0 < climb < math.inf, "height", climb, "must be above 0 m")
        mask = self._mask(copies)
        away = mask & self.guided.flying
        if away.any():
            raise ConfigError("has taken off already", field=self.flyer_name, remedy="fly to a point by goto")
        for row in np.flatnonzero(mask).tolist():
            course = self.mission.courses[row]
            self._order(row, [*course.launch(climb), course.wait(climb)])
        return self._command("takeoff", mask)

    def goto(self, point: npt.ArrayLike, *, speed: float | None = None, copies: Copies = None) -> Command:
        """Fly straight to a point, and circle around it.

        Args:
            point: Point in the world [m], shape (3,), or one per copy, shape (M, 3).
            speed: Airspeed [m/s]; the controller's if None.
            copies: Copies M; all if None.
        """
        mask, speed = self._in_air(copies), self._speed(speed)
        rows = np.flatnonzero(mask).tolist()
        targets = np.broadcast_to(rows_of_copies("point", point, mask, (3,)), (len(rows), 3))
        for row, target in zip(rows, targets, strict=True):
            course = self.mission.courses[row]
            line = course.line(target.copy(), airspeed=speed)
            self._order(row, [line, course.loiter(target.copy(), airspeed=speed)])
        return self._command("goto", mask)

    def loiter(
        self,
        center: npt.ArrayLike | None = None,
        *,
        radius: float | None = None,
        speed: float | None = None,
        copies: Copies = None,
    ) -> Command:
        """Fly circles at a height.

        Args:
            center: Centre at this height [m], shape (3,), or one per copy, shape (M, 3); by default to the
                left of each plane.
            radius: Radius [m], below 0 clockwise; the controller's if None.
            speed: Airspeed [m/s]; the controller's if None.
            copies: Copies M; all if None.
        """
        mask, speed = self._in_air(copies), self._speed(speed)
        least = self.paces.turn_radius
        fits = radius is None or least <= abs(radius) < math.inf
        require(fits, "radius", radius, f"must be {least:.3g} m or more, the radius of its turns")
        rows = np.flatnonzero(mask).tolist()
        middles: Sequence[Array | None] = [None] * len(rows)
        if center is not None:
            middles = [*np.broadcast_to(rows_of_copies("center", center, mask, (3,)), (len(rows), 3)).copy()]
        for row, middle in zip(rows, middles, strict=True):
            self._order(row, [self.mission.courses[row].loiter(middle, radius, airspeed=speed)])
        return self._command("loiter", mask)

    def hold(self, *, copies: Copies = None) -> Command:
        """Circle where the planes are."""
        return self.loiter(copies=copies)

    def land(
        self,
        point: npt.ArrayLike | None = None,
        *,
        heading: float | None = None,
        copies: Copies = None,
    ) -> Command:
        """Approach and land.

        Args:
            point: Point of touch-down [m], shape (3,) or (M, 3); where each plane took off if None.
            heading: Direction of the approach [rad]; that of the take-off if None, of VTOL the shortest way.
            copies: Copies M; all if None.
        """
        mask = self._in_air(copies)
        rows = np.flatnonzero(mask).tolist()
        places: Sequence[Array | None] = [None] * len(rows)
        if point is not None:
            places = [*np.broadcast_to(rows_of_copies("point", point, mask, (3,)), (len(rows), 3)).copy()]
        assert self.mission.state is not None
        for row, place in zip(rows, places, strict=True):
            course = self.mission.courses[row]
            target = course.home if place is None else place
            self._order(row, course.landing(target, heading, self.mission.state.position[row].copy()))
        mission = self.mission
        return Command(self, "land", mask, lambda s: s.position[:, 2], "m", lambda _: ~mission.flying)  # type: ignore[arg-type]

    def _order(self, row: int, legs: list[Maker]) -> None:
        mission = self.mission
        mission.order[row] += 1
        if mission.state is None or not mission.begun:
            self._waiting[row] = legs
        else:
            self._take(row, legs, mission.state)

    def _command(self, name: str, mask: BoolArray) -> Command:
        mission = self.mission

        def reached(_: VehicleState) -> BoolArray:
            return mission.reached

        def legs(_: VehicleState) -> Array:
            return np.array([float(len(course.coming)) for course in mission.courses])

        return Command(self, name, mask, legs, "legs", reached)  # type: ignore[arg-type]

    def _speed(self, speed: float | None) -> float | None:
        low, high = self.airspeeds
        require(
            speed is None or low <= speed <= high, "speed", speed, f"must be from {low:.3g} to {high:.3g} m/s"
        )
        return speed

    def _in_air(self, copies: Copies) -> BoolArray:
        mask = self._mask(copies)
        if (mask & ~self.guided.flying).any():
            raise ConfigError("is not in the air", field=self.flyer_name, remedy="take off first")
        return mask

    def _mask(self, copies: Copies) -> BoolArray:
        mask = np.zeros(len(self.guided.order), dtype=bool)
        rows = chosen_copies(copies, len(mask))
        require(len(rows) > 0, "copies", copies, "names no copy")
        mask[rows] = True
        return mask
