"""Tests of batteries against Kirchhoff's law, conservation of charge and energy, and hand calculations."""

import math
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest
from scipy.integrate import solve_ivp, trapezoid

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.core.columns import own_columns
from pegasus.core.plant_battery import Batteries
from pegasus.dynamics import Battery, BatteryState, FirstOrderMotor, IdealMotor
from pegasus.dynamics.battery_state import cells_of
from pegasus.dynamics.battery_step import Demand, Supply, cell_voltage, drawn, load_current, supplied, updated
from tests.core.plain_step import values_of, write

MOTOR = IdealMotor(max_speed=1000.0)
FLAT = {"state_of_charge": (0.0, 1.0), "cell_voltages": (3.7, 3.7)}
DT = 0.004


def battery(**changes):
    """Return a battery of four cells, full and without avionics."""
    return Battery(**({"cell_count": 4, "capacity": 0.05, "resistance": 0.05} | changes))


def connected(pack, motor=MOTOR, count=1):
    """Return full batteries that supply the motors of vehicles at rest."""
    state = BatteryState(pack, motor)
    state.columns = own_columns(count, 4, 4)
    state.reset()
    return state


def drained(state, power, steps=10, *, plain=False):
    """Draw a shaft power from each battery for some steps; return those at which one became low or empty."""
    count, columns = len(state.charge), state.columns
    batteries = Batteries([SimpleNamespace(battery=state, count=count)], columns)
    columns["shaft_power"][...] = power
    told = []
    for step in range(steps):
        if plain:
            for i in range(count):
                cells, demand = state.cells[i % len(state.cells)], values_of(Demand, columns, i)
                work = drawn(cells, values_of(Supply, columns, i), demand, DT)
                columns["work"][i], columns["work_steps"][i] = work.work, work.work_steps
                write(updated(cells, values_of(Supply, columns, i), demand, DT)[0], columns, i)
        else:
            batteries.drain(DT)
        if batteries.take_event():
            told.append(step)
            columns["battery_event"][...] = 0
    return told


def test_cell_voltage():
    """A coefficient of the published curve would be wrong: its ends are sums of the coefficients."""
    ends = cell_voltage(np.array([0.0, 1.0]))
    np.testing.assert_allclose(ends, [3.685 - 1.031, 3.685 + 0.2156 - 0.1178 + 0.3201], atol=1e-12)
    assert (np.diff(cell_voltage(np.linspace(0, 1, 201))) > 0).all()
    # The table's error is at most h^2 / 8 times the curvature of 1.031 * 35^2: 4 mV.
    fine = np.linspace(0.0, 1.0, 2001)
    np.testing.assert_allclose(np.interp(fine, *battery().curve()), cell_voltage(fine), rtol=0, atol=0.004)


def test_current_gives_the_power():
    """Power, voltage and current would not agree, or a battery would exceed its maximum power."""
    power, voltage = np.array([0.0, 1.0, 100.0, 700.0, 1e4]), np.full(5, 12.0)
    current = np.array([load_current(p, u, 0.05) for p, u in zip(power, voltage, strict=True)])
    # No more than U^2 / (4 R) = 720 W at 120 A.
    np.testing.assert_allclose((voltage - 0.05 * current) * current, [0, 1, 100, 700, 720], rtol=1e-12)
    assert current[0] == 0.0
    assert current[4] == pytest.approx(120.0)
    assert (current <= 120.0 + 1e-9).all()


def test_formulas_run_in_any_array_namespace():
    """A NumPy-only call in the formulas would keep them from running on JAX."""
    values = np.array([0.1, 0.9])
    strict = array_api_strict.asarray(values)
    np.testing.assert_array_equal(np.asarray(cell_voltage(strict)), cell_voltage(values))


def test_time_of_a_constant_discharge():
    """Charge would not be current times time, or the efficiency would be inverted."""
    # 74 W on the shafts are 100 W, and with 11 W of avionics 111 W.
    cell = battery(**FLAT, efficiency=0.74, avionics_power=11.0)
    current = (14.8 - np.sqrt(14.8**2 - 4 * 0.05 * 111.0)) / (2 * 0.05)
    expected = 0.05 * 3600 / current
    state, steps = connected(cell), 0
    while not state.empty[0]:
        drained(state, 74.0)
        steps += 10
        assert steps * DT < 2 * expected
        if steps * DT < expected - 0.04:
            assert state.current[0] == pytest.approx(current, rel=1e-12)
    # To the period with which the charge moves on.
    assert steps * DT == pytest.approx(expected, abs=0.041)
    assert cell.endurance(100.0) == pytest.approx(expected, rel=1e-9)


