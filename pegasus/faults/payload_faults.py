"""Faults of a payload: it shifts in the vehicle, or falls off."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require, require_vector
from pegasus.contracts.fault import Fault, Injection
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.multirotor import as_multirotor
from pegasus.model.dynamics_models import VehicleParameters

Vector = tuple[float, float, float]


def point_inertia(offset: Array) -> Array:
    """Return the inertia of a point of 1 kg about an axis system at an offset [m^2], (r . r) E - r r^T.

    Args:
        offset: Place of the point [m], shape (3,).
    """
    x, y, z = offset.tolist()
    return np.array(
        [
            [y * y + z * z, -x * y, -x * z],
            [-x * y, x * x + z * z, -y * z],
            [-x * z, -y * z, x * x + y * y],
        ]
    )


def with_point(parameters: VehicleParameters, mass: float, place: Array) -> VehicleParameters:
    """Return the parameters of a body with a point mass added to it, or taken away if the mass is negative.

    Source: parallel axis theorem.

    Args:
        parameters: Parameters of the body.
        mass: Mass of the point [kg].
        place: Its place in the body frame [m], shape (3,).
    """
    total = parameters.mass + mass
    center = (parameters.mass * parameters.center_of_mass + mass * place) / total
    inertia = (
        parameters.inertia
        + parameters.mass * point_inertia(parameters.center_of_mass - center)
        + mass * point_inertia(place - center)
    )
    return replace(parameters, mass=total, center_of_mass=center, inertia=inertia)


@dataclass(frozen=True)
class PayloadFault(Fault):
    """Base of a fault of a payload, a point mass that is a part of the vehicle's mass."""

    mass: float
    """Mass of the payload [kg]."""
    position: Vector = (0.0, 0.0, 0.0)
    """Its place in the body frame [m]."""

    takes_ramp: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.mass > 0, "mass", self.mass, "must be above 0 kg")
        require_vector("position", self.position, unit="m")

    def fit(self, vehicle: Vehicle) -> None:
        """Raise a ConfigError if the vehicle cannot be what is left with a payload of this mass there."""
        for parameters in vehicle.parameters:
            allowed = f"must be below the mass of the vehicle, {parameters.mass:g} kg"
            require(self.mass < parameters.mass, "mass", self.mass, allowed)
            rest = with_point(parameters, -self.mass, np.array(self.position))
            least, middle, most = np.linalg.eigvalsh(rest.inertia)
            possible = least > 0 and least + middle >= most * (1 - 1e-9)
            problem = "is too heavy or too far out: the inertia of the vehicle does not hold it"
            require(bool(possible), "mass", self.mass, problem, "give a lighter or a nearer payload")


@dataclass(frozen=True)
class PayloadShift(PayloadFault):
    """Payload that slides in the vehicle, at once.

    Nothing acts from outside: the centre of mass stays where it is in the world, so the airframe moves back,
    and momentum and angular momentum are kept.
    """

    shift: Vector = (0.05, 0.0, 0.0)
    """Way of the payload in the body frame [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_vector("shift", self.shift, unit="m")

    def begin(self, injection: Injection, copies: BoolArray) -> None:
        """Move the payload."""
        here = np.array(self.position, dtype=np.float64)
        self._move(injection, copies, here, here + np.array(self.shift))

    def finish(self, injection: Injection, copies: BoolArray) -> None:
        """Move the payload back."""
        here = np.array(self.position, dtype=np.float64)
        self._move(injection, copies, here + np.array(self.shift), here)

    def _move(self, injection: Injection, copies: BoolArray, start: Array, end: Array) -> None:
        def moved(parameters: VehicleParameters) -> VehicleParameters:
            return with_point(with_point(parameters, -self.mass, start), self.mass, end)

        as_multirotor(injection.vehicle).refit(copies, moved, keeps_momentum=True)


@dataclass(frozen=True)
class PayloadLoss(PayloadFault):
    """Payload that falls off with the velocity it has, so that the rest moves on as it did."""

    def begin(self, injection: Injection, copies: BoolArray) -> None:
        """Take the payload away."""
        place = np.array(self.position, dtype=np.float64)
        as_multirotor(injection.vehicle).refit(
            copies, lambda p: with_point(p, -self.mass, place), keeps_momentum=False
        )

    def finish(self, injection: Injection, copies: BoolArray) -> None:
        """Attach the payload again, with the velocity of the vehicle."""
        place = np.array(self.position, dtype=np.float64)
        as_multirotor(injection.vehicle).refit(
            copies, lambda p: with_point(p, self.mass, place), keeps_momentum=False
        )
