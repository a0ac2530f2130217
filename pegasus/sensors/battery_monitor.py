"""Battery monitor: what a vehicle knows of its battery."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.propulsion.battery import BatteryState
from pegasus.sensors.sensor import Reading, Sensor
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor


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

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
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
            "give it one in its file, or leave the sensor out",
        )
        assert vehicle.battery is not None
        self._battery: BatteryState = vehicle.battery

    def measure(self, state: VehicleState, t: float) -> BatteryReading:
        """Return what the battery gives now."""
        battery = self._battery
        return BatteryReading(
            stamp=t, voltage=battery.voltage, current=battery.current, charge=battery.charge
        )
