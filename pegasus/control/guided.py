"""Controllers that are flown by commands during flight, per copy."""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.components import require
from pegasus.contracts.vehicle import Vehicle
from pegasus.control.cascaded_pid import CascadedPIDController
from pegasus.control.controller import Controller
from pegasus.control.geometric import GeometricController
from pegasus.control.guided_commands import GuidedCommands, length
from pegasus.control.guided_law import guided_geometric_law, guided_pid_law
from pegasus.control.guided_mission import GuidedMission, Mode
from pegasus.control.mission import Mission
from pegasus.control.trajectories import Trajectory, hold, sequence
from pegasus.core.multirotor import as_multirotor

M = TypeVar("M", bound=GuidedMission)


@dataclass(eq=False)
class Guided(GuidedCommands, Controller):
    """Mixin for controllers that are flown by commands; the controller's trajectory is not used."""

    trajectory: Any = None

    def __post_init__(self) -> None:
        for name in ("height", "speed", "acceleration", "spin_up"):
            value = getattr(self, name)
            require(np.ndim(value) == 0, name, value, "must be one number, for all copies")
        self._require_limits()
        if not isinstance(self.trajectory, Trajectory):
            self.trajectory = sequence(hold(height=self.height))
        super().__post_init__()

    def bind(self, vehicle: Vehicle) -> None:
        """Store the vehicle's properties; see `Controller.bind`."""
        super().bind(vehicle)
        self._flyer = as_multirotor(vehicle)

    def start(self) -> None:
        """Restart on the ground; commands given before the first step are kept."""
        given = self.mission
        super().start()
        if isinstance(given, GuidedMission) and given.state is None and len(given.order) == self.count:
            self.mission = given
        inputs = self.guided.inputs
        if inputs.keys() <= self.columns.keys():
            for name, values in inputs.items():
                self.columns[name][...] = values
            self.guided.inputs = {name: self.columns[name] for name in inputs}

    def _mission_of_run(self) -> GuidedMission:
        assert isinstance(self.mission, GuidedMission)
        return self.mission

    def _begin_flight(self) -> None:
        self.mission = self._new_mission(count=self.count)

    def _turn(
        self, mode: Mode, mask: BoolArray, thrust: npt.ArrayLike | None, **inputs: Array | float
    ) -> None:
        mission = self.guided
        mission.require_air(mask)
        if mission.inputs.keys() - self.columns.keys():
            super()._turn(mode, mask, thrust, **inputs)
        lift = self._lift(mask, thrust, self.mass * length(self.gravity), self.max_thrust)
        mission.turn(mask, mode, lift=lift, **inputs)

    def _restart(self, rows: IntArray) -> None:
        mask = np.zeros(self.count, dtype=bool)
        mask[rows] = True
        self.guided.ground(mask)

    def _new_mission(self, *, count: int) -> Mission:
        return self._made(GuidedMission, count)

    def _made(self, kind: type[M], count: int) -> M:
        """Return a mission of a kind with the limits of this controller."""
        return kind(
            count=count,
            spin_up=self.spin_up,
            height=self.height,
            speed=self.speed,
            acceleration=self.acceleration,
        )


@dataclass(eq=False)
class GuidedController(Guided, GeometricController):
    """Geometric controller that is flown by commands."""

    law: ClassVar[Any] = staticmethod(guided_geometric_law)


@dataclass(eq=False)
class GuidedPIDController(Guided, CascadedPIDController):
    """Cascaded PID controller that is flown by commands."""

    law: ClassVar[Any] = staticmethod(guided_pid_law)
