"""Blows to the airframe: wind shocks and bird strikes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasus.base.components import require_vector
from pegasus.base.frames import cross, rotate_inverse
from pegasus.contracts.fault import Fault, Injection

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class WindShock(Fault):
    """Wind that is added to that of the world at the vehicle, airspeed sensors included."""

    velocity: Vector = (8.0, 0.0, 0.0)
    """Velocity of the air in the world [m/s]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_vector("velocity", self.velocity, unit="m/s")

    def blow(self, injection: Injection) -> None:
        """Add the wind."""
        shock = injection.vehicle.columns["wind_shock"]
        shock += injection.intensity[:, None] * np.array(self.velocity, dtype=np.float64)


@dataclass(frozen=True)
class BirdStrike(Fault):
    """Impulse at a point of the airframe, in one step."""

    impulse: Vector = (0.0, 0.0, -1.0)
    """Change of momentum in the world: mass of the bird times its change of velocity [N s]."""
    position: Vector = (0.0, 0.0, 0.0)
    """Point of the strike in the body frame [m]."""

    takes_ramp: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_vector("impulse", self.impulse, unit="N s")
        require_vector("position", self.position, unit="m")

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Add force and torque in the step at which it begins."""
        vehicle = injection.vehicle
        columns, parameters = vehicle.columns, vehicle.parameters
        force = np.array(self.impulse, dtype=np.float64) / dt
        for row in np.flatnonzero(injection.active & (injection.since < 0.5 * dt)).tolist():
            arm = np.array(self.position) - parameters[row % len(parameters)].center_of_mass
            columns["fault_force"][row] += force
            columns["fault_torque"][row] += cross(arm, rotate_inverse(columns["rotation"][row], force))
