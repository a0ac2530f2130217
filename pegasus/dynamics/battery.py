"""Battery models: voltage under load, charge, and limits of the rotor speed."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pegasus.base.arrays import Array, BoolArray, namespace
from pegasus.base.components import require
from pegasus.dynamics.motors import Motor

_PERIOD = 0.04
"""Simulated time between updates of charge and voltage, over which the power is averaged [s]."""
_HOUR = 3600.0


def cell_voltage(charge: Array) -> Array:
    """Return the open-circuit voltage of a lithium polymer cell [V].

    U = -1.031 exp(-35 s) + 3.685 + 0.2156 s - 0.1178 s^2 + 0.3201 s^3, as measured on cells of 850 mA h
    (M. Chen and G. A. Rincon-Mora, Accurate electrical battery model capable of predicting runtime and I-V
    performance, IEEE Transactions on Energy Conversion 21, 2006).

    Args:
        charge: State of charge s, 0 to 1, of any shape.
    """
    xp = namespace(charge)
    polynomial = ((0.3201 * charge - 0.1178) * charge + 0.2156) * charge + 3.685
    voltage: Array = polynomial - 1.031 * xp.exp(-35.0 * charge)
    return voltage


def load_current(power: Array, open_circuit_voltage: Array, *, resistance: float) -> Array:
    """Return the current at which a battery delivers a power [A], shape (N,).

    The smaller root of R I^2 - U I + P = 0: Kirchhoff's law with P = (U - R I) I. The largest power is
    U^2 / (4 R), at half the voltage.

    Args:
        power: Drawn power P, 0 or more [W], shape (N,).
        open_circuit_voltage: Voltage U without load [V], shape (N,).
        resistance: Internal resistance R [ohm].
    """
    xp = namespace(power)
    square = open_circuit_voltage * open_circuit_voltage
    drawn = xp.minimum((4.0 * resistance) * power, square)
    current: Array = drawn / ((2.0 * resistance) * (open_circuit_voltage + xp.sqrt(square - drawn)))
    return current


@dataclass(frozen=True, kw_only=True)
class Battery:
    """Battery pack: cells in series with an internal resistance, supplying motors and avionics.

    A rotor takes its shaft power, torque times speed, divided by the efficiency of motor and speed
    controller. The highest rotor speed is proportional to the voltage under load. Below the cut-off voltage,
    or without charge, the rotors stop and do not restart.

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
    """Voltage of one cell under load below which the rotors stop [V]."""
    low_charge: float = 0.2
    """State of charge at and below which the battery is low."""
    rated_voltage: float | None = None
    """Voltage of the pack at which the motors reach `max_speed` [V]; that of the full pack when None."""
    efficiency: float = 0.75
    """Shaft power by electrical power of the motors."""
    avionics_power: float = 0.0
    """Power of all other consumers [W]."""

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
        full = self.cell_count * self.curve()[1][-1]
        rated = self.rated_voltage
        require(rated is None or rated > 0, "rated_voltage", rated, "must be above 0 V")
        require(
            0 <= self.cutoff_voltage < full / self.cell_count,
            "cutoff_voltage",
            self.cutoff_voltage,
            f"must be from 0 to below {full / self.cell_count:.3g} V, that of a full cell",
        )

    def curve(self) -> tuple[Array, Array]:
        """Return states of charge and the open-circuit voltages of one cell there [V], shape (K,) each."""
        if self.state_of_charge is None or self.cell_voltages is None:
            charge = np.linspace(0.0, 1.0, 201)
            return charge, cell_voltage(charge)
        return np.array(self.state_of_charge), np.array(self.cell_voltages)

    def endurance(self, shaft_power: float) -> float:
        """Return the endurance at a constant power of the rotors [s].

        The integral of capacity over current, from the initial charge down to the first of a thousand steps
        at which the voltage is below the cut-off voltage.

        Args:
            shaft_power: Torque times speed of all rotors together [W].
        """
        charge = np.linspace(self.charge, 0.0, 1001)
        open_voltage = self.cell_count * np.interp(charge, *self.curve())
        power = np.full_like(charge, shaft_power / self.efficiency + self.avionics_power)
        current = load_current(power, open_voltage, resistance=self.resistance)
        enough = open_voltage - self.resistance * current >= self.cell_count * self.cutoff_voltage
        last = len(charge) if enough.all() else int(enough.argmin())
        if last < 2:
            return 0.0
        time = _HOUR * self.capacity / current[:last]
        return float((0.5 * (time[1:] + time[:-1]) * -np.diff(charge[:last])).sum())

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


