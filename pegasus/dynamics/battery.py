"""Parameters of batteries."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.dynamics.battery_step import PERIOD, cell_voltage, load_current, warmth_factor

ZERO_CELSIUS = 273.15
"""Temperature of 0 degrees Celsius [K]."""
_HOUR = 3600.0
_NO_BRANCHES = (0.0, 1.0)
Pair = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Battery:
    """Battery pack: cells in series with an internal resistance, supplying motors and avionics.

    A rotor takes its shaft power, torque times speed, divided by the efficiency of motor and speed
    controller. The highest rotor speed, if there is one, is proportional to the voltage under load. A motor
    that gives a torque takes the electrical power that its model computes, in place of both, and its speed
    follows from the voltage. Below the cut-off voltage the rotors stop until the voltage without their load
    is above it again; without charge they stop for good.

    A custom battery is a frozen dataclass derived from this one.
    """

    cell_count: int
    """Cells in series."""
    capacity: float
    """Charge when full [A h]."""
    resistance: float
    """Internal resistance of the pack, leads included [ohm]."""
    charge: float = 1.0
    """State of charge at the start, 0 to 1."""
    state_of_charge: tuple[float, ...] | None = None
    """States of charge of `cell_voltages`, rising from 0 to 1."""
    cell_voltages: tuple[float, ...] | None = None
    """Open-circuit voltages of one cell [V]; those of `cell_voltage` when left out."""
    cutoff_voltage: float = 3.0
    """Voltage of one cell under load below which the rotors stop, until it is back [V]."""
    low_charge: float = 0.2
    """State of charge at and below which the battery is low."""
    rated_voltage: float | None = None
    """Voltage of the pack at which the motors reach `max_speed` [V]; that of the full pack when None."""
    efficiency: float = 0.75
    """Shaft power by electrical power of the motors; not used for motors that give a torque."""
    avionics_power: float = 0.0
    """Power of all other consumers [W]."""
    branch_resistances: tuple[float, ...] = ()
    """Resistances of one or two RC branches in series with `resistance` [ohm]."""
    branch_time_constants: tuple[float, ...] = ()
    """Their time constants [s]."""
    temperature: float = 25.0
    """Temperature of the air around the cells, and of the cells at first [degrees Celsius]."""
    activation_temperature: float = 0.0
    """B in the factor exp(B (1 / T - 1 / 298.15 K)) of all resistances [K]; 0 for none."""
    heat_capacity: float | None = None
    """Heat capacity of the cells [J/K]; they keep their temperature if None."""
    cooling: float = 0.0
    """Heat that the cells give to the air by their temperature above it [W/K]."""

    def __post_init__(self) -> None:
        whole = isinstance(self.cell_count, int) and 1 <= self.cell_count <= 100
        require(whole, "cell_count", self.cell_count, "must be a whole number from 1 to 100")
        require(0 < self.capacity < math.inf, "capacity", self.capacity, "must be above 0 A h and finite")
        require(self.resistance > 0, "resistance", self.resistance, "must be above 0 ohm")
        require(0 < self.charge <= 1, "charge", self.charge, "must be above 0, to 1")
        require(0 <= self.low_charge < 1, "low_charge", self.low_charge, "must be from 0 to below 1")
        require(0 < self.efficiency <= 1, "efficiency", self.efficiency, "must be above 0, to 1")
        require(self.avionics_power >= 0, "avionics_power", self.avionics_power, "must not be below 0 W")
        self._require_curve()
        self._require_branches()
        full, rated = self.full_voltage, self.rated_voltage
        require(rated is None or rated > 0, "rated_voltage", rated, "must be above 0 V")
        require(
            0 <= self.cutoff_voltage < full / self.cell_count,
            "cutoff_voltage",
            self.cutoff_voltage,
            f"must be from 0 to below {full / self.cell_count:.3g} V, that of a full cell",
        )

    @property
    def full_voltage(self) -> float:
        """Open-circuit voltage of the full pack [V]."""
        return float(self.cell_count * self.curve()[1][-1])

    @property
    def cutoff(self) -> float:
        """Voltage of the pack under load below which the rotors stop [V]."""
        return self.cell_count * self.cutoff_voltage

    @property
    def steady_resistance(self) -> float:
        """Resistance under a lasting load at the temperature of the air, branches included [ohm]."""
        return (self.resistance + sum(self.branch_resistances)) * self._warmth_factor

    @property
    def _warmth_factor(self) -> float:
        if self.activation_temperature == 0.0:
            return 1.0
        return float(warmth_factor(self.activation_temperature, self.temperature + ZERO_CELSIUS))

    def curve(self) -> tuple[Array, Array]:
        """Return states of charge and the open-circuit voltages of one cell there [V], shape (K,) each."""
        if self.state_of_charge is None or self.cell_voltages is None:
            charge = np.linspace(0.0, 1.0, 201)
            return charge, cell_voltage(charge)
        return np.array(self.state_of_charge), np.array(self.cell_voltages)

    def endurance(self, motor_power: float) -> float:
        """Return the endurance at a constant power of the motors [s].

        The integral of capacity over current, from the initial charge down to the first of a thousand steps
        at which the voltage is below the cut-off voltage.

        Args:
            motor_power: Power that all motors draw together [W]: their shaft power divided by `efficiency`,
                or that of electric motors.
        """
        charge = np.linspace(self.charge, 0.0, 1001)
        open_voltage = self.cell_count * np.interp(charge, *self.curve())
        power = motor_power + self.avionics_power
        resistance = self.steady_resistance
        current = np.array([load_current(power, u, resistance) for u in open_voltage.tolist()])
        enough = open_voltage - resistance * current >= self.cell_count * self.cutoff_voltage
        last = len(charge) if enough.all() else int(enough.argmin())
        if last < 2:
            return 0.0
        time = _HOUR * self.capacity / current[:last]
        return float((0.5 * (time[1:] + time[:-1]) * -np.diff(charge[:last])).sum())

    def branches(self) -> tuple[Pair, Pair]:
        """Return resistances [ohm] and time constants [s] of both branches, those of missing ones 0 and 1."""
        pairs = [*zip(self.branch_resistances, self.branch_time_constants, strict=True)]
        (r1, t1), (r2, t2) = (*pairs, _NO_BRANCHES, _NO_BRANCHES)[:2]
        return (r1, r2), (t1, t2)

    def _require_branches(self) -> None:
        given, times = self.branch_resistances, self.branch_time_constants
        fits = len(given) == len(times) <= 2
        require(fits, "branch_resistances", given, "must be one or two, as many as branch_time_constants")
        require(all(0 < r < math.inf for r in given), "branch_resistances", given, "must be above 0 ohm")
        require(all(0 < t < math.inf for t in times), "branch_time_constants", times, "must be above 0 s")
        require(-60 <= self.temperature <= 100, "temperature", self.temperature, "must be from -60 to 100")
        for name in ("activation_temperature", "cooling"):
            value = getattr(self, name)
            require(0 <= value < 1e5, name, value, "must be from 0 to below 1e5")
        capacity = self.heat_capacity
        require(capacity is None or capacity >= 1, "heat_capacity", capacity, "must be at least 1 J/K")
        require(
            capacity is None or self.cooling * PERIOD < capacity,
            "cooling",
            self.cooling,
            f"must be below heat_capacity / {PERIOD:g} s",
        )

    def _require_curve(self) -> None:
        charges, voltages = self.state_of_charge, self.cell_voltages
        require(
            (charges is None) == (voltages is None),
            "state_of_charge",
            charges,
            "must be given together with cell_voltages",
        )
        if charges is None or voltages is None:
            return
        rising = all(a < b for a, b in pairwise(charges))
        require(
            len(charges) >= 2 and rising and (charges[0], charges[-1]) == (0.0, 1.0),
            "state_of_charge",
            charges,
            "must rise from 0 to 1",
        )
        never_falling = all(a <= b for a, b in pairwise(voltages))
        require(
            len(voltages) == len(charges) and voltages[0] > 0 and never_falling,
            "cell_voltages",
            voltages,
            "must be above 0 V, never fall, and be as many as state_of_charge",
        )
