"""Manual steering: guided controllers whose copies take off at once and fly in formation."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.control import CascadedPIDController, GeometricController
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


STEERED: dict[str, type[Steered]] = {
    "geometric": SteeredGeometricController,
    "cascaded_pid": SteeredPIDController,
}
"""Manually steered controllers by controller name."""
