"""Tests of the systematic errors of IMUs, by matrices and closed forms made apart from the step functions."""

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_euler
from pegasus.environment import Environment, UsStandardAtmosphere1976
from pegasus.sensors import IMU, SENSORS, Accelerometer, Gyroscope, Sensor, Thermal, Vibration

G = 9.80665
QUIET: dict[str, Any] = {"noise_density": 0.0, "bias_random_walk": 0.0, "turn_on_bias": 0.0}
SCALE = (0.02, -0.01, 0.005)
MISALIGNMENT = ((0.0, 0.011, -0.012), (0.013, 0.0, 0.014), (-0.015, 0.016, 0.0))
SENSITIVITY = ((1e-3, 2e-4, 0.0), (-3e-4, 5e-4, 1e-4), (0.0, 4e-4, -2e-3))


def imu(gyroscope: Any = (), accelerometer: Any = (), **parameters: Any) -> IMU:
    """Return an IMU without noise, with errors of both sensors."""
    return IMU(
        gyroscope=Gyroscope(**QUIET | dict(gyroscope)),
        accelerometer=Accelerometer(**QUIET | dict(accelerometer)),
        **parameters,
    )


def pushed(bench: Any, sensor: IMU, acceleration: Any) -> Any:
    """Return the second reading of a body that accelerates without turning."""
    state = bench.bind(sensor)
    bench.measure(sensor, state, 0.0)
    state.velocity[:] = np.asarray(acceleration) / sensor.rate_hz
    return bench.measure(sensor, state, 1 / sensor.rate_hz)


def first(bench: Any, sensor: IMU, rate: Any, count: int = 1) -> Any:
    """Return the first reading of a body that spins about its IMU."""
    state = bench.bind(sensor, count=count)
    state.angular_velocity[:] = rate
    return bench.measure(sensor, state, 0.0)


@dataclass(frozen=True)
class OwnAtmosphere(UsStandardAtmosphere1976):
    """Atmosphere that the step function does not compute itself."""


def test_scale_and_misalignment_of_the_gyroscope(bench: Any) -> None:
    """A rate would be measured with the transposed matrix, or with the scale of another axis."""
    sensor = imu({"scale_error": SCALE, "misalignment": MISALIGNMENT})
    matrix = np.eye(3) + np.diag(SCALE) + np.array(MISALIGNMENT)
    for rate in (*np.eye(3), np.array([0.3, -0.7, 1.1])):
        reading = first(bench, sensor, rate)
        assert_allclose(reading.angular_velocity[0], matrix @ rate, rtol=1e-13, atol=1e-15)
        assert np.array_equal(reading.specific_force, [[0.0, 0.0, G]])


def test_scale_and_misalignment_of_the_accelerometer(bench: Any) -> None:
    """A force would be measured with the transposed matrix, or before it is turned into the IMU's frame."""
    mounting = tuple(quaternion_from_euler(0.0, 0.0, math.pi / 2))
    sensor = imu((), {"scale_error": SCALE, "misalignment": MISALIGNMENT}, orientation=mounting)
    matrix = np.eye(3) + np.diag(SCALE) + np.array(MISALIGNMENT)
    reading = pushed(bench, sensor, (3.0, -2.0, 1.0))
    # The IMU's forward axis is the body's left one.
    assert_allclose(reading.specific_force[0], matrix @ [-2.0, -3.0, 1.0 + G], rtol=1e-12)
    assert not np.any(reading.angular_velocity)


def test_g_sensitivity_adds_a_rate_in_proportion_to_the_force(bench: Any) -> None:
    """The gyroscope would feel no gravity, or the accelerometer's reading in place of the force."""
    sensor = imu({"g_sensitivity": SENSITIVITY}, {"scale_error": (0.5, 0.5, 0.5)})
    reading = pushed(bench, sensor, (3.0, -2.0, 1.0))
    assert_allclose(reading.angular_velocity[0], np.array(SENSITIVITY) @ [3.0, -2.0, 1.0 + G], rtol=1e-12)


