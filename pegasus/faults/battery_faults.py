"""Faults of batteries."""

from dataclasses import dataclass
from typing import ClassVar

from pegasus.base.components import require
from pegasus.contracts.fault import Fault, Injection
from pegasus.contracts.vehicle import EquippedVehicle


@dataclass(frozen=True)
class BatteryFault(Fault):
    """Base of a fault of the battery."""

    alters_step = False
    """The battery's own launch takes its shares."""

    def fit(self, vehicle: EquippedVehicle) -> None:
        """Raise a ConfigError if the vehicle has no battery."""
        remedy = "give its file a battery"
        require(vehicle.battery is not None, "vehicle", vehicle.name, "must have a battery", remedy)


@dataclass(frozen=True)
class CellFailure(BatteryFault):
    """Cells that give no voltage; the cut-off voltage remains that of the whole pack."""

    count: int = 1
    """Number of failed cells."""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.count, int) and self.count >= 1
        require(whole, "count", self.count, "must be a whole number from 1 up")

    def fit(self, vehicle: EquippedVehicle) -> None:
        """Raise a ConfigError if the battery does not have that many cells."""
        super().fit(vehicle)
        assert vehicle.battery is not None
        cells = vehicle.battery.battery.cell_count
        require(self.count < cells, "count", self.count, f"must be below the {cells} cells of the battery")

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Scale the open-circuit voltage."""
        vehicle = injection.vehicle
        assert vehicle.battery is not None
        lost = self.count / vehicle.battery.battery.cell_count
        vehicle.columns["voltage_share"][...] *= 1.0 - injection.intensity * lost


@dataclass(frozen=True)
class BatteryCold(BatteryFault):
    """Cold battery: less capacity, more resistance.

    At -10 degrees Celsius a lithium polymer cell gives some 0.7 of its charge at 25 degrees, and has three
    times the resistance; both depend on the cell.
    """

    capacity_share: float = 0.7
    """Remaining share of the capacity, above 0 to 1."""
    resistance_factor: float = 3.0
    """Internal resistance by that of the warm battery, 1 or more."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.capacity_share <= 1, "capacity_share", self.capacity_share, "must be above 0, to 1")
        factor = self.resistance_factor
        require(1 <= factor < 1e6, "resistance_factor", factor, "must be at least 1")

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Scale capacity and resistance."""
        columns, intensity = injection.vehicle.columns, injection.intensity
        columns["capacity_share"][...] *= 1.0 - intensity * (1.0 - self.capacity_share)
        columns["resistance_share"][...] *= 1.0 + intensity * (self.resistance_factor - 1.0)


@dataclass(frozen=True)
class BatteryEmpty(BatteryFault):
    """Battery that gives no power, as with a loose plug; after the end it has the charge of before."""

    takes_ramp: ClassVar[bool] = False

    def actuate(self, injection: Injection, t: float, dt: float) -> None:
        """Take the charge."""
        injection.vehicle.columns["charge_share"][injection.active] = 0.0
