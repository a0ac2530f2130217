"""Controller of VTOL."""

import logging
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Quat, Vec3, rotate
from pegasus.contracts.vehicle import MachineVehicle
from pegasus.control.control_step import gains_of as parameters_of
from pegasus.control.copy_values import rows_of_copies
from pegasus.control.fixed_wing.course import Courses
from pegasus.control.fixed_wing.figures import PlaneFigures
from pegasus.control.fixed_wing.legs import DESCENT, HOVER, Leg
from pegasus.control.fixed_wing.tuning import Wishes, gains_of, paces_of
from pegasus.control.fixed_wing.wind import WingAxes
from pegasus.control.fixed_wing.winged import WingedController
from pegasus.control.geometric import GeometricController
from pegasus.control.guided_commands import Command
from pegasus.control.trajectories import hold
from pegasus.control.vtol.course import VtolCourse, VtolCourses, VtolPaces
from pegasus.control.vtol.figures import VtolFigures, vtol_figures_of
from pegasus.control.vtol.hover import TIMED_OUT
from pegasus.control.vtol.law import vtol_law
from pegasus.control.vtol.states import VtolGains, VtolState
from pegasus.core.placement import Copies
from pegasus.core.steady_loads import Conditions

_log = logging.getLogger(__name__)
_TAIL_TILT, _LEVEL_TILT = 0.6, 0.35
"""Largest tilt in hover [rad], of what stands on its tail, whose wings meet the wind, and of others."""
_TAIL_TIME, _LEVEL_TIME = 4.0, 1.5
"""Time of a transition at least, of what stands on its tail and of others [s]."""


