"""Faults of motors and their speed controllers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.contracts.fault import Fault, Injection
from pegasus.contracts.vehicle import Vehicle, as_rotorcraft


def require_rotor(vehicle: Vehicle, rotor: int | None) -> None:
    """Raise a ConfigError if a vehicle has no rotor of a number.

    Args:
        vehicle: The vehicle.
        rotor: The number; None for all rotors.
    """
    if rotor is not None:
        last = as_rotorcraft(vehicle).rotor_count - 1
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

    @property
    def rotors(self) -> slice:
        """Rotors that fail."""
        return slice(None) if self.rotor is None else slice(self.rotor, self.rotor + 1)


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

    def begin(self, injection: Injection, copies: BoolArray) -> None:
        """Keep the last commands."""
        command = injection.vehicle.columns["command"]
        held = injection.kept("held", command.copy)
        held[copies] = command[copies]

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Replace the commands."""
        command, held = injection.vehicle.columns["command"], injection.state["held"]
        rows = np.flatnonzero(injection.active)
        command[rows, self.rotors] = held[rows, self.rotors]


@dataclass(frozen=True)
class MotorSeized(RotorFault):
    """Motor whose bearing seizes: the rotor stops at once, and the airframe takes its angular momentum."""

    takes_ramp: ClassVar[bool] = False

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Stop the rotor; its angular momentum is a torque over this step."""
        vehicle, rows = injection.vehicle, np.flatnonzero(injection.active)
        columns, rotor = vehicle.columns, self.rotor
        inertia = np.array([p.rotor_inertia for p in vehicle.parameters])
        momentum = (inertia * np.ones(vehicle.count))[rows] * columns["rotor_speed"][rows, rotor]
        layout = as_rotorcraft(vehicle).layout
        axis = layout.frames()[2][rotor] * layout.spin[rotor]
        columns["twist"][rows] += axis * (momentum / dt)[:, None]
        columns["rotor_speed"][rows, rotor] = 0.0
        columns["motor_state"][rows, rotor] = 0.0
        columns["drive"][rows, rotor] = 0.0


@dataclass(frozen=True)
class CommandDelay(RotorsFault):
    """Commands that arrive late at the speed controllers, as by a busy bus."""

    delay: float = 0.05
    """Delay, rounded to steps [s]."""

    takes_ramp: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.delay <= 10, "delay", self.delay, "must be above 0 s and at most 10 s")

    def begin(self, injection: Injection, copies: BoolArray) -> None:
        """Fill the line with the last commands."""
        vehicle = injection.vehicle
        steps = max(1, round(self.delay * vehicle.physics_rate))
        command = vehicle.columns["command"]

        def line() -> Array:
            return np.zeros((vehicle.count, steps, command.shape[1]))

        injection.kept("line", line)[copies] = command[copies, None]
        injection.kept("place", lambda: np.zeros(vehicle.count, dtype=np.int64))[copies] = 0

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Take the oldest commands, and put the new ones in their place."""
        command, rows = injection.vehicle.columns["command"], np.flatnonzero(injection.active)
        line, place = injection.state["line"], injection.state["place"]
        at = place[rows]
        oldest = line[rows, at].copy()
        line[rows, at] = command[rows]
        place[rows] = (at + 1) % line.shape[1]
        command[rows, self.rotors] = oldest[:, self.rotors]


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
        injection.vehicle.columns["drive"][:, self.rotors] *= left[:, None]
