"""Manual steering: guided controllers whose copies take off at once and fly in formation."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.errors import ConfigError
from pegasus.control import CascadedPIDController, GeometricController, PlaneController
from pegasus.control.guided import Guided
from pegasus.control.guided_mission import GuidedMission
from pegasus.control.guided_step import TARGET, VELOCITY


class Steering(GuidedMission):
    """Mission of N manually steered vehicles, which take off at once and keep their formation.

    Args:
        limits: Those of `GuidedMission`.
    """

    def __init__(self, **limits: Any) -> None:
        super().__init__(**limits)
        self.take_off(self._all)

    def summarize(self) -> None:
        """Note the formation at take-off; see `GuidedMission.summarize`."""
        stood = not self.flying.any()
        super().summarize()
        if stood and self.flying.any() and self.state is not None:
            self._formation = self.state.position - self.state.position.mean(axis=0)

    def hover(self) -> None:
        """Hold the current position; take off if on the ground; complete a take-off in progress."""
        self.hold(self._all)
        self.take_off(self._all)

    def steer_to(self, point: Array) -> None:
        """Fly straight to a point with the formation's centre.

        Args:
            point: The point [m], shape (3,).

        Raises:
            ConfigError: If the vehicles are not in the air.
        """
        formation = self._formation if self.airborne else 0.0
        target = point + formation
        self.direct(self._all, TARGET, target=target, speed=self.most_speed, heading=np.nan)

    def steer_at(self, velocity: Array, yaw_rate: float) -> None:
        """Fly at a velocity until the next command.

        Args:
            velocity: Velocity forward, left and up, relative to the heading [m/s], shape (3,).
            yaw_rate: Yaw rate, counter-clockwise [rad/s].

        Raises:
            ConfigError: If the vehicles are not in the air.
        """
        self.direct(self._all, VELOCITY, velocity=velocity, yaw_rate=yaw_rate, in_body=1.0, heading=np.nan)

    def release(self) -> None:
        """End flight at a velocity, and hold the position."""
        if self.airborne and (self.columns["directive"] == VELOCITY).any():
            self.hover()

    def come_down(self) -> None:
        """Descend until ground contact, then stop the rotors; no effect on the ground."""
        self.land(self._all)

    @property
    def _all(self) -> BoolArray:
        return np.ones(len(self.mode), dtype=bool)


@dataclass(eq=False)
class Steered(Guided):
    """Mixin for manually steered controllers, which take off when the run begins."""

    mission_kind: ClassVar[type[GuidedMission]] = Steering

    @property
    def steering(self) -> Steering:
        """Steering mission that takes the commands; valid until the run ends."""
        assert isinstance(self.mission, Steering)
        return self.mission


@dataclass(eq=False)
class SteeredGeometricController(Steered, GeometricController):
    """Manually steered geometric controller."""


@dataclass(eq=False)
class SteeredPIDController(Steered, CascadedPIDController):
    """Manually steered cascaded PID controller."""


class ManualFlight(Protocol):
    """Commands of manual flight: those of `Steering`, which planes take in their own way."""

    def hover(self) -> None:
        """Stay where the vehicles are; take off if on the ground."""

    def steer_to(self, point: Array) -> None:
        """Fly to a point [m], shape (3,)."""

    def steer_at(self, velocity: Array, yaw_rate: float) -> None:
        """Fly at a velocity forward, left and up [m/s], shape (3,), and a yaw rate [rad/s]."""

    def release(self) -> None:
        """End flight at a velocity."""

    def come_down(self) -> None:
        """Land."""


@dataclass(eq=False)
class SteeredPlaneController(PlaneController):
    """Manually steered controller of planes, which take off when the run begins, and circle to stay.

    Flight at a velocity is flight towards a point ahead of each plane.
    """

    @property
    def steering(self) -> "SteeredPlaneController":
        """What takes the commands."""
        return self

    def start(self) -> None:
        """Begin anew, with a launch."""
        super().start()
        self.takeoff()

    def hover(self) -> None:
        """Circle at the present height; take off if on the ground; complete a take-off in progress."""
        if not self.guided.flying.any():
            self.takeoff()
        elif not self._rises:
            self.hold()

    def steer_to(self, point: Array) -> None:
        """Fly straight to a point with the formation's centre, and circle there.

        Args:
            point: The point [m], shape (3,).

        Raises:
            ConfigError: If the planes are not in the air, or still climb after the launch.
        """
        self._require_climbed()
        homes = np.array([course.home for course in self.guided.courses])
        self.goto(point + homes - homes.mean(axis=0))

    def steer_at(self, velocity: Array, yaw_rate: float) -> None:
        """Fly towards a point ahead, to the side or higher, until the next command.

        Args:
            velocity: Velocity forward, left and up, of which the direction counts, shape (3,).
            yaw_rate: Yaw rate, counter-clockwise [rad/s].

        Raises:
            ConfigError: If the planes are not in the air, or still climb after the launch.
        """
        self._require_climbed()
        state = self.guided.state
        assert state is not None
        aside = np.clip(velocity[1] + yaw_rate, -1.0, 1.0)
        heading = state.heading + aside * _ASIDE
        up = np.full(len(heading), _SLOPE * np.clip(velocity[2], -1.0, 1.0))
        ahead = np.stack([np.cos(heading), np.sin(heading), up], axis=-1)
        self.goto(state.position + _AHEAD * ahead)
        self._steered = True

    def release(self) -> None:
        """End flight towards a point ahead by a circle."""
        if self._steered and self.guided.flying.any():
            self.hover()
        self._steered = False

    def come_down(self) -> None:
        """Approach the place of the take-off and land; no effect on the ground."""
        if self.guided.flying.any():
            self._require_climbed()
            self.land()

    _steered = False

    @property
    def _rises(self) -> bool:
        return self.guided.segment in ("launch", "climb")

    def _require_climbed(self) -> None:
        """Raise a ConfigError while the planes take off, when a turn would bring them down."""
        if self._rises:
            raise ConfigError("takes off", field=self.flyer_name, remedy="wait until it circles")


_AHEAD, _ASIDE, _SLOPE = 200.0, 1.0, 0.15
"""Distance of points ahead [m], their largest direction aside [rad], and height by distance."""

STEERED: dict[str, type[Steered] | type[SteeredPlaneController]] = {
    "geometric": SteeredGeometricController,
    "cascaded_pid": SteeredPIDController,
    "plane": SteeredPlaneController,
}
"""Manually steered controllers by controller name."""
