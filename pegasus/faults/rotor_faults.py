"""Faults of motors and their speed controllers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasus.base.components import require
from pegasus.contracts.fault import Fault, Injection
from pegasus.contracts.vehicle import Vehicle, as_machine, as_propelled


def require_rotor(vehicle: Vehicle, rotor: int | None) -> None:
    """Raise a ConfigError if a vehicle has no rotor of a number.

    Args:
        vehicle: The vehicle.
        rotor: The number; None for all rotors.
    """
    if rotor is not None:
        last = as_propelled(vehicle).rotor_count - 1
        whole = isinstance(rotor, int | np.integer) and 0 <= rotor <= last
        require(whole, "rotor", rotor, f"must be a rotor of {vehicle.name!r}, from 0 to {last}")


@dataclass(frozen=True)
class RotorFault(Fault):
    """Base of a fault of one rotor."""

    rotor: int
    """Number of the rotor, from 0."""

    def concerns(self) -> list[str]:
        """Return the number of the rotor."""
        return [f"rotor {self.rotor}"]

    def fit(self, vehicle: Vehicle) -> None:
        """Raise a ConfigError if the vehicle has no such rotor."""
        require_rotor(vehicle, self.rotor)


@dataclass(frozen=True)
class RotorsFault(Fault):
    """Base of a fault of one rotor or of all rotors."""

    rotor: int | None = None
    """Number of the rotor, from 0; all rotors when left out."""

    def concerns(self) -> list[str]:
        """Return the number of the rotor."""
        return [] if self.rotor is None else [f"rotor {self.rotor}"]

    def fit(self, vehicle: Vehicle) -> None:
        """Raise a ConfigError if the vehicle has no such rotor."""
        require_rotor(vehicle, self.rotor)

    def rotors(self, vehicle: Vehicle) -> slice:
        """Return the channels of the rotors that fail.

        Args:
            vehicle: The vehicle.
        """
        if self.rotor is None:
            return slice(0, as_machine(vehicle).rotor_count)
        return slice(self.rotor, self.rotor + 1)


@dataclass(frozen=True)
class MotorLoss(RotorFault):
    """Motor without power: its rotor runs down as the motor's model lets it, and gives no thrust at rest."""

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Scale the commanded speed within the motor's limits."""
        injection.vehicle.columns["drive"][:, self.rotor] *= 1.0 - injection.intensity


@dataclass(frozen=True)
class ThrustLoss(RotorFault):
    """Rotor that gives a part of its thrust, such as one with a damaged propeller."""

    share: float = 0.5
    """Remaining share of the thrust at the same speed, 0 to 1."""
    torque_share: float | None = None
    """Remaining share of the torque; that of the thrust when left out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("share", "torque_share"):
            value = getattr(self, field)
            require(value is None or 0 <= value <= 1, field, value, "must be from 0 to 1")

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Scale thrust and torque."""
        torque_share = self.share if self.torque_share is None else self.torque_share
        columns, intensity = injection.vehicle.columns, injection.intensity
        columns["thrust_share"][:, self.rotor] *= 1.0 - intensity * (1.0 - self.share)
        columns["torque_share"][:, self.rotor] *= 1.0 - intensity * (1.0 - torque_share)


@dataclass(frozen=True)
class MotorStuck(RotorsFault):
    """Speed controller that holds the last command."""

    takes_ramp: ClassVar[bool] = False

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Hold the commands."""
        vehicle = injection.vehicle
        vehicle.columns["command_held"][injection.active, self.rotors(vehicle)] = 1.0


@dataclass(frozen=True)
class MotorSeized(RotorFault):
    """Motor whose bearing seizes: the rotor stops at once, and the airframe takes its angular momentum."""

    takes_ramp: ClassVar[bool] = False

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Stop the rotor."""
        for name in ("kept_speed", "drive"):
            injection.vehicle.columns[name][injection.active, self.rotor] = 0.0


@dataclass(frozen=True)
class VoltageDrop(RotorsFault):
    """Supply voltage of speed controllers that falls, and with it the speed that a command gives."""

    share: float = 0.8
    """Remaining share of the voltage, 0 to 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.share < 1, "share", self.share, "must be from 0 to below 1")

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Scale the commanded speed within the motor's limits."""
        left = 1.0 - injection.intensity * (1.0 - self.share)
        vehicle = injection.vehicle
        vehicle.columns["drive"][:, self.rotors(vehicle)] *= left[:, None]
