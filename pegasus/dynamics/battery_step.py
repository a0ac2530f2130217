"""Step functions of batteries: voltage under load, charge, and limits of the rotor speed."""

from dataclasses import dataclass

from pegasus.base.arrays import Array, namespace
from pegasus.base.step_math import Column, Real, Vec3, exp, interpolate, maximum, minimum, sqrt

PERIOD = 0.04
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
    """Internal resistance at 25 degrees Celsius, without the branches [ohm]."""
    branch_resistance: tuple[float, ...]
    """Resistances of two RC branches in series with it [ohm]; 0 for none."""
    branch_time: tuple[float, ...]
    """Their time constants [s]."""
    activation: float
    """Temperature B of Arrhenius' law of all resistances [K]; 0 for none."""
    temperature: float
    """Temperature of the air around the cells, and of the cells at first [K]."""
    heat_capacity: float
    """Heat capacity of the cells [J/K]; 0 for cells that keep their temperature."""
    cooling: float
    """Heat given to the air by temperature above it [W/K]."""
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


NO_CELLS = Cells(
    0,
    1.0,
    1.0,
    (0.0, 0.0),
    (1.0, 1.0),
    0.0,
    298.15,
    0.0,
    0.0,
    0.0,
    1.0,
    0.0,
    0.0,
    1.0,
    0,
    0.0,
    0.0,
    (0.0, 1.0),
    (1.0, 1.0),
)
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
    cell_state: Column[Vec3]
    """Voltages of the two RC branches [V], and the cells' temperature above that of the air [K]."""
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
    charge_share: Column[Real]
    """Shares of charge, open-circuit voltage and capacity that can be drawn, and factor of the resistance; 1
    without faults."""
    voltage_share: Column[Real]
    capacity_share: Column[Real]
    resistance_share: Column[Real]
    battery_event: Column[int]
    """1 where a battery has become low or has stopped its rotors since this was set to 0."""
    bell: Column[int]
    """One cell for all copies, set to 1 with any `battery_event`."""


def supply(
    p: Cells,
    charge: Real,
    allowed_voltage: Real,
    cells: Vec3,
    motor_power: Real,
    time: Real,
    charge_share: Real,
    voltage_share: Real,
    capacity_share: Real,
    resistance_share: Real,
) -> tuple[Real, Real, Real, Real, int, Real, Real, Vec3]:
    """Return a battery after a time with the mean power of all motors: at their shafts, or electrical.

    Electrical power below 0 charges the battery. The results are charge, voltage, current, allowed voltage,
    being empty, largest and smallest speed of the rotors, and state of the cells, see `BatteryRows`. Rotors
    that low voltage has stopped may turn again as soon as the voltage is back. The shares are 1 without
    faults.
    """
    factor = resistance_share
    if p.activation > 0.0:
        factor = factor * warmth_factor(p.activation, p.temperature + cells[2])
    resistance = p.resistance * factor
    power = maximum(motor_power / p.efficiency, 0.0) + p.avionics_power
    if p.electrical == 1:
        power = motor_power + p.avionics_power
    if charge * charge_share <= 0.0:
        # An empty battery delivers no power.
        power = 0.0
    open_voltage = interpolate(charge * charge_share, p.state_of_charge, p.voltages) * voltage_share
    open_voltage = maximum(open_voltage - (cells[0] + cells[1]), 1e-3 * open_voltage)
    current = load_current(power, open_voltage, resistance)
    voltage = open_voltage - resistance * current
    settled_cells = cells_after(p, cells, current, resistance, factor, time)
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
    if left * charge_share <= 0.0:
        stopped = 1
    highest = p.max_speed * share
    lowest = p.min_speed
    if lowest < 0.0:
        lowest = lowest * share
    if stopped == 1:
        highest = 0.0
        lowest = maximum(p.min_speed, 0.0)
    return left, voltage, current, settled, stopped, highest, lowest, settled_cells


def warmth_factor(activation: Real, temperature: Real) -> Real:
    """Return a resistance by that at 25 degrees Celsius, exp(B (1 / T - 1 / 298.15 K)), Arrhenius' law.

    Args:
        activation: Temperature B [K], the activation energy by the gas constant.
        temperature: Temperature T [K].
    """
    return exp(activation * (1.0 / temperature - 1.0 / 298.15))


def cells_after(p: Cells, cells: Vec3, current: Real, resistance: Real, factor: Real, time: Real) -> Vec3:
    """Return the state of cells after a time with a constant current.

    Each branch settles at R I with its time constant; the heat of all resistances warms the cells, which give
    it to the air: C T' = P - k T.

    Args:
        p: Parameters.
        cells: State before; see `BatteryRows`.
        current: Current I [A].
        resistance: Resistance without the branches, at this temperature [ohm].
        factor: Resistances of the branches by those of `p`.
        time: The time [s].
    """
    first = cells[0]
    second = cells[1]
    warmth = cells[2]
    heat = (first + second + resistance * current) * current
    if p.branch_resistance[0] > 0.0:
        goal = p.branch_resistance[0] * factor * current
        first = goal + (first - goal) * exp(-time / p.branch_time[0])
    if p.branch_resistance[1] > 0.0:
        goal = p.branch_resistance[1] * factor * current
        second = goal + (second - goal) * exp(-time / p.branch_time[1])
    if p.heat_capacity > 0.0:
        warmth = warmth + time / p.heat_capacity * (heat - p.cooling * warmth)
    return Vec3(first, second, warmth)


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
        if count * dt >= PERIOD:
            charge = rows.charge[i]
            empty = rows.empty[i]
            left, voltage, current, allowed, stopped, highest, lowest, relaxed = supply(
                p,
                charge,
                rows.allowed_voltage[i],
                rows.cell_state[i],
                rows.work[i] / count,
                count * dt,
                rows.charge_share[i],
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
            rows.cell_state[i] = relaxed
            rows.work[i] = 0.0
            rows.work_steps[i] = 0
            if charge > p.low_charge and left <= p.low_charge:
                rows.battery_event[i] = 1
            if stopped > empty:
                rows.battery_event[i] = 1
            if rows.battery_event[i] == 1:
                rows.bell[0] = 1
