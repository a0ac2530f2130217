"""Magnetometer: the field in the body frame, iron exactly, noise by its statistics."""

import math
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.components import build
from pegasus.environment import Environment
from pegasus.errors import ConfigError
from pegasus.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.sensors import Magnetometer, Sensor
from pegasus.sensors.magnetometer import measured_field
from pegasus.sensors.registry import SENSORS

FIELD = np.array([-1e-6, 25e-6, -36e-6])
QUIET: dict[str, Any] = {"noise_density": 0.0, "bias_random_walk": 0.0, "turn_on_bias": 0.0}


def test_level_and_facing_east_it_reads_the_field_itself(bench: Any) -> None:
    """Body FLU facing east is world ENU: any difference is a frame error or a unit error."""
    sensor = Magnetometer(**QUIET)
    reading = sensor.measure(bench.bind(sensor, count=2), 0.5)
    assert reading.stamp == 0.5
    assert np.array_equal(reading.magnetic_field, [FIELD, FIELD])


def test_facing_north_the_north_component_is_ahead(bench: Any) -> None:
    """The rotation would go the wrong way, and a heading come out mirrored."""
    sensor = Magnetometer(**QUIET)
    state = bench.bind(sensor)
    state.rotation[:] = matrix_from_quaternion(quaternion_from_euler(0.0, 0.0, math.pi / 2))
    # Facing north, ahead is north and left is west.
    assert_allclose(sensor.measure(state, 0.0).magnetic_field, [[FIELD[1], -FIELD[0], FIELD[2]]], atol=1e-20)


def test_attitude_keeps_the_magnitude(bench: Any) -> None:
    """The rotation would stretch."""
    sensor = Magnetometer(**QUIET)
    state = bench.bind(sensor, count=200)
    state.rotation[:] = matrix_from_quaternion(
        quaternion_from_euler(*np.random.default_rng(0).uniform(-3, 3, (3, 200)))
    )
    field = sensor.measure(state, 0.0).magnetic_field
    assert_allclose(np.linalg.norm(field, axis=-1), np.linalg.norm(FIELD), rtol=1e-14)


def test_it_reads_tesla_of_the_real_field(bench: Any) -> None:
    """Gauss or nanotesla would come out: the field is 20 to 70 microtesla everywhere on Earth."""
    bench.environment = Environment()
    sensor = Magnetometer(**QUIET)
    field = sensor.measure(bench.bind(sensor), 0.0).magnetic_field[0]
    assert 20e-6 < np.linalg.norm(field) < 70e-6
    assert field[1] > abs(field[0])  # towards north, in Europe
    assert field[2] < 0  # and down into the northern hemisphere


def test_iron_distorts_exactly(bench: Any) -> None:
    """Soft iron acts on the field in the body frame, row by row; hard iron is added and turns with it."""
    soft = ((1.1, 0.02, 0.0), (-0.03, 0.9, 0.05), (0.01, 0.0, 1.2))
    hard = (3e-6, -4e-6, 5e-6)
    sensor = Magnetometer(**QUIET, soft_iron=soft, hard_iron=hard)
    state = bench.bind(sensor, count=2)
    state.rotation[1] = matrix_from_quaternion(quaternion_from_euler(0.3, -0.2, 1.0))
    field = sensor.measure(state, 0.0).magnetic_field
    for n in range(2):
        expected = np.array(soft) @ (state.rotation[n].T @ FIELD) + hard
        assert_allclose(field[n], expected, rtol=1e-13)


def test_formula_follows_the_array_api() -> None:
    """The formula would be bound to NumPy."""
    rng = np.random.default_rng(2)
    field, rotation, soft, hard = (rng.normal(size=s) for s in ((4, 3), (4, 3, 3), (3, 3), (3,)))
    x = array_api_strict.asarray
    strict = measured_field(x(field), rotation=x(rotation), soft_iron=x(soft), hard_iron=x(hard))
    plain = measured_field(field, rotation=rotation, soft_iron=soft, hard_iron=hard)
    assert_allclose(np.asarray(strict), plain, rtol=1e-12)