def test_energy_is_conserved():
    """Energy drawn from the cells would not equal that of the load and the resistance."""
    state = connected(battery())
    heat = largest = 0.0
    periods = 0
    while not state.empty[0]:
        drained(state, 60.0)
        current = float(state.current[0])
        assert float(state.voltage[0]) * current == pytest.approx(80.0, rel=1e-12)
        heat, periods = heat + 0.05 * current**2 * 0.04, periods + 1
        largest = max(largest, current * 0.04)
    charges = np.linspace(float(state.charge[0]), 1.0, 100_001)
    open_voltage = 4 * np.interp(charges, *battery().curve())
    stored = 0.05 * 3600 * trapezoid(open_voltage, charges)
    # The voltage of each period is that at its start: the sum errs by the charge of one period, at most.
    spent = 80.0 * 0.04 * periods + heat
    assert 0.0 <= spent - stored <= largest * (open_voltage[-1] - open_voltage[0])


def test_endurance_is_that_of_a_flight():
    """The endurance on a vehicle's sheet would differ from a flight's."""
    cell = battery(avionics_power=5.0, charge=0.9)
    state, steps = connected(cell), 0
    while not state.empty[0]:
        drained(state, 100.0)
        steps += 10
    assert steps * DT == pytest.approx(cell.endurance(100.0 / cell.efficiency), rel=5e-3, abs=0.1)
    assert cell.endurance(1e6) == 0.0


def test_voltage_limits_the_speed():
    """Low voltage would not limit rotor speed, or speed would exceed the motor's limit."""
    motor = FirstOrderMotor(
        time_constant_up=0.01, time_constant_down=0.01, max_speed=1000.0, min_speed=-200.0
    )
    state = connected(battery(**FLAT, rated_voltage=16.0), motor, 2)
    np.testing.assert_allclose(state.columns["highest_speed"], [925.0, 925.0])
    drained(state, [0.0, 200.0], steps=400)
    current = (14.8 - np.sqrt(14.8**2 - 4 * 0.05 * 200 / 0.75)) / 0.1
    voltage = np.array([14.8, 14.8 - 0.05 * current])
    np.testing.assert_allclose(state.voltage, voltage, rtol=1e-12)
    np.testing.assert_allclose(state.columns["highest_speed"], 1000 * voltage / 16, rtol=1e-9)
    np.testing.assert_allclose(state.columns["lowest_speed"], -200 * voltage / 16, rtol=1e-9)
    strong = connected(battery(**FLAT, rated_voltage=12.0))
    assert strong.columns["highest_speed"][0] == 1000.0


def test_speed_and_voltage_settle():
    """At full throttle voltage and speed would oscillate."""
    pack = battery(**FLAT, resistance=0.12, capacity=5.0, cutoff_voltage=1.0)
    state = connected(pack)
    seen = []
    for _ in range(100):
        drained(state, 4 * 1.5e-7 * float(state.columns["highest_speed"][0]) ** 3)
        seen.append(float(state.voltage[0]))
    # At 1000 V / 14.8 rad/s the rotors take 4 * 1.5e-7 w^3 / 0.75: V = 14.8 - 0.12 P(V) / V, by bisection.
    low, high = 0.0, 14.8
    for _ in range(60):
        middle = 0.5 * (low + high)
        power = 4 * 1.5e-7 * (1000 * middle / 14.8) ** 3 / 0.75
        low, high = (middle, high) if 14.8 - 0.12 * power / middle > middle else (low, middle)
    # More than a fifth of the voltage is lost in the battery, as in a small one at full throttle.
    assert low < 0.8 * 14.8
    np.testing.assert_allclose(seen[-50:], low, rtol=1e-9)


def test_a_battery_without_charge_stops_its_rotors_for_good():
    """Rotors would turn without charge, or start again after they have stopped."""
    # 100 W at a sag of 0.5 V.
    state = connected(battery(capacity=1e-4, cutoff_voltage=3.0), count=2)
    drained(state, [0.0, 75.0], steps=50)
    assert state.empty.tolist() == [False, True]
    drained(state, [0.0, 0.0], steps=50)
    assert state.empty.tolist() == [False, True]
    assert state.columns["highest_speed"].tolist() == [1000.0, 0.0]
    assert state.current[1] == 0.0
    assert state.low.tolist() == [False, True]
    state.reset()
    assert not state.empty.any()
    assert (state.charge == 1.0).all()
    assert (state.columns["highest_speed"] == 1000.0).all()


