"""Controller of planes."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from pegasus.base.components import require
from pegasus.contracts.vehicle import MachineVehicle
from pegasus.control.fixed_wing.figures import PlaneFigures, figures_of
from pegasus.control.fixed_wing.law import PlaneState, plane_law
from pegasus.control.fixed_wing.legs import LAUNCH, RUN, Leg
from pegasus.control.fixed_wing.tuning import Wishes, gains_of, paces_of
from pegasus.control.fixed_wing.winged import WingedController
from pegasus.core.steady_loads import Conditions

_PRESS = 0.5
"""Share of the pitch authority that holds a steered tail wheel down in a run."""
_ELEVATION = 0.3
"""Elevation of a launch [rad]."""


@dataclass(eq=False)
class PlaneController(WingedController):
    """Controller of a vehicle with wings: total energy, guidance along paths, coordinated turns.

    It flies a trajectory, or by commands, which replace what is left of the trajectory. All gains follow from
    the model of the vehicle.
    """

    _: KW_ONLY
    approach_airspeed: float | None = None
    """Airspeed of the approach [m/s]; 1.2 times the least one if None."""
    launch_speed: float | None = None
    """Airspeed at which a catapult or a hand lets it go [m/s]; 1.2 times the least one if None."""
    launch_acceleration: float = 40.0
    """Acceleration of the catapult or the hand [m/s^2]."""
    takeoff_run: bool = False
    """Whether it takes off by a run on its wheels, to `launch_speed`, instead of being launched."""
    run_acceleration: float = 2.0
    """Acceleration of the run, as far as the thrust allows [m/s^2]."""
    glide_slope: float | None = None
    """Height by distance of the approach; 0.1, or less if the plane glides farther, if None."""

    law = staticmethod(plane_law)
    law_state = PlaneState
    positive: ClassVar[tuple[str, ...]] = (
        *WingedController.positive,
        *("approach_airspeed", "launch_speed", "launch_acceleration", "run_acceleration", "glide_slope"),
    )

    def derive(self, vehicle: MachineVehicle) -> None:
        """Find the figures and the gains of a plane; see `WingedController.bind`."""
        self.figures: PlaneFigures = figures_of(vehicle)
        """Figures of the plane."""
        for name in ("airspeed", "approach_airspeed"):
            self.check_airspeed(name, self.figures)
        wheels = vehicle.parameters[0].airframe.wheels
        require(bool(wheels) or not self.takeoff_run, "takeoff_run", True, f"{vehicle.name} has no wheels")
        behind = float(vehicle.parameters[0].center_of_mass[0])
        air = Conditions.of(vehicle.environment, np.zeros((1, 3)))
        own = Wishes(
            airspeed=self.airspeed,
            loiter_radius=self.loiter_radius,
            bank_limit=self.bank_limit,
            approach_airspeed=self.approach_airspeed,
            launch_speed=self.launch_speed,
            glide_slope=self.glide_slope,
            launch_kind=RUN if self.takeoff_run else LAUNCH,
            run_acceleration=self.run_acceleration,
            run_press=_PRESS * any(w.joint is not None and w.position[0] < behind for w in wheels.values()),
        )
        self.paces = paces_of(own, self.figures, air.density, air.gravity)
        """Airspeeds and distances of its legs."""
        self.gains = gains_of(own, self.figures, self.paces, air.density, air.gravity)
        """Gains that are flown."""

    @property
    def wings(self) -> PlaneFigures:
        """Figures of flight on the wings."""
        return self.figures

    @property
    def airspeeds(self) -> tuple[float, float]:
        """Least and largest airspeed that commands may give [m/s]."""
        return self.gains.least_airspeed, self.figures.most_airspeed

    def note(self, row: int, leg: Leg) -> None:
        """Push a copy that is launched, and no others; see `WingedController.note`."""
        super().note(row, leg)
        push, state = self._vehicle.columns["push"], self.mission.state
        if leg.kind == LAUNCH and state is not None:
            heading = float(state.heading[row])
            level = math.cos(_ELEVATION)
            ahead = np.array([level * math.cos(heading), level * math.sin(heading), math.sin(_ELEVATION)])
            gravity = self._vehicle.environment.gravity_vector(state.position[row : row + 1])[0]
            push[row] = self.figures.mass * (self.launch_acceleration * ahead - gravity)
        elif push[row].any():
            push[row] = 0.0
