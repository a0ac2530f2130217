"""Controllers that are flown by commands during flight, per copy."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import require
from pegasus.control.cascaded_pid import CascadedPIDController
from pegasus.control.controller import Controller
from pegasus.control.geometric import GeometricController
from pegasus.control.guided_commands import GuidedCommands, length
from pegasus.control.guided_law import guided_geometric_law, guided_pid_law
from pegasus.control.guided_mission import GuidedMission
from pegasus.control.trajectories import Trajectory, hold, sequence


@dataclass(eq=False)
class Guided(GuidedCommands, Controller):
    """Mixin for controllers that are flown by commands; the controller's trajectory is not used."""

    trajectory: Any = None
    mission_kind: ClassVar[type[GuidedMission]] = GuidedMission
    """Class of its mission."""

    def __post_init__(self) -> None:
        for name in ("height", "speed", "acceleration", "spin_up"):
            value = getattr(self, name)
            require(np.ndim(value) == 0, name, value, "must be one number, for all copies")
        self._require_limits()
        if not isinstance(self.trajectory, Trajectory):
            self.trajectory = sequence(hold(height=self.height))
        super().__post_init__()

    def start(self) -> None:
        """Restart on the ground; commands given before the first step are kept."""
        super().start()
        mission = self.mission
        # The law reads what the mission writes.
        for name in self.columns.keys() & mission.columns.keys():
            self.columns[name][...] = mission.columns[name]
            mission.columns[name] = self.columns[name]

    def thrust_limits(self) -> tuple[Array, Array]:
        """Return the weight and the largest thrust of each copy [N]; see `GuidedCommands.thrust_limits`."""
        if "lift" not in self.columns:
            return super().thrust_limits()
        return self.mass * length(self.gravity), self.max_thrust

    def renew_mission(self, count: int) -> None:
        """Make a new mission of N vehicles the present one."""
        limits = {"height": self.height, "speed": self.speed, "acceleration": self.acceleration}
        self._follow(self.mission_kind(count=count, spin_up=self.spin_up, **limits))

    def _restart(self, rows: IntArray) -> None:
        mask = np.zeros(self.count, dtype=bool)
        mask[rows] = True
        self.mission.ground(mask)


@dataclass(eq=False)
class GuidedController(Guided, GeometricController):
    """Geometric controller that is flown by commands."""

    law: ClassVar[Any] = staticmethod(guided_geometric_law)


@dataclass(eq=False)
class GuidedPIDController(Guided, CascadedPIDController):
    """Cascaded PID controller that is flown by commands."""

    law: ClassVar[Any] = staticmethod(guided_pid_law)