@dataclass(eq=False)
class VtolController(WingedController):
    """Controller of vehicles that hover on their rotors and fly on their wings.

    It takes off upright, goes over to the wings for lines and circles, and back to hover, by itself. With a
    pusher, with nacelles that tilt, or on its tail: what a rotor does follows from the model of the vehicle.
    """

    _: KW_ONLY
    transition_airspeed: float | None = None
    """Airspeed from which the wings carry alone [m/s]; 1.2 times the least one if None."""
    blend_airspeed: float | None = None
    """Airspeed from which the wings begin to take over [m/s]; 0.8 times `transition_airspeed` if None."""
    transition_acceleration: float = 2.5
    """Acceleration ahead in a transition, as far as the rotors have it [m/s^2]."""
    transition_time: float | None = None
    """Least time of a transition [s]; 1.5 s, for a vehicle that stands on its tail 4 s if None."""
    transition_timeout: float | None = None
    """Time after which a transition has failed, and it hovers again [s]; three times the expected one if
    None."""
    back_deceleration: float = 1.1
    """Deceleration of a transition back that is expected, by which it begins in time [m/s^2]."""
    hover_speed: float = 4.0
    """Largest speed over the ground in hover [m/s]."""
    climb_speed: float = 2.0
    """Speed of climbs and descents in hover [m/s]."""
    landing_speed: float = 0.7
    """Sink rate down to the ground [m/s]."""
    hover: Mapping[str, Any] | None = None
    """Parameters of the geometric controller of its hover; gains not given follow from the vehicle."""

    law = staticmethod(vtol_law)
    law_state = VtolState
    positive: ClassVar[tuple[str, ...]] = (
        *WingedController.positive,
        *("transition_airspeed", "blend_airspeed", "transition_acceleration", "transition_time"),
        *("transition_timeout", "back_deceleration", "hover_speed", "climb_speed", "landing_speed"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            self._hover = GeometricController(hold(height=1.0), **(self.hover or {}))
        except TypeError:
            allowed = "must hold parameters of a geometric controller"
            raise ConfigError(allowed, field="hover", value=self.hover) from None
        self._hover.check()

    def derive(self, vehicle: MachineVehicle) -> None:
        """Find the figures and the gains of a VTOL; see `WingedController.bind`."""
        figures, tuning = vtol_figures_of(vehicle)
        self.figures: VtolFigures = figures
        """Figures of the vehicle."""
        wings = figures.plane
        for name in ("airspeed", "transition_airspeed"):
            self.check_airspeed(name, wings)
        air = Conditions.of(vehicle.environment, np.zeros((1, 3)))
        own = Wishes(airspeed=self.airspeed, loiter_radius=self.loiter_radius, bank_limit=self.bank_limit)
        paces = paces_of(own, wings, air.density, air.gravity)
        over = self.transition_airspeed or min(1.2 * wings.least_airspeed, paces.airspeed)
        blend = self.blend_airspeed or 0.8 * over
        require(blend < over, "blend_airspeed", blend, f"must be below transition_airspeed, {over:.3g} m/s")
        time = self.transition_time or (_TAIL_TIME if figures.tail else _LEVEL_TIME)
        expected = max(time, over / self.transition_acceleration)
        self.paces = VtolPaces(
            **asdict(paces),
            height=self.height,
            transition_distance=0.5 * over * expected,
            back_distance=0.5 * paces.airspeed**2 / self.back_deceleration,
        )
        """Airspeeds and distances of its legs."""
        self._hover.derive(tuning)
        if "tilt_limit" not in (self.hover or {}):
            self._hover.tilt_limit = _TAIL_TILT if figures.tail else _LEVEL_TILT
        self.gains = VtolGains(
            wings=gains_of(own, wings, paces, air.density, air.gravity),
            hover=parameters_of(self._hover),
            transition_airspeed=over,
            blend_airspeed=blend,
            transition_acceleration=self.transition_acceleration,
            transition_time=time,
            back_deceleration=self.back_deceleration,
            transition_timeout=self.transition_timeout or 3.0 * expected,
            hover_speed=self.hover_speed,
            climb_speed=self.climb_speed,
            landing_speed=self.landing_speed,
        )
        """Gains that are flown."""

    @property
    def wings(self) -> PlaneFigures:
        """Figures of flight on the wings."""
        return self.figures.plane

    @property
    def flight_axes(self) -> WingAxes:
        """Axes of flight on the wings."""
        frame = Quat(*self.figures.frame)
        return WingAxes(*(rotate(frame, Vec3(*row)) for row in np.eye(3).tolist()))

    @property
    def airspeeds(self) -> tuple[float, float]:
        """Least and largest airspeed that commands may give [m/s]."""
        return self.gains.wings.least_airspeed, self.figures.plane.most_airspeed

    def courses(self, count: int) -> Courses:
        """Return courses of N copies at rest."""
        up = self.figures.upright
        ahead = np.array([math.cos(up), 0.0, math.sin(up)])
        return VtolCourses([VtolCourse(self.paces) for _ in range(count)], ahead)

    def _course(self, row: int) -> VtolCourse:
        return cast("VtolCourse", self.mission.courses[row])

    def note(self, row: int, leg: Leg) -> None:
        """Begin to count the time on a leg; see `WingedController.note`."""
        super().note(row, leg)
        self.columns["time"][row] = 0.0

    def go_on(self, over: Array) -> None:
        """Begin the next legs of copies whose legs are over, and the hover of those that failed."""
        for row in np.flatnonzero(over == TIMED_OUT).tolist():
            assert self.mission.state is not None
            self._take(row, [self._course(row).hover()], self.mission.state)
            self.mission.failed[row] = True
            _log.warning("%s, copy %d: %s", self.flyer_name, row, self.reason(row))
        super().go_on(np.where(over == TIMED_OUT, 0.0, over))

    def reason(self, copy: int) -> str:
        """Return why a copy cannot do a command; empty if unknown."""
        own = self.gains
        if not self.mission.failed[copy]:
            return ""
        return (
            f"did not reach transition_airspeed = {own.transition_airspeed:.3g} m/s in "
            f"transition_timeout = {own.transition_timeout:.3g} s, and hovers again"
        )

    def goto(self, point: npt.ArrayLike, *, speed: float | None = None, copies: Copies = None) -> Command:
        """Fly to a point: on the wings if it is far, to circle around it, else in hover.

        Args:
            point: Point in the world [m], shape (3,), or one per copy, shape (M, 3).
            speed: Airspeed [m/s]; the controller's if None.
            copies: Copies M; all if None.
        """
        mask = self._in_air(copies)
        rows, kinds = np.flatnonzero(mask), self.mission.columns["kind"]
        state = self.mission.state
        targets = np.broadcast_to(rows_of_copies("point", point, mask, (3,)), (len(rows), 3))
        near = [
            kinds[row] in (HOVER, DESCENT)
            and state is not None
            and not self._course(row).is_far(target, state.position[row], back=False)
            for row, target in zip(rows.tolist(), targets, strict=True)
        ]
        if not all(near):
            far = ~np.array(near)
            super().goto(targets[far], speed=speed, copies=rows[far])
        for row, target in zip(rows[near].tolist(), targets[near], strict=True):
            course = self._course(row)
            self._order(row, [course.hover(target.copy(), duration=0.0), course.hover(target.copy())])
        return self._command("goto", mask)

    def hold(self, *, copies: Copies = None) -> Command:
        """Hover where the vehicles are, or come to rest."""
        mask = self._in_air(copies)
        for row in np.flatnonzero(mask).tolist():
            self._order(row, [self._course(row).hover()])
        return self._command("hold", mask)