def test_a_brown_out_ends_with_the_load():
    """Rotors would turn below the cut-off voltage, or a full battery stay cut off after the load is gone."""
    state = connected(battery(capacity=5.0, cutoff_voltage=3.0), count=2)
    # 20 kW is above the largest power: half of the voltage is left.
    drained(state, [0.0, 15e3])
    assert state.empty.tolist() == [False, True]
    assert state.voltage[1] < 12.0
    assert state.columns["highest_speed"].tolist() == [1000.0, 0.0]
    drained(state, [0.0, 0.0])
    assert not state.empty.any()
    assert state.charge[1] > 0.95
    # The limit of the speed comes back with the damped voltage.
    drained(state, [0.0, 0.0], steps=400)
    assert state.columns["highest_speed"].tolist() == pytest.approx([1000.0, 1000.0], rel=0.02)


def test_getting_low_and_empty_is_told_once():
    """A low or empty battery would not be reported, or be reported at every step."""
    state = connected(battery(capacity=0.01))
    told = drained(state, 100.0, steps=3000)
    assert len(told) == 2
    current = 100 / 0.75 / 15.0
    # Low after 80 % of the charge, at some 15 V.
    assert told[0] * DT == pytest.approx(0.8 * 0.01 * 3600 / current, rel=0.06)


def test_compiled_and_plain_execution_give_the_same_bits():
    """A battery would last differently in the debugger, or in another copy."""
    states = [connected(battery(capacity=0.01, cutoff_voltage=3.5), count=3) for _ in range(2)]
    for plain, state in enumerate(states):
        drained(state, [10.0, 100.0, 700.0], steps=1000, plain=bool(plain))
    for name in "charge", "voltage", "current", "empty", "highest_speed", "work":
        np.testing.assert_array_equal(states[0].columns[name], states[1].columns[name])
    assert states[0].empty.tolist() == [False, True, True]
    alone = connected(battery(capacity=0.01, cutoff_voltage=3.5))
    drained(alone, 10.0, steps=1000)
    assert alone.voltage[0] == states[0].voltage[0]


BRANCHES = {"branch_resistances": (0.03, 0.02), "branch_time_constants": (0.6, 5.0)}