@pytest.mark.parametrize("rate", [20.0, 100.0])
def test_warm_up_is_of_first_order_at_any_rate(rate: float, bench: Any) -> None:
    """The temperature would approach another value, or its time constant would depend on the rate."""
    thermal = Thermal(self_heating=12.0, warm_up_time=3.0, initial_heating=2.0, reference_temperature=290.0)
    coefficient, scale = np.array([1e-3, -2e-3, 3e-3]), np.array([1e-3, 2e-3, -1e-3])
    sensor = imu(
        {"temperature_bias": tuple(coefficient)},
        {"temperature_scale_error": tuple(scale)},
        rate_hz=rate,
        thermal=thermal,
    )
    bench.environment.temperature = 281.0
    readings = bench.readings(sensor, bench.bind(sensor), round(9 * rate) + 1)
    for k in (0, 1, round(3 * rate), round(9 * rate)):
        deviation = 281.0 + 12.0 + (2.0 - 12.0) * math.exp(-k / rate / 3.0) - 290.0
        assert_allclose(readings[k].angular_velocity[0], coefficient * deviation, rtol=1e-10)
        assert_allclose(readings[k].specific_force[0, 2], G * (1 + scale[2] * deviation), rtol=1e-12)


def test_the_air_is_that_of_the_altitude(bench: Any) -> None:
    """A climb of 3 km would not cool the IMU by 6.5 K/km, or a warm day would be left out."""
    sensor = imu({"temperature_bias": (1e-3, 0.0, 0.0)}, thermal=Thermal(reference_temperature=288.15))
    bench.environment = Environment()
    drifts = []
    for height in (0.0, 3000.0):
        state = bench.bind(sensor)
        state.position[:, 2] = height - bench.environment.origin.altitude
        drifts.append(bench.measure(sensor, state, 0.0).angular_velocity[0, 0])
    geopotential = 6356766.0 * 3000.0 / (6356766.0 + 3000.0)
    assert_allclose(drifts, [0.0, -6.5e-6 * geopotential], atol=1e-12)
    for kind in (UsStandardAtmosphere1976, OwnAtmosphere):
        bench.environment = Environment(atmosphere=kind(temperature_offset=11.85))
        height = bench.environment.origin.altitude
        expected = 11.85e-3 - 6.5e-6 * 6356766.0 * height / (6356766.0 + height)
        assert_allclose(first(bench, sensor, 0.0).angular_velocity[0, 0], expected, rtol=1e-9)


def test_drawn_errors_have_their_sigmas_and_last(bench: Any) -> None:
    """Errors of copies would be alike, change during a flight, or have another standard deviation."""
    count = 3000
    sensor = imu(
        {"scale_error_sigma": 0.01, "misalignment_sigma": 0.003, "g_sensitivity_sigma": 2e-4},
        {"scale_error_sigma": 0.02, "misalignment_sigma": 0.004},
    )
    bound = 5 / math.sqrt(2 * count)
    at_rest = first(bench, sensor, 0.0, count)
    assert np.all(np.abs(np.std(at_rest.angular_velocity, axis=0) / (2e-4 * G) - 1) < bound)
    for axis in range(3):
        spun = first(bench, sensor, np.eye(3)[axis], count)
        # The same seed draws the same sensors, so that the part by gravity can be taken off.
        column = spun.angular_velocity - at_rest.angular_velocity
        for row in range(3):
            errors = column[:, row] - (row == axis)
            assert abs(np.std(errors) / (0.01 if row == axis else 0.003) - 1) < bound
            assert abs(np.mean(errors)) < 5 * np.std(errors) / math.sqrt(count)
    force = at_rest.specific_force
    assert np.all(np.abs(np.std(force[:, :2], axis=0) / (0.004 * G) - 1) < bound)
    assert abs(np.std(force[:, 2]) / (0.02 * G) - 1) < bound
    correlation = np.corrcoef(np.column_stack([at_rest.angular_velocity, force]).T)
    assert np.all(np.abs(correlation - np.eye(6)) < 5 / math.sqrt(count))
    readings = bench.readings(sensor, bench.bind(sensor, count=3), 50)
    assert np.array_equal(readings[0].specific_force, readings[-1].specific_force)


def test_errors_leave_the_noise_alone(bench: Any) -> None:
    """Drawn errors would take random numbers of the noise, so that a comparison of both had other noise."""
    plain, erroneous = IMU(), IMU(gyroscope=Gyroscope(scale_error_sigma=0.1, misalignment_sigma=0.1))
    first, second = (bench.readings(sensor, bench.bind(sensor), 50) for sensor in (plain, erroneous))
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.angular_velocity, other.angular_velocity)
        assert np.array_equal(one.specific_force, other.specific_force)


