"""Battery models: voltage under load, charge, and limits of the rotor speed."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pegasus.base.arrays import Array, namespace
from pegasus.base.components import require
from pegasus.base.step_math import Column, Real, interpolate, maximum, minimum, sqrt

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


def load_current(power: Real, open_circuit_voltage: Real, resistance: Real) -> Real:
    """Return the current at which a battery delivers a power [A].

    The smaller root of R I^2 - U I + P = 0: Kirchhoff's law with P = (U - R I) I. The largest power is
    U^2 / (4 R), at half the voltage.

    Args:
        power: Drawn power P, 0 or more [W].
        open_circuit_voltage: Voltage U without load [V].
        resistance: Internal resistance R [ohm].
    """
    square = open_circuit_voltage * open_circuit_voltage
    drawn = minimum((4.0 * resistance) * power, square)
    return drawn / ((2.0 * resistance) * (open_circuit_voltage + sqrt(square - drawn)))


@dataclass(frozen=True)
class Cells:
    """Parameters of the batteries of a kind of vehicle, and of the motors that they supply."""

    fitted: int
    """1 for a vehicle with a battery, 0 for one without."""
    capacity: float
    """Charge when full [A h]."""
    resistance: float
    """Internal resistance [ohm]."""
    low_charge: float
    """State of charge at and below which the battery is low."""
    efficiency: float
    """Shaft power by electrical power of the motors."""
    avionics_power: float
    """Power of all other consumers [W]."""
    cutoff_voltage: float
    """Voltage of the pack below which the rotors stop [V]."""
    rated_voltage: float
    """Voltage of the pack at which the motors reach `max_speed` [V]."""
    electrical: int
    """1 for motors that draw `electrical_power`, and whose speed the voltage itself limits."""
    max_speed: float
    """Limits of the rotor speed at that voltage [rad/s]."""
    min_speed: float
    state_of_charge: tuple[float, ...]
    """States of charge of `voltages`."""
    voltages: tuple[float, ...]
    """Open-circuit voltages of the pack [V]."""


NO_CELLS = Cells(0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0, 0.0, 0.0, (0.0, 1.0), (1.0, 1.0))
"""Parameters of a vehicle without a battery."""


@dataclass
class BatteryRows:
    """Parameters of batteries by kind of vehicle; their state by copy."""

    kind: Column[int]
    cells: Column[Cells]
    shaft_power: Column[Real]
    """Mean power of all rotors over the step, torque times speed [W]."""
    electrical_power: Column[Real]
    """Mean power that driven motors draw over the step [W]."""
    charge: Column[Real]
    """State of charge, 0 to 1."""
    voltage: Column[Real]
    """Voltage under load [V]."""
    current: Column[Real]
    """Current drawn [A]."""
    empty: Column[int]
    """1 while the rotors are stopped by low voltage, or have no charge left."""
    allowed_voltage: Column[Real]
    """Damped voltage, which limits the rotor speeds [V]."""
    work: Column[Real]
    """Sum of the power of the motors since the last update [W], over `work_steps` steps."""
    work_steps: Column[int]
    highest_speed: Column[Real]
    """Limits of the commands [rad/s]."""
    lowest_speed: Column[Real]
    voltage_share: Column[Real]
    """Shares of open-circuit voltage and capacity, and factor of the resistance; 1 without faults."""
    capacity_share: Column[Real]
    resistance_share: Column[Real]
    news: Column[int]
    """1 where a battery has become low or has stopped its rotors since this was set to 0."""
    bell: Column[int]
    """One cell for all copies, set to 1 with any `news`."""


def supply(
    p: Cells,
    charge: Real,
    allowed_voltage: Real,
    motor_power: Real,
    time: Real,
    voltage_share: Real,
    capacity_share: Real,
    resistance_share: Real,
) -> tuple[Real, Real, Real, Real, int, Real, Real]:
    """Return a battery after a time with the mean power of all motors: at their shafts, or electrical.

    Electrical power below 0 charges the battery. The results are charge, voltage, current, allowed voltage,
    being empty, and largest and smallest speed of the rotors, as in `BatteryRows`. Rotors that low voltage
    has stopped may turn again as soon as the voltage is back. The shares are 1 without faults.
    """
    resistance = p.resistance * resistance_share
    power = maximum(motor_power / p.efficiency, 0.0) + p.avionics_power
    if p.electrical == 1:
        power = motor_power + p.avionics_power
    if charge <= 0.0:
        # An empty battery delivers no power.
        power = 0.0
    open_voltage = interpolate(charge, p.state_of_charge, p.voltages) * voltage_share
    current = load_current(power, open_voltage, resistance)
    voltage = open_voltage - resistance * current
    left = maximum(charge - current * (time / (_HOUR * (p.capacity * capacity_share))), 0.0)
    # Relaxed by half: voltage lowers speed, which raises voltage; this damps the oscillation.
    settled = 0.5 * (allowed_voltage + voltage)
    share = minimum(settled / p.rated_voltage, 1.0)
    if p.electrical == 1:
        left = minimum(left, 1.0)
        share = 1.0
    stopped = 0
    if voltage < p.cutoff_voltage:
        stopped = 1
    if left <= 0.0:
        stopped = 1
    highest = p.max_speed * share
    lowest = p.min_speed
    if lowest < 0.0:
        lowest = lowest * share
    if stopped == 1:
        highest = 0.0
        lowest = maximum(p.min_speed, 0.0)
    return left, voltage, current, settled, stopped, highest, lowest


def draw(i: int, rows: BatteryRows, dt: Real) -> None:
    """Draw the power of the rotors over a step from the battery of row i.

    Charge, voltage and limits are updated every 0.04 s with the mean power.
    """
    p = rows.cells[rows.kind[i]]
    if p.fitted == 1:
        drawn = rows.shaft_power[i]
        if p.electrical == 1:
            drawn = rows.electrical_power[i]
        rows.work[i] = rows.work[i] + drawn
        rows.work_steps[i] = rows.work_steps[i] + 1
        count = Real(rows.work_steps[i])
        if count * dt >= _PERIOD:
            charge = rows.charge[i]
            empty = rows.empty[i]
            left, voltage, current, allowed, stopped, highest, lowest = supply(
                p,
                charge,
                rows.allowed_voltage[i],
                rows.work[i] / count,
                count * dt,
                rows.voltage_share[i],
                rows.capacity_share[i],
                rows.resistance_share[i],
            )
            rows.charge[i] = left
            rows.voltage[i] = voltage
            rows.current[i] = current
            rows.allowed_voltage[i] = allowed
            rows.empty[i] = stopped
            rows.highest_speed[i] = highest
            rows.lowest_speed[i] = lowest
            rows.work[i] = 0.0
            rows.work_steps[i] = 0
            if charge > p.low_charge and left <= p.low_charge:
                rows.news[i] = 1
            if stopped > empty:
                rows.news[i] = 1
            if rows.news[i] == 1:
                rows.bell[0] = 1


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
        current = np.array([load_current(power, u, self.resistance) for u in open_voltage.tolist()])
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
