"""Electric motors: published steady states and step response, textbook points, limits, bad parameters."""

import math

import pytest

from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.dynamics import MOTORS, ElectricMotor, Motor

PLAIN = {"torque_constant": 0.01, "resistance": 0.1, "nominal_voltage": 12.0, "max_speed": 1000.0}
CLOSED = {"speed_control": "closed_loop", "proportional_gain": 0.02, "integral_gain": 0.2}
REST = Vec3(0.0, 0.0, 0.0)


def at(motor, speed, command, voltage=0.0, state=REST):
    """Return torque, rate of the integral and power of a motor."""
    torque, rate, power = motor.law(motor.parameters(), speed, state, command, voltage)
    return torque, rate[0], power


def test_no_load_speed_is_that_of_kv():
    """A kv in rad/s, or a torque constant that is not the back-EMF, would shift the no-load speed."""
    motor = ElectricMotor(kv=920.0, resistance=0.1, nominal_voltage=10.0, max_speed=900.0)
    speed = 920.0 * 10.0 * 2.0 * math.pi / 60.0
    torque, _, power = at(motor, speed, 900.0)
    assert torque == pytest.approx(0.0, abs=1e-12)
    assert power == pytest.approx(0.0, abs=1e-9)


def test_stalled_motor_draws_the_current_of_its_resistance():
    """A current from a wrong voltage would make torque and power at rest wrong."""
    motor = ElectricMotor(**PLAIN, no_load_current=0.5)
    torque, _, power = at(motor, 0.0, 500.0)
    assert torque == pytest.approx(0.01 * 60.0)
    assert power == pytest.approx(6.0 * 60.0)


def test_power_is_heat_friction_and_shaft_power():
    """Power that appears or is lost between supply and shaft would falsify every endurance."""
    motor = ElectricMotor(**PLAIN, no_load_current=0.4, viscous_friction=2e-6)
    torque, _, power = at(motor, 600.0, 800.0)
    current = (0.8 * 12.0 - 6.0) / 0.1
    friction = 0.01 * 0.4 + 2e-6 * 600.0
    assert torque == pytest.approx(0.01 * current - friction)
    assert power == pytest.approx(current**2 * 0.1 + friction * 600.0 + torque * 600.0)


def test_throttle_follows_the_battery_and_not_the_nominal_voltage():
    """A throttle of the nominal voltage would give full thrust from an empty battery."""
    motor = ElectricMotor(**PLAIN)
    assert at(motor, 0.0, 1000.0, 9.0)[0] == pytest.approx(0.01 * 9.0 / 0.1)


def test_controller_without_regeneration_lets_the_rotor_coast():
    """A current below 0 would brake the rotor and charge the battery."""
    torque, _, power = at(ElectricMotor(**PLAIN), 900.0, 100.0)
    assert (torque, power) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_regenerative_controller_brakes_and_returns_power():
    """Braking must return what the windings leave: U I with I below 0."""
    torque, _, power = at(ElectricMotor(**PLAIN, regenerative=True), 900.0, 700.0)
    current = (8.4 - 9.0) / 0.1
    assert torque == pytest.approx(0.01 * current)
    assert power == pytest.approx(8.4 * current)
    assert power == pytest.approx(torque * 900.0 + 0.1 * current**2)


def test_current_limit_lowers_the_voltage():
    """A limit of the current alone would draw power that goes nowhere."""
    torque, _, power = at(ElectricMotor(**PLAIN, max_current=20.0), 300.0, 1000.0)
    assert torque == pytest.approx(0.2)
    assert power == pytest.approx(20.0 * (0.1 * 20.0 + 3.0))


