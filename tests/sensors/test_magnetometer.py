"""Tests of magnetometers: the field in the body frame, hard and soft iron, and noise statistics."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.environment import Environment
from pegasus.sensors import SENSORS, Magnetometer, Sensor

FIELD = np.array([-1e-6, 25e-6, -36e-6])
QUIET: dict[str, Any] = {"noise_density": 0.0, "bias_random_walk": 0.0, "turn_on_bias": 0.0}


def test_level_and_facing_east_it_reads_the_field_itself(bench: Any) -> None:
    """A frame or unit error would show: body FLU facing east is world ENU."""
    sensor = Magnetometer(**QUIET)
    reading = bench.measure(sensor, bench.bind(sensor, count=2), 0.5)
    assert reading.stamp == 0.5
    assert np.array_equal(reading.magnetic_field, [FIELD, FIELD])


def test_facing_north_the_north_component_is_ahead(bench: Any) -> None:
    """The rotation would be inverted, and the heading mirrored."""
    sensor = Magnetometer(**QUIET)
    state = bench.bind(sensor)
    state.orientation[:] = quaternion_from_euler(0.0, 0.0, math.pi / 2)
    # Facing north, ahead is north and left is west.
    assert_allclose(
        bench.measure(sensor, state, 0.0).magnetic_field, [[FIELD[1], -FIELD[0], FIELD[2]]], atol=1e-20
    )


def test_attitude_keeps_the_magnitude(bench: Any) -> None:
    """The rotation would change the magnitude of the field."""
    sensor = Magnetometer(**QUIET)
    state = bench.bind(sensor, count=200)
    state.orientation[:] = quaternion_from_euler(*np.random.default_rng(0).uniform(-3, 3, (3, 200)))
    field = bench.measure(sensor, state, 0.0).magnetic_field
    assert_allclose(np.linalg.norm(field, axis=-1), np.linalg.norm(FIELD), rtol=1e-14)


def test_it_reads_tesla_of_the_real_field(bench: Any) -> None:
    """The unit would be gauss or nanotesla: the Earth's field is 20 to 70 microtesla."""
    bench.environment = Environment()
    sensor = Magnetometer(**QUIET)
    field = bench.measure(sensor, bench.bind(sensor), 0.0).magnetic_field[0]
    assert 20e-6 < np.linalg.norm(field) < 70e-6
    assert field[1] > abs(field[0])  # towards north, in Europe
    assert field[2] < 0  # and down into the northern hemisphere


def test_far_away_it_reads_the_field_of_its_place(bench: Any) -> None:
    """The field of another grid cell would be used, or a reading be repeated."""
    bench.environment = Environment()
    sensor = Magnetometer(**QUIET)
    state = bench.bind(sensor, count=4)
    rng = np.random.default_rng(6)
    for k in range(12):
        # Some cross into another cell of 2 km at every reading, others at none.
        state.position[:] = rng.uniform(-1.0, 1.0, (4, 3)) * [[900.0], [3e3], [2e4], [1e5]]
        state.position[:, 2] /= 10
        reading = bench.measure(sensor, state, k / 50)
        assert np.array_equal(reading.magnetic_field, bench.environment.magnetic_field_at(state.position))
        assert np.array_equal(sensor.rows["count"], np.full(4, k + 1))


def test_iron_distorts_exactly(bench: Any) -> None:
    """Soft iron would not act on the field in the body frame, or hard iron not rotate with the body."""
    soft = ((1.1, 0.02, 0.0), (-0.03, 0.9, 0.05), (0.01, 0.0, 1.2))
    hard = (3e-6, -4e-6, 5e-6)
    sensor = Magnetometer(**QUIET, soft_iron=soft, hard_iron=hard)
    state = bench.bind(sensor, count=2)
    state.orientation[1] = quaternion_from_euler(0.3, -0.2, 1.0)
    rotation = matrix_from_quaternion(state.orientation)
    field = bench.measure(sensor, state, 0.0).magnetic_field
    for n in range(2):
        expected = np.array(soft) @ (rotation[n].T @ FIELD) + hard
        assert_allclose(field[n], expected, rtol=1e-13)


@pytest.mark.parametrize("rate", [20.0, 50.0])
def test_white_noise_has_its_density_on_every_axis(
    rate: float, bench: Any, assert_white: Callable[..., None]
) -> None:
    """The density would depend on the rate, or units be mixed up: 0.4 mG/sqrt(Hz) is 4e-8 T/sqrt(Hz)."""
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
    """Vehicles would share their turn-on bias, or it would change during a run."""
    sensor = Magnetometer(**QUIET | {"turn_on_bias": 2e-6})
    offset = bench.series(sensor, "magnetic_field", seconds=1.0, count=2000) - FIELD
    assert np.array_equal(offset[0], offset[-1])
    assert np.all(np.abs(np.std(offset[0], axis=0) / 2e-6 - 1) < 5 / math.sqrt(2 * 2000))


def test_yaml_gives_iron_as_lists() -> None:
    """Nested lists in a YAML file would not be converted to matrices and vectors."""
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
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"^{field} = .*must"):
        Magnetometer(**{field: value})