def test_branches_sag_and_recover_with_their_time_constants():
    """Voltage would jump to its steady value, or a branch have another resistance or time constant."""
    pack = battery(**FLAT, **BRANCHES, capacity=50.0, cutoff_voltage=0.0)
    state = connected(pack)

    def rate(_, v):
        current = load_current(100.0 / 0.75, 14.8 - v.sum(), 0.05)
        return (np.array([0.03, 0.02]) * current - v) / np.array([0.6, 5.0])

    drained(state, 100.0, steps=500)
    sagged = solve_ivp(rate, (0, 2.0), np.zeros(2), "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    # The current is that of the voltages 0.04 s before.
    np.testing.assert_allclose(state.columns["cell_state"][0, :2], sagged, rtol=3e-3)
    assert state.voltage[0] == pytest.approx(14.8 - sagged.sum() - 0.05 * state.current[0], abs=2e-3)
    before = state.columns["cell_state"][0, :2].copy()
    drained(state, 0.0, steps=250)
    np.testing.assert_allclose(
        state.columns["cell_state"][0, :2], before * np.exp(-1.0 / np.array([0.6, 5.0])), rtol=1e-12
    )
    drained(state, 100.0, steps=10_000)
    steady = load_current(100.0 / 0.75, 14.8, 0.1)
    assert pack.steady_resistance == pytest.approx(0.1)
    assert state.current[0] == pytest.approx(steady, rel=1e-3)
    state.reset()
    assert (state.columns["cell_state"] == 0.0).all()


def test_cold_cells_have_more_resistance_and_warm_themselves():
    """Resistance would not follow Arrhenius' law, or the heat not be that of the resistance."""
    warmth = {"temperature": -10.0, "activation_temperature": 2500.0, "heat_capacity": 200.0, "cooling": 0.5}
    pack = battery(**FLAT, **warmth, capacity=50.0)
    factor = math.exp(2500.0 * (1 / 263.15 - 1 / 298.15))
    assert 3.0 < factor < 3.1
    assert pack.steady_resistance == pytest.approx(0.05 * factor, rel=1e-12)
    state = connected(pack)
    drained(state, 100.0)
    current = load_current(100.0 / 0.75, 14.8, 0.05 * factor)
    assert state.current[0] == pytest.approx(current, rel=1e-12)
    assert state.temperature[0] == pytest.approx(-10.0 + 0.05 * factor * current**2 * 0.04 / 200.0, abs=1e-9)

    def rate(_, y):
        resistance = 0.05 * math.exp(2500.0 * (1 / (263.15 + y[0]) - 1 / 298.15))
        heat = resistance * load_current(100.0 / 0.75, 14.8, resistance) ** 2
        return [(heat - 0.5 * y[0]) / 200.0]

    drained(state, 100.0, steps=15_000 - 10)
    warmed = solve_ivp(rate, (0, 60.0), [0.0], "DOP853", rtol=1e-10, atol=1e-12).y[0, -1]
    assert warmed > 2.0
    assert state.temperature[0] == pytest.approx(-10.0 + warmed, abs=0.01)


def test_without_branches_and_heat_the_bits_are_those_of_a_plain_battery():
    """A battery of a file from before would last differently."""
    plain, spelt = connected(battery(capacity=0.02)), connected(battery(capacity=0.02, temperature=-20.0))
    for state in plain, spelt:
        drained(state, 60.0, steps=200)
    for name in "charge", "voltage", "current", "highest_speed":
        np.testing.assert_array_equal(plain.columns[name], spelt.columns[name])
    assert plain.columns["cell_state"].tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("branch_resistances", {"branch_resistances": (0.1,)}),
        ("branch_resistances", {"branch_resistances": (0.1,) * 3, "branch_time_constants": (1.0,) * 3}),
        ("branch_resistances", {"branch_resistances": (0.0,), "branch_time_constants": (1.0,)}),
        ("branch_time_constants", {"branch_resistances": (0.1,), "branch_time_constants": (0.0,)}),
        ("temperature", {"temperature": 298.15}),
        ("activation_temperature", {"activation_temperature": -1.0}),
        ("heat_capacity", {"heat_capacity": 0.0}),
        ("cooling", {"heat_capacity": 1.0, "cooling": 100.0}),
        ("cell_count", {"cell_count": 0}),
        ("cell_count", {"cell_count": 3.5}),
        ("capacity", {"capacity": float("inf")}),
        ("capacity", {"capacity": 0.0}),
        ("resistance", {"resistance": 0.0}),
        ("charge", {"charge": 1.1}),
        ("low_charge", {"low_charge": 1.0}),
        ("efficiency", {"efficiency": 0.0}),
        ("efficiency", {"efficiency": 1.5}),
        ("avionics_power", {"avionics_power": -1.0}),
        ("rated_voltage", {"rated_voltage": 0.0}),
        ("cutoff_voltage", {"cutoff_voltage": 4.2}),
        ("state_of_charge", {"cell_voltages": (3.0, 4.2)}),
        ("state_of_charge", {"state_of_charge": (0.1, 1.0), "cell_voltages": (3.0, 4.2)}),
        ("state_of_charge", {"state_of_charge": (0.0, 0.5, 0.5, 1.0), "cell_voltages": (3.0, 3.5, 3.6, 4.2)}),
        ("cell_voltages", {"state_of_charge": (0.0, 1.0), "cell_voltages": (4.2, 3.0)}),
        ("cell_voltages", {"state_of_charge": (0.0, 1.0), "cell_voltages": (3.0, 3.5, 4.2)}),
    ],
)
def test_bad_parameters_are_refused(field, changes):
    """An invalid battery would be accepted, or only fail during a flight."""
    with pytest.raises(ConfigError, match=f"^{field}"):
        battery(**changes)


def test_a_motor_without_a_largest_speed_stops_when_its_battery_is_empty():
    """An unlimited speed would become not a number, or go on without charge."""
    cells = cells_of(battery(), IdealMotor())
    demand, none = Demand(0.0, 0.0, 1.0, 1.0, 1.0, 1.0), Vec3(0.0, 0.0, 0.0)
    full, empty = (
        supplied(
            cells, Supply(c, 0.0, 0.0, none, 0, cells.rated_voltage, 0.0, 0.0, 0.0, 0, 0), 100.0, demand, 0.04
        )
        for c in (1.0, 0.0)
    )
    assert (full.highest_speed, full.lowest_speed) == (math.inf, 0.0)
    assert (empty.empty, empty.highest_speed, empty.lowest_speed) == (1, 0.0, 0.0)