def test_closed_loop_applies_back_emf_and_gain_within_the_supply():
    """A missing limit would apply more voltage than the battery has."""
    motor = ElectricMotor(**PLAIN, **CLOSED)
    torque, rate, _ = at(motor, 590.0, 600.0, state=Vec3(0.3, 0.0, 0.0))
    assert torque == pytest.approx(0.01 * (6.0 + 0.02 * 10.0 + 0.3 - 5.9) / 0.1)
    assert rate == pytest.approx(0.2 * 10.0)
    assert at(motor, 0.0, 900.0)[0] == pytest.approx(0.01 * 12.0 / 0.1)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"no_load_current": 0.4, "viscous_friction": 2e-6, "voltage_gain": 0.9},
        {"voltage_offset": 0.05},
        {"regenerative": True, "inertia": 1e-5},
        {"speed_control": "closed_loop", "proportional_gain": 0.02},
        {"speed_control": "closed_loop", "proportional_gain": 0.005, "voltage_offset": 0.05},
    ],
)
def test_linear_response_and_power_are_those_of_the_law(more):
    """A wrong lag would mistune controllers, a wrong power the hover time of a sheet."""
    motor = ElectricMotor(**PLAIN | more)
    load, inertia, speed = 1e-7, 4e-5, 500.0

    def acceleration(speed, command):
        return (at(motor, speed, command)[0] - load * speed**2) / inertia

    # The command that holds the speed, by bisection.
    low, high = 0.0, 1000.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if acceleration(speed, middle) < 0.0 else (low, middle)
    slope = (acceleration(speed + 0.01, low) - acceleration(speed - 0.01, low)) / 0.02
    torque = load * speed**2
    assert motor.time_constant(speed, torque, inertia) == pytest.approx(-1.0 / slope, rel=1e-4)
    assert motor.electrical_power(speed, torque) == pytest.approx(at(motor, speed, low)[2], rel=1e-9)


@pytest.mark.parametrize("more", [{}, CLOSED])
def test_response_without_a_load_is_its_limit(more):
    """A rotor whose air gives no torque would end a sheet, or a controller, by a division by 0."""
    motor = ElectricMotor(**PLAIN | more)
    free, near = (motor.time_constant(500.0, torque, 4e-5) for torque in (0.0, 1e-9))
    assert free == pytest.approx(near, rel=1e-3)
    assert motor.electrical_power(500.0, 0.0) == pytest.approx(0.0, abs=1e-6)


def test_integral_does_not_wind_up():
    """An integral that rises while the voltage is at its limit would overshoot for seconds."""
    motor = ElectricMotor(**PLAIN, **CLOSED)
    _, free, _ = at(motor, 990.0, 1000.0)
    _, stuck, _ = at(motor, 500.0, 1000.0, state=Vec3(5.0, 0.0, 0.0))
    assert free > 0
    assert stuck < 0


def test_reversed_command_is_the_mirror_image():
    """A sign lost in one term would turn reversible rotors at other speeds backward than forward."""
    motor = ElectricMotor(**PLAIN, **CLOSED, min_speed=-1000.0, no_load_current=0.3, viscous_friction=1e-6)
    forward = at(motor, 400.0, 600.0, state=Vec3(0.2, 0.0, 0.0))
    backward = at(motor, -400.0, -600.0, state=Vec3(-0.2, 0.0, 0.0))
    assert backward == pytest.approx((-forward[0], -forward[1], forward[2]))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("torque_constant", {"kv": 900.0}),
        ("torque_constant", {"torque_constant": None}),
        ("torque_constant", {"torque_constant": -0.1}),
        ("kv", {"torque_constant": None, "kv": 0.0}),
        ("resistance", {"resistance": 0.0}),
        ("nominal_voltage", {"nominal_voltage": -1.0}),
        ("no_load_current", {"no_load_current": -0.1}),
        ("viscous_friction", {"viscous_friction": -1e-6}),
        ("inertia", {"inertia": -1e-6}),
        ("max_current", {"max_current": 0.0}),
        ("max_speed", {"max_speed": math.inf}),
        ("proportional_gain", {"speed_control": "closed_loop"}),
        ("integral_gain", {**CLOSED, "integral_gain": -1.0}),
        ("speed_control", {"speed_control": "cascade"}),
        ("voltage_offset", {"regenerative": True, "voltage_offset": 0.1}),
    ],
)
def test_impossible_parameters_are_refused(field, change):
    """A motor without resistance, or with two constants that contradict each other, would start a flight."""
    with pytest.raises(ConfigError, match=f"^{field}(:| =) "):
        ElectricMotor(**{**PLAIN, **change})


def test_file_with_an_unknown_form_of_control_is_refused_with_the_forms():
    """A misspelt controller would silently be a throttle."""
    with pytest.raises(ConfigError, match=r"motor\.speed_control.*open_loop"):
        build(Motor, MOTORS, {"model": "electric", **PLAIN, "speed_control": "pid"}, field="motor")
