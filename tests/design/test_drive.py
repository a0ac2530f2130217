"""Tests of motors and batteries against their equations and test bench measurements."""

import math

import pytest
from scipy.integrate import solve_ivp

from pegasus.base.errors import ConfigError
from pegasus.design import Battery, Motor, Propeller
from pegasus.design.propulsion import estimated_motor_mass

MOTOR = Motor(kv=920, mass=0.056, measured_resistance=0.14, measured_no_load_current=0.5)
BATTERY = Battery(cell_count=3, capacity=5.0)


def test_full_throttle_balances_voltage_and_torque():
    """The largest speed would be one that the motor cannot hold, or does not reach."""
    load = 2.4e-7
    speed = MOTOR.full_throttle_speed(load, BATTERY, 4)
    constant = 60 / (2 * math.pi * 920)
    current = load * speed**2 / constant + 0.5
    assert constant * speed + (0.14 + 4 * BATTERY.resistance) * current == pytest.approx(11.1, rel=1e-12)
    assert MOTOR.full_throttle_speed(0.0, BATTERY, 4) < 11.1 / constant
    assert MOTOR.full_throttle_speed(load, BATTERY, 8) < speed


def test_full_throttle_of_a_racing_motor():
    """A bench's Emax Eco 2306 of 2400 rpm/V, HQ 5x4x3, 15.8 V: 29656 rpm and 11.64 N."""
    battery = Battery(cell_count=4, capacity=200.0)
    motor = Motor(kv=2400 * 15.8 / battery.voltage, mass=0.034)
    propeller = Propeller.parse("5x4x3")
    speed = motor.full_throttle_speed(propeller.torque_constant, battery, 1)
    assert speed == pytest.approx(29656 * math.pi / 30, rel=0.1)


def test_time_constant_is_that_of_the_motors_equation():
    """Rotors would answer faster or slower than motor and propeller do."""
    load, inertia, steady = 2.4e-7, 5e-5, 500.0
    k, resistance = MOTOR.torque_constant, MOTOR.resistance
    voltage = k * steady + resistance * load * steady**2 / k

    def rate(_, speed):
        return (k * (voltage - k * speed) / resistance - load * speed**2) / inertia

    tau = MOTOR.time_constant(inertia, load, steady)
    end = solve_ivp(rate, (0.0, tau), [steady + 0.01], rtol=1e-10, atol=1e-10).y[0, -1]
    assert (end - steady) / 0.01 == pytest.approx(math.exp(-1.0), rel=1e-4)


def test_time_constant_of_a_ten_inch_rotor():
    """Hector's test bench: 63 % of a step from 8 to 10 V in 58 ms, about 570 rad/s."""
    propeller = Propeller.parse("10x4.5SF")
    motor = Motor(kv=850, mass=estimated_motor_mass(propeller.diameter))
    inertia = propeller.inertia + motor.inertia
    assert motor.time_constant(inertia, propeller.torque_constant, 570.0) == pytest.approx(0.058, rel=0.3)


@pytest.mark.parametrize(
    ("kv", "mass", "resistance"),
    [(920, 0.056, 0.14), (700, 0.080, 0.14), (2400, 0.033, 0.045), (400, 0.150, 0.096), (340, 0.205, 0.095)],
)
def test_estimated_resistance_is_of_the_published_size(kv, mass, resistance):
    """A motor would waste half of its power: 2212, MN3110, F40, MN4014, MN5212 as makers give them."""
    assert 0.6 < Motor(kv=kv, mass=mass).resistance / resistance < 1.6


@pytest.mark.parametrize(("cells", "capacity", "mass"), [(3, 5.0, 0.40), (4, 1.5, 0.18), (6, 16.0, 1.95)])
def test_battery_mass_is_of_the_usual_size(cells, capacity, mass):
    """A wrong battery mass would give a wrong inertia."""
    assert Battery(cell_count=cells, capacity=capacity).mass == pytest.approx(mass, rel=0.32)


@pytest.mark.parametrize(("diameter", "mass"), [(0.127, 0.03), (0.254, 0.06), (0.381, 0.14), (0.711, 0.24)])
def test_estimated_motor_mass(diameter, mass):
    """A motor would be that of another propeller."""
    assert 1 / 1.4 < estimated_motor_mass(diameter) / mass < 1.4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motor(kv=1.0, mass=0.1), "kv = 1.0: must be from 10"),
        (lambda: Motor(kv=900, mass=0.0), "motor_mass = 0.0: must be above 0 kg"),
        (lambda: Motor(kv=900, mass=0.1, measured_resistance=-1.0), "motor_resistance = -1.0"),
        (lambda: Battery(cell_count=0, capacity=1.0), "cells = 0: must be from 1 to 24"),
        (lambda: Battery(cell_count=3, capacity=0.0), "capacity = 0.0: must be above 0"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    """A figure in a wrong unit would be accepted."""
    with pytest.raises(ConfigError, match=message.split(":")[0]) as caught:
        make()
    assert message in str(caught.value)
