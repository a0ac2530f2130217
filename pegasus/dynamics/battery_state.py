"""Batteries of vehicles in flight."""

from collections.abc import Mapping, Sequence

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.step_math import Vec3, interpolate
from pegasus.dynamics.battery import ZERO_CELSIUS, Battery
from pegasus.dynamics.battery_step import Cells, Demand, Supply, supplied
from pegasus.dynamics.motors import DrivenMotor, Motor

_SUPPLY = ("charge", "voltage", "current", "allowed_voltage", "empty", "highest_speed", "lowest_speed")
"""Columns that `supply` returns, in order."""


def cells_of(battery: Battery, motor: Motor) -> Cells:
    """Return the parameters of the step function for a battery.

    Args:
        battery: The battery.
        motor: Motor that it supplies.
    """
    charge, voltage = battery.curve()
    resistances, times = battery.branches()
    voltages = (voltage * battery.cell_count).tolist()
    return Cells(
        capacity=battery.capacity,
        resistance=battery.resistance,
        branch_resistance=resistances,
        branch_time=times,
        activation=battery.activation_temperature,
        temperature=battery.temperature + ZERO_CELSIUS,
        heat_capacity=battery.heat_capacity or 0.0,
        cooling=battery.cooling,
        low_charge=battery.low_charge,
        efficiency=battery.efficiency,
        avionics_power=battery.avionics_power,
        cutoff_voltage=battery.cutoff,
        rated_voltage=battery.rated_voltage or battery.full_voltage,
        electrical=int(isinstance(motor, DrivenMotor)),
        max_speed=motor.max_speed,
        min_speed=motor.min_speed,
        state_of_charge=tuple(charge.tolist()),
        voltages=tuple(voltages),
    )


class BatteryState:
    """The batteries of N vehicles in flight, as views of the columns of their step.

    Args:
        battery: Parameters of the batteries.
        motor: Motor that they supply.
    """

    columns: Mapping[str, Array]
    """Columns of `Supply` by name, N rows each; set by the vehicle."""

    def __init__(self, battery: Battery, motor: Motor) -> None:
        self.battery = battery
        self._warned: BoolArray = np.zeros((2, 0), dtype=bool)
        self.fit([(battery, motor)])

    def fit(self, packs: Sequence[tuple[Battery, Motor]]) -> None:
        """Take other batteries, which the next reset charges.

        Args:
            packs: Battery and motor of all vehicles together, or of each.
        """
        self.cells = [cells_of(battery, motor) for battery, motor in packs]
        """Parameters of the step function, of all vehicles together, or of each."""
        self._start = np.array(
            [_charged(p, battery) for p, (battery, _) in zip(self.cells, packs, strict=True)]
        )

    @property
    def charge(self) -> Array:
        """State of charge that can be drawn, 0 to 1, shape (N,)."""
        charge: Array = self.columns["charge"] * self.columns["charge_share"]
        return charge

    @property
    def voltage(self) -> Array:
        """Voltage under load [V], shape (N,)."""
        return self.columns["voltage"]

    @property
    def current(self) -> Array:
        """Current drawn [A], shape (N,)."""
        return self.columns["current"]

    @property
    def temperature(self) -> Array:
        """Temperature of the cells [degrees Celsius], shape (N,)."""
        around: Array = np.array([cells.temperature for cells in self.cells]) - ZERO_CELSIUS
        return around + self.columns["cell_state"][:, 2]

    @property
    def empty(self) -> BoolArray:
        """Whether the rotors are stopped by low voltage, or have no charge left, shape (N,)."""
        empty: BoolArray = self.columns["empty"] != 0
        return empty

    @property
    def low(self) -> BoolArray:
        """Whether the charge is low, shape (N,)."""
        low: BoolArray = self.charge <= [cells.low_charge for cells in self.cells]
        return low

    def take_warnings(self) -> bool:
        """Return whether a battery is low, or has stopped rotors, for the first time since its last reset."""
        found = np.stack([self.low, self.empty])
        fresh = bool((found & ~self._warned).any())
        self._warned |= found
        return fresh

    def reset(self, rows: IntArray | slice = slice(None)) -> None:
        """Return to the initial charge, without load of the rotors.

        Args:
            rows: Indices of the vehicles.
        """
        if self._warned.shape[1] != len(self.charge):
            self._warned = np.zeros((2, len(self.charge)), dtype=bool)
        self._warned[:, rows] = False
        start = self._start[rows] if len(self._start) > 1 else self._start
        for name, values in zip(_SUPPLY, start.T, strict=True):
            self.columns[name][rows] = values
        for name in ("work", "work_steps", "battery_event", "cell_state"):
            self.columns[name][rows] = 0


def _charged(cells: Cells, battery: Battery) -> tuple[float, ...]:
    """Return the values of `_SUPPLY` at the initial charge, without load of the rotors."""
    charge = float(battery.charge)
    allowed = interpolate(charge, cells.state_of_charge, cells.voltages)
    empty = Supply(charge, 0.0, 0.0, Vec3(0.0, 0.0, 0.0), 0, allowed, 0.0, 0.0, 0.0, 0, 0)
    made = supplied(cells, empty, 0.0, Demand(0.0, 0.0, 1.0, 1.0, 1.0, 1.0), 0.0)
    return tuple(getattr(made, name) for name in _SUPPLY)
