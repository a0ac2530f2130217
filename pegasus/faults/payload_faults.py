"""Faults of a payload: it shifts in the vehicle, or falls off."""

from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import ClassVar

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require, require_vector
from pegasus.contracts.fault import Fault, Injection
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.aircraft import as_aircraft
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
    keeps_momentum: ClassVar[bool]
    """Whether the vehicle's momentum is kept at the change, or else its velocities."""

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

    def begin(self, injection: Injection, copies: BoolArray) -> None:
        """Take the payload from its place."""
        self._refit(injection, copies)

    def finish(self, injection: Injection, copies: BoolArray) -> None:
        """Return the payload."""
        self._refit(injection, copies)

    def left(self, parameters: VehicleParameters) -> VehicleParameters:
        """Return the parameters of a copy while the fault acts.

        Args:
            parameters: Those without it.
        """
        raise NotImplementedError

    def _refit(self, injection: Injection, copies: BoolArray) -> None:
        """Fly with what the payload faults that act now leave of the vehicle as it was built."""
        vehicle = as_aircraft(injection.vehicle)
        parameters = list(islice(cycle(vehicle.built_parameters), vehicle.count))
        acting = [i for i in vehicle.faults.acting if isinstance(i.fault, PayloadFault)]
        for other in acting:
            assert isinstance(other.fault, PayloadFault)
            for row in np.flatnonzero(other.active).tolist():
                parameters[row] = other.fault.left(parameters[row])
        vehicle.refit(copies, parameters if acting else None, keeps_momentum=self.keeps_momentum)


@dataclass(frozen=True)
class PayloadShift(PayloadFault):
    """Payload that slides in the vehicle, at once.

    Nothing acts from outside: the centre of mass stays where it is in the world, so the airframe moves back,
    and momentum and angular momentum are kept.
    """

    shift: Vector = (0.05, 0.0, 0.0)
    """Way of the payload in the body frame [m]."""

    keeps_momentum: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_vector("shift", self.shift, unit="m")

    def left(self, parameters: VehicleParameters) -> VehicleParameters:
        """Return the parameters with the payload at its new place."""
        place = np.array(self.position, dtype=np.float64)
        rest = with_point(parameters, -self.mass, place)
        return with_point(rest, self.mass, place + np.array(self.shift))


@dataclass(frozen=True)
class PayloadLoss(PayloadFault):
    """Payload that falls off with the velocity it has, so that the rest moves on as it did.

    After the end it is there again, with the velocity of the vehicle.
    """

    keeps_momentum: ClassVar[bool] = False

    def left(self, parameters: VehicleParameters) -> VehicleParameters:
        """Return the parameters without the payload."""
        return with_point(parameters, -self.mass, np.array(self.position, dtype=np.float64))