class BatteryState:
    """The batteries of N vehicles in flight; its arrays are replaced, never changed in place.

    Args:
        battery: Parameters of the batteries.
        motor: Motor that they supply.
        count: Number of batteries N.

    Raises:
        ConfigError: If the motor has no largest speed.
    """

    charge: Array
    """State of charge, 0 to 1, shape (N,)."""
    voltage: Array
    """Voltage under load [V], shape (N,)."""
    current: Array
    """Current drawn [A], shape (N,)."""
    empty: BoolArray
    """Whether the rotors were stopped by low voltage or charge, shape (N,)."""
    highest_speed: Array
    """Largest rotor speed that the voltage allows [rad/s], shape (N, 1)."""
    lowest_speed: Array | float
    """Smallest rotor speed, as far below 0 as the voltage allows [rad/s]; one number or shape (N, 1)."""

    def __init__(self, battery: Battery, motor: Motor, count: int) -> None:
        require(
            math.isfinite(motor.max_speed),
            "motor.max_speed",
            motor.max_speed,
            "must be finite for a vehicle with a battery",
            "give the speed that the motors reach at rated_voltage",
        )
        self.battery, self._motor, self._count = battery, motor, count
        charge, voltage = battery.curve()
        self._curve = charge, voltage * battery.cell_count
        rated = battery.rated_voltage
        self._rated = float(self._curve[1][-1]) if rated is None else rated
        self.reset()

    @property
    def low(self) -> BoolArray:
        """Whether the charge is low, shape (N,)."""
        low: BoolArray = self.charge <= self.battery.low_charge
        return low

    def reset(self) -> None:
        """Return to the initial charge."""
        self._work: Array | float = 0.0
        self._steps = 0
        self.charge = np.full(self._count, self.battery.charge)
        self.empty = np.zeros(self._count, dtype=bool)
        self._allowed = np.interp(self.charge, *self._curve)
        self._settle(np.zeros(self._count), 0.0)

    def draw(self, shaft_power: Array, dt: float) -> bool:
        """Draw the power of the rotors over a step, and return whether a battery has become low or empty.

        Charge and voltage are updated every 0.04 s with the mean power.

        Args:
            shaft_power: Mean power of all rotors of each vehicle, torque times speed [W], shape (N,).
            dt: Length of the step [s].
        """
        self._work = self._work + shaft_power
        self._steps += 1
        time = self._steps * dt
        if time < _PERIOD:
            return False
        assert not isinstance(self._work, float)
        shaft_power = self._work / self._steps
        self._work, self._steps = 0.0, 0
        low, empty = self.low, self.empty
        self._settle(shaft_power, time)
        return bool((self.low > low).any() or (self.empty > empty).any())

    def _settle(self, shaft_power: Array, time: float) -> None:
        """Update charge, voltage and limits after a time with the mean power of all rotors of a vehicle."""
        battery = self.battery
        power = np.maximum(shaft_power / battery.efficiency, 0.0) + battery.avionics_power
        open_voltage = np.interp(self.charge, *self._curve)
        # An empty battery delivers no power.
        self.current = load_current(power * (self.charge > 0), open_voltage, resistance=battery.resistance)
        self.voltage = open_voltage - battery.resistance * self.current
        spent = self.current * (time / (_HOUR * battery.capacity))
        self.charge = np.maximum(self.charge - spent, 0.0)
        cutoff = battery.cell_count * battery.cutoff_voltage
        self.empty = self.empty | (self.voltage < cutoff) | (self.charge <= 0)
        # Relaxed by half: voltage lowers speed, which raises voltage; this damps the oscillation.
        self._allowed = 0.5 * (self._allowed + self.voltage)
        share = np.where(self.empty, 0.0, np.minimum(self._allowed / self._rated, 1.0))[:, None]
        motor = self._motor
        self.highest_speed = motor.max_speed * share
        self.lowest_speed = motor.min_speed
        if motor.min_speed < 0:
            self.lowest_speed = motor.min_speed * share
