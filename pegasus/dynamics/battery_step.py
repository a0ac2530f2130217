"""Step functions of batteries: voltage under load, charge, and limits of the rotor speed."""

from dataclasses import dataclass, replace

from pegasus.base.arrays import Array, namespace
from pegasus.base.step_math import Real, Vec3, exp, interpolate, maximum, minimum, sqrt
from pegasus.base.tracing import Signal

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


@dataclass(frozen=True)
class Supply:
    """State of a battery, and what it gives."""

    charge: Real
    """State of charge, 0 to 1."""
    voltage: Real
    """Voltage under load [V]."""
    current: Real
    """Current drawn [A]."""
    cell_state: Vec3
    """Voltages of the two RC branches [V], and the cells' temperature above that of the air [K]."""
    empty: int
    """1 while the rotors are stopped by low voltage, or have no charge left."""
    allowed_voltage: Real
    """Damped voltage, which limits the rotor speeds [V]."""
    highest_speed: Real
    """Limits of the commands [rad/s]."""
    lowest_speed: Real
    work: Real
    """Sum of the power of the motors since the last update [W], over `work_steps` steps."""
    work_steps: int
    battery_event: int
    """1 where a battery has become low or has stopped its rotors since this was set to 0."""


@dataclass(frozen=True)
class Demand:
    """What is drawn from a battery in a step, and its faults."""

    shaft_power: Real
    """Mean power of all rotors, torque times speed [W]."""
    electrical_power: Real
    """Mean power that driven motors draw [W]."""
    charge_share: Real
    """Shares of charge, open-circuit voltage and capacity that can be drawn, and factor of the resistance; 1
    without faults."""
    voltage_share: Real
    capacity_share: Real
    resistance_share: Real


def supplied(p: Cells, before: Supply, motor_power: Real, demand: Demand, time: Real) -> Supply:
    """Return a battery after a time with the mean power of all motors: at their shafts, or electrical.

    Electrical power below 0 charges the battery. Rotors that low voltage has stopped may turn again as soon
    as the voltage is back.

    Args:
        p: Parameters.
        before: The battery before.
        motor_power: Mean power of all motors [W].
        demand: Its shares are used.
        time: The time [s].
    """
    factor = demand.resistance_share
    if p.activation > 0.0:
        factor = factor * warmth_factor(p.activation, p.temperature + before.cell_state[2])
    resistance = p.resistance * factor
    power = maximum(motor_power / p.efficiency, 0.0) + p.avionics_power
    if p.electrical == 1:
        power = motor_power + p.avionics_power
    here = before.charge * demand.charge_share
    if here <= 0.0:
        # An empty battery delivers no power.
        power = 0.0
    cells = before.cell_state
    open_voltage = interpolate(here, p.state_of_charge, p.voltages) * demand.voltage_share
    open_voltage = maximum(open_voltage - (cells[0] + cells[1]), 1e-3 * open_voltage)
    current = load_current(power, open_voltage, resistance)
    voltage = open_voltage - resistance * current
    capacity = p.capacity * demand.capacity_share
    charge = maximum(before.charge - current * (time / (_HOUR * capacity)), 0.0)
    # Relaxed by half: voltage lowers speed, which raises voltage; this damps the oscillation.
    allowed = 0.5 * (before.allowed_voltage + voltage)
    share = minimum(allowed / p.rated_voltage, 1.0)
    if p.electrical == 1:
        charge = minimum(charge, 1.0)
        share = 1.0
    empty = 0
    if voltage < p.cutoff_voltage or charge * demand.charge_share <= 0.0:
        empty = 1
    highest = p.max_speed * share
    lowest = p.min_speed
    if lowest < 0.0:
        lowest = lowest * share
    if empty == 1:
        highest = 0.0
        lowest = maximum(p.min_speed, 0.0)
    event = before.battery_event
    if (before.charge > p.low_charge and charge <= p.low_charge) or empty > before.empty:
        event = 1
    after = cells_after(p, cells, current, resistance, factor, time)
    return Supply(charge, voltage, current, after, empty, allowed, highest, lowest, 0.0, 0, event)


def drained(p: Cells, before: Supply, demand: Demand, dt: Real) -> tuple[Supply, Signal]:
    """Return a battery after a step, and whether it has become low or has stopped its rotors.

    Charge, voltage and limits are updated every 0.04 s with the mean power.

    Args:
        p: Parameters.
        before: The battery before.
        demand: What is drawn from it in the step.
        dt: Length of the step [s].
    """
    drawn = demand.shaft_power
    if p.electrical == 1:
        drawn = demand.electrical_power
    work = before.work + drawn
    steps = before.work_steps + 1
    after = replace(before, work=work, work_steps=steps)
    if Real(steps) * dt >= PERIOD:
        after = supplied(p, before, work / Real(steps), demand, Real(steps) * dt)
    return after, Signal(after.battery_event)


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
        cells: State before; see `Supply`.
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