def test_another_imu_with_errors_changes_no_bit() -> None:
    """An IMU without errors would be changed by one with errors in the same table."""

    def flown(others: dict[str, Sensor]) -> Any:
        with Simulation("flat", seed=5) as sim:
            iris = sim.add(Multirotor("iris", sensors={"imu": IMU(), **others}))
            sim.step(50)
            return iris.readings["imu"]

    erroneous = IMU(gyroscope=Gyroscope(temperature_bias_sigma=1e-3), vibration=Vibration(blade_passage=1e-6))
    alone, beside = flown({}), flown({"second": erroneous})
    assert np.array_equal(alone.angular_velocity, beside.angular_velocity)
    assert np.array_equal(alone.specific_force, beside.specific_force)


def test_blades_vibrate_at_their_number_times_the_frequency(bench: Any) -> None:
    """The line would be at the rotor's frequency or off its axis, or not grow with the speed squared."""
    axes = np.array([[0.0, 0.6, 0.8], [0.0, 0.0, 2.0]])
    cycles = np.array([70.0, 90.0])
    sensor = imu(rate_hz=1000.0, vibration=Vibration(blade_passage=2e-6))
    state = bench.bind(sensor, axis=axes)
    state.rotor_speed[:] = 2 * math.pi * cycles
    forces = np.array([r.specific_force[0] for r in bench.readings(sensor, state, 1000)]) - [0.0, 0.0, G]
    amplitude = 2 * np.abs(np.fft.rfft(forces, axis=0)) / len(forces)
    lines = np.flatnonzero(amplitude.max(axis=1) > 1e-6)
    # The bench's propellers have three blades.
    assert np.array_equal(lines, 3 * cycles.astype(int))
    expected = 2e-6 * (2 * math.pi * cycles[:, None]) ** 2 * np.array([[0.0, 0.6, 0.8], [0.0, 0.0, 1.0]])
    assert_allclose(amplitude[lines], expected, rtol=1e-6, atol=1e-9)


def test_the_blades_are_those_of_the_vehicle() -> None:
    """The IMU would assume two blades on any vehicle."""
    found = {}
    for blades in (2, 4):
        sensor = imu(vibration=Vibration(blade_passage=1e-6))
        vehicle = {"extends": "iris", "propeller": {"blade_count": blades}}
        with Simulation("flat") as sim:
            sim.add(Multirotor(vehicle, sensors={"imu": sensor}))
            found[blades] = sensor.parameters()["parameters"].blades
    assert found == {2: 2.0, 4: 4.0}


def test_a_yaml_file_gives_errors() -> None:
    """A field of the errors could not be given in a vehicle file."""
    spec = {
        "model": "imu",
        "gyroscope": {"misalignment": [list(row) for row in MISALIGNMENT], "g_sensitivity_sigma": 1e-4},
        "accelerometer": {"temperature_bias": [1e-3, 0.0, 0.0]},
        "thermal": {"self_heating": 5.0},
    }
    made = build(Sensor, SENSORS, copy.deepcopy(spec), field="sensors.imu")
    assert isinstance(made, IMU)
    assert made.gyroscope.misalignment == MISALIGNMENT
    assert made.thermal == Thermal(self_heating=5.0)
    assert made.accelerometer.warms
    assert not made.gyroscope.warms


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"gyroscope": {"scale_error": [0.0, -1.0, 0.0]}}, "gyroscope.scale_error"),
        ({"gyroscope": {"misalignment": [[0.1, 0, 0], [0, 0, 0], [0, 0, 0]]}}, "gyroscope.misalignment"),
        ({"accelerometer": {"misalignment_sigma": -0.1}}, "accelerometer.misalignment_sigma"),
        ({"accelerometer": {"temperature_bias": [0.0, math.nan, 0.0]}}, "accelerometer.temperature_bias"),
        ({"gyroscope": {"g_sensitivity_sigma": -1.0}}, "gyroscope.g_sensitivity_sigma"),
        ({"thermal": {"warm_up_time": 0.0}}, "thermal.warm_up_time"),
        ({"thermal": {"self_heating": -1.0}}, "thermal.self_heating"),
        ({"vibration": {"blade_passage": -1e-6}}, "vibration.blade_passage"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], field: str) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.imu\.{field}"):
        build(Sensor, SENSORS, {"model": "imu"} | parameters, field="sensors.imu")