@pytest.mark.parametrize("rate", [20.0, 50.0])
def test_white_noise_has_its_density_on_every_axis(
    rate: float, bench: Any, assert_white: Callable[..., None]
) -> None:
    """Noise would change with the rate, or gauss be taken for tesla: 0.4 mG/sqrt(Hz) is 4e-8 T/sqrt(Hz)."""
    sensor = Magnetometer(rate_hz=rate, bias_random_walk=0.0)
    noise = bench.series(sensor, "magnetic_field", seconds=20.0, count=100) - FIELD
    assert_white(noise, rate_hz=rate, density=4e-8)


@pytest.mark.parametrize("rate", [5.0, 50.0])
def test_bias_is_stationary(rate: float, bench: Any, assert_gauss_markov: Callable[..., None]) -> None:
    """Sigma or correlation time of the bias would depend on the rate."""
    walk, tau = 1e-7, 2.0
    sensor = Magnetometer(rate_hz=rate, noise_density=0.0, bias_random_walk=walk, bias_correlation_time=tau)
    bias = bench.series(sensor, "magnetic_field", seconds=6.5, count=1500) - FIELD
    assert_gauss_markov(bias, rate_hz=rate, sigma=walk * math.sqrt(tau / 2), correlation_time=tau)


def test_default_bias_is_that_of_pegasus(bench: Any) -> None:
    """6.4e-6 gauss a root second over 600 s would be converted wrongly to tesla."""
    bias = bench.series(Magnetometer(noise_density=0.0), "magnetic_field", seconds=0.0, count=3000) - FIELD
    expected = 6.4e-6 * 1e-4 * math.sqrt(600 / 2)
    assert abs(np.std(bias) / expected - 1) < 5 / math.sqrt(2 * 9000)


def test_turn_on_bias_of_many_vehicles(bench: Any) -> None:
    """The turn-on bias would be shared, or wander."""
    sensor = Magnetometer(**QUIET | {"turn_on_bias": 2e-6})
    offset = bench.series(sensor, "magnetic_field", seconds=1.0, count=2000) - FIELD
    assert np.array_equal(offset[0], offset[-1])
    assert np.all(np.abs(np.std(offset[0], axis=0) / 2e-6 - 1) < 5 / math.sqrt(2 * 2000))


def test_same_stream_same_bits_after_every_bind(
    bench: Any, same_readings: Callable[[Any, Any], bool]
) -> None:
    """A reset would not start anew, or a seed would not fix a run."""
    sensor = Magnetometer(turn_on_bias=1e-6)
    runs = [bench.readings(sensor, bench.bind(sensor, count=2, seed=seed), 300) for seed in (1, 1, 2)]
    assert all(map(same_readings, runs[0], runs[1]))
    assert not any(map(same_readings, runs[0], runs[2]))


def test_yaml_gives_iron_as_lists() -> None:
    """Nested lists of a YAML file would not become what the sensor computes with."""
    rows = [[1, 0, 0.1], [0, 1, 0], [0, 0, 1]]
    spec = {"model": "magnetometer", "soft_iron": rows, "hard_iron": [1e-6, 0, 0]}
    sensor = build(Sensor, SENSORS, spec, field="sensors.magnetometer")
    assert isinstance(sensor, Magnetometer)
    assert sensor.soft_iron == tuple(map(tuple, rows))
    assert sensor.hard_iron == (1e-6, 0.0, 0.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_hz", 0.0),
        ("noise_density", -1.0),
        ("bias_correlation_time", -600.0),
        ("hard_iron", (float("inf"), 0.0, 0.0)),
        ("soft_iron", ((1.0, 0.0, 0.0), (0.0, float("nan"), 0.0), (0.0, 0.0, 1.0))),
    ],
)
def test_bad_parameters_are_named(field: str, value: Any) -> None:
    """A parameter that makes no sense would be taken, or the message would not say which."""
    with pytest.raises(ConfigError, match=rf"^{field} = .*must"):
        Magnetometer(**{field: value})
