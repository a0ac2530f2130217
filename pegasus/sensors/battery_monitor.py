"""Battery monitor: voltage, current and charge of the battery."""

from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import Sensor
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.dynamics.battery_state import BatteryState
from pegasus.environment import Environment


@dataclass(frozen=True, eq=False)
class BatteryReading(Reading):
    """Voltage, current and charge of a battery."""

    voltage: Array
    """Voltage under load [V], shape (N,)."""
    current: Array
    """Current drawn [A], shape (N,)."""
    charge: Array
    """State of charge, 0 to 1, shape (N,)."""


@dataclass(kw_only=True, eq=False)
class BatteryMonitor(Sensor):
    """Voltage, current and charge of the vehicle's battery, without errors."""

    rate_hz: float = 10.0
    """Readings per second [Hz]."""

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Join a vehicle.

        Raises:
            ConfigError: If it has no battery.
        """
        super().bind(vehicle, environment, rng)
        require(
            vehicle.battery is not None,
            "model",
            "battery_monitor",
            f"vehicle {vehicle.name!r} has no battery",
            "add a battery to its file, or remove the sensor",
        )
        assert vehicle.battery is not None
        self._battery: BatteryState = vehicle.battery

    @property
    def capacity(self) -> float:
        """Capacity of the battery [A h]; set by `bind`."""
        return self._battery.battery.capacity

    def measure(self, state: VehicleState, t: float) -> BatteryReading:
        """Return voltage, current and charge."""
        battery = self._battery
        return BatteryReading(
            stamp=t,
            voltage=battery.voltage.copy(),
            current=battery.current.copy(),
            charge=battery.charge.copy(),
        )
