"""Tests of odometry: delayed truth in a drifting frame by closed forms, and error statistics."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.frames import (
    conjugate,
    matrix_from_quaternion,
    multiply,
    quaternion_from_euler,
    quaternion_from_rotation_vector,
    rotate,
    rotate_inverse,
    rotation_vector_from_quaternion,
)
from pegasus.contracts.state import VehicleState
from pegasus.recording.schemas import item_fields
from pegasus.sensors import SENSORS, Odometry, OdometryReading, Sensor

NO_NOISE: dict[str, Any] = {
    "position_noise_density": 0.0,
    "orientation_noise_density": 0.0,
    "velocity_noise_density": 0.0,
    "angular_velocity_noise_density": 0.0,
}
NO_DRIFT: dict[str, Any] = {"position_drift_sigma": (0.0, 0.0, 0.0), "yaw_drift_sigma": 0.0}
QUIET = NO_NOISE | NO_DRIFT


def scatter(state: VehicleState, seed: int = 3) -> None:
    """Set a random pose and motion for every vehicle."""
    rng = np.random.default_rng(seed)
    n = len(state.position)
    state.position[:], state.velocity[:], state.angular_velocity[:] = rng.normal(size=(3, n, 3)) * 5
    state.orientation[:] = quaternion_from_rotation_vector(rng.normal(size=(n, 3)))
    state.rotation[:] = matrix_from_quaternion(state.orientation)


def orientation_error(reading: Any, true: Any) -> Any:
    """Return the rotation vector in the world from the true to the measured orientation [rad]."""
    return rotation_vector_from_quaternion(multiply(reading.orientation, conjugate(true)))


def test_without_errors_it_is_the_truth(bench: Any) -> None:
    """A quantity would be in a wrong frame, or rounded where it has no error."""
    sensor = Odometry(**QUIET, latency=0.0)
    state = bench.bind(sensor, count=4)
    for t in (0.0, 1 / 30, 0.1):
        scatter(state, seed=round(t * 1000))
        reading = bench.measure(sensor, state, t)
        assert (reading.stamp, reading.valid_at) == (t, t)
        assert_allclose(reading.position, state.position, rtol=1e-14)
        for name in ("orientation", "velocity", "angular_velocity"):
            assert np.array_equal(getattr(reading, name), getattr(state, name))
        assert not np.any(reading.position_variance)
        assert not np.any(reading.orientation_variance)
        assert not np.any(reading.reset_count)


@pytest.mark.parametrize("latency", [0.0, 0.05, 0.1, 0.33])
def test_latency_is_exact(latency: float, bench: Any) -> None:
    """A pose would be older or newer than its latency: here thrown, and spun up about a slanted axis."""
    sensor = Odometry(**QUIET, rate_hz=20.0, latency=latency)
    state = bench.bind(sensor, count=2, rate=60.0)
    speed, pull = np.array([3.0, -4.0, 0.5]), np.array([0.5, 1.0, -9.8])
    start, axis = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 50.0]]), np.array([0.6, 0.0, 0.8])
    spin, spin_up = 1.0, 4.0
    for k in range(120):
        t = k / 60
        angle = spin * t + spin_up * t * t / 2
        state.position[:], state.velocity[:] = start + speed * t + pull * t * t / 2, speed + pull * t
        state.orientation[:] = quaternion_from_rotation_vector(axis * angle)
        state.angular_velocity[:] = axis * (spin + spin_up * t)
        reading = bench.step(sensor, state, t)
        if reading.stamp != t:
            assert k % 3
            continue
        then = max(t - latency, 0.0)
        assert reading.valid_at == pytest.approx(then, abs=1e-12)
        assert_allclose(reading.position, start + speed * then + pull * then**2 / 2, atol=1e-9)
        assert_allclose(reading.velocity, np.tile(speed + pull * then, (2, 1)), atol=1e-9)
        expected = quaternion_from_rotation_vector(axis * (spin * then + spin_up * then * then / 2))
        assert_allclose(orientation_error(reading, expected), 0.0, atol=1e-12)
        rate = axis * (spin + spin_up * then)
        assert_allclose(reading.angular_velocity, np.tile(rate, (2, 1)), atol=1e-9)


@pytest.mark.parametrize("rate", [5.0, 50.0])
def test_position_drift_is_stationary(
    rate: float, bench: Any, assert_gauss_markov: Callable[..., None]
) -> None:
    """Sigma or correlation time of the drift would depend on the rate, or axes would be exchanged."""
    sigmas = (0.1, 0.5, 2.0)
    drift = {"position_drift_sigma": sigmas, "yaw_drift_sigma": 0.0, "drift_correlation_time": 2.0}
    sensor = Odometry(**NO_NOISE, **drift, rate_hz=rate)
    error = bench.series(sensor, "position", seconds=6.5, count=1200) / np.array(sigmas)
    assert_gauss_markov(error, rate_hz=rate, sigma=1.0, correlation_time=2.0)
    assert np.all(np.abs(np.std(error[0], axis=0) - 1) < 5 / math.sqrt(2 * 1200))
    assert np.all(np.abs(np.corrcoef(error[0].T)[np.triu_indices(3, 1)]) < 5 / math.sqrt(1200))


@pytest.mark.parametrize("rate", [5.0, 50.0])
def test_yaw_drift_is_stationary(rate: float, bench: Any, assert_gauss_markov: Callable[..., None]) -> None:
    """Sigma or correlation time of the yaw error would depend on the rate, or roll and pitch drift too."""
    drift = {"position_drift_sigma": (0, 0, 0), "yaw_drift_sigma": 0.1, "drift_correlation_time": 2.0}
    sensor = Odometry(**NO_NOISE, **drift, rate_hz=rate)
    orientation = bench.series(sensor, "orientation", seconds=6.5, count=3000)
    error = rotation_vector_from_quaternion(orientation)
    assert not np.any(error[..., :2])
    assert_gauss_markov(error[..., 2], rate_hz=rate, sigma=0.1, correlation_time=2.0)


def test_all_errors_are_of_one_frame(bench: Any) -> None:
    """Position, velocity and heading would be inconsistent, and an autopilot's filter would reject them."""
    sensor = Odometry(**NO_NOISE, position_drift_sigma=(0.0, 0.0, 0.0), yaw_drift_sigma=0.3, latency=0.0)
    state = bench.bind(sensor, count=50)
    scatter(state)
    start = state.position.copy()
    first = bench.measure(sensor, state, 0.0)
    assert_allclose(first.position, start, rtol=1e-14)
    scatter(state, seed=4)
    reading = bench.measure(sensor, state, 1 / 30)
    error = orientation_error(reading, state.orientation)
    assert_allclose(error[:, :2], 0.0, atol=1e-15)
    assert np.std(error[:, 2]) > 0.2
    turn = matrix_from_quaternion(quaternion_from_euler(0.0, 0.0, error[:, 2]))
    assert_allclose(reading.position, start + rotate(turn, state.position - start), atol=1e-12)
    assert_allclose(reading.velocity, rotate(turn, state.velocity), atol=1e-12)
    # Quantities that do not depend on the frame are exact.
    seen = rotate_inverse(matrix_from_quaternion(reading.orientation), reading.velocity)
    assert_allclose(seen, rotate_inverse(state.rotation, state.velocity), atol=1e-12)
    assert np.array_equal(reading.angular_velocity, state.angular_velocity)


@pytest.mark.parametrize("rate", [10.0, 40.0])
def test_white_noise_has_its_density_on_every_vector(
    rate: float, bench: Any, assert_white: Callable[..., None]
) -> None:
    """The noise density would depend on the rate, or a quantity would have that of another."""
    densities = {
        "position_noise_density": 0.05,
        "orientation_noise_density": 0.004,
        "velocity_noise_density": 0.3,
        "angular_velocity_noise_density": 0.02,
    }
    sensor = Odometry(**densities, **NO_DRIFT, rate_hz=rate)
    state = bench.bind(sensor, count=60)
    readings = bench.readings(sensor, state, round(20 * rate))
    for name in ("position", "velocity", "angular_velocity"):
        noise = np.array([getattr(reading, name) for reading in readings])
        assert_white(noise, rate_hz=rate, density=densities[f"{name}_noise_density"])
    noise = np.array([orientation_error(reading, state.orientation) for reading in readings])
    assert_white(noise, rate_hz=rate, density=0.004)


def test_orientation_noise_is_about_the_axes_of_the_world(bench: Any) -> None:
    """The variance would be about other axes than the noise: here on its side, with large yaw drift."""
    n = 5000
    drift = {"position_drift_sigma": (0, 0, 0), "yaw_drift_sigma": 0.05}
    sensor = Odometry(**NO_NOISE | {"orientation_noise_density": 0.001, "rate_hz": 100.0}, **drift)
    state = bench.bind(sensor, count=n)
    state.orientation[:] = quaternion_from_euler(math.pi / 2, 0.0, 0.4)
    reading = bench.measure(sensor, state, 0.0)
    assert_allclose(np.linalg.norm(reading.orientation, axis=1), 1.0, rtol=1e-14)
    error = orientation_error(reading, state.orientation)
    assert_allclose(reading.orientation_variance, np.tile([1e-4, 1e-4, 1e-4 + 25e-4], (n, 1)), rtol=1e-12)
    share = np.mean(error**2 / reading.orientation_variance, axis=0)
    assert np.all(np.abs(share - 1) < 5 * math.sqrt(2 / n))


def test_position_variance_is_that_of_the_errors(bench: Any) -> None:
    """The stated variance would be too small, above all far from the start."""
    n = 5000
    sensor = Odometry(
        position_drift_sigma=(0.1, 0.2, 0.3),
        yaw_drift_sigma=0.01,
        position_noise_density=0.05,
        rate_hz=20.0,
        latency=0.0,
    )
    state = bench.bind(sensor, count=n)
    state.position[:] = (7.0, 8.0, 9.0)
    bench.measure(sensor, state, 0.0)
    state.position[:] = (7.0 + 30.0, 8.0 - 60.0, 50.0)
    reading = bench.measure(sensor, state, 0.05)
    noise = 0.05**2 * 20
    expected = [0.01 + noise + 0.6**2, 0.04 + noise + 0.3**2, 0.09 + noise]
    assert_allclose(reading.position_variance, np.tile(expected, (n, 1)), rtol=1e-12)
    share = np.mean((reading.position - state.position) ** 2 / reading.position_variance, axis=0)
    # The sine of the yaw error is short of its angle by a share of 1e-4 / 6.
    assert np.all(np.abs(share - 1) < 5 * math.sqrt(2 / n))


def test_resets_come_at_their_interval_and_draw_the_drift_anew(bench: Any) -> None:
    """A filter would not get notice of a jump, or get a notice without a jump."""
    sensor = Odometry(**NO_NOISE, rate_hz=30.0, reset_interval=0.5, drift_correlation_time=1e4)
    n = 2000
    readings = bench.readings(sensor, bench.bind(sensor, count=n), 50)
    counts = np.array([reading.reset_count for reading in readings])
    assert counts.shape == (50, n)
    assert np.array_equal(counts, np.tile(np.arange(50)[:, None] // 15, (1, n)))
    drift = np.array([reading.position for reading in readings])
    jumps = np.std(np.diff(drift, axis=0), axis=(1, 2))
    jumped = np.diff(counts[:, 0]) > 0
    # Independent drifts differ by sqrt(2) sigma, successive ones by sqrt(2 dt / tau) sigma.
    assert_allclose(jumps[jumped], math.sqrt(2) * 0.1, rtol=5 / math.sqrt(2 * 3 * n))
    assert_allclose(jumps[~jumped], math.sqrt(2 / 30 / 1e4) * 0.1, rtol=5 / math.sqrt(2 * 3 * n))


def test_it_is_not_reset_by_default(bench: Any) -> None:
    """The default odometry would jump."""
    sensor = Odometry(rate_hz=1.0)
    counts = [reading.reset_count[0] for reading in bench.readings(sensor, bench.bind(sensor), 2000)]
    assert not any(counts)


def test_reading_is_not_touched_by_later_steps(bench: Any) -> None:
    """A reading would change at later steps, or when another one is written to."""
    sensor = Odometry(**QUIET, latency=0.0)
    state = bench.bind(sensor)
    first = bench.measure(sensor, state, 0.0)
    first.orientation_variance[:] = 7.0
    state.position += 1000.0
    state.velocity += 10.0
    second = bench.measure(sensor, state, 1 / 30)
    assert not np.any(first.position)
    assert not np.any(first.velocity)
    assert not np.any(second.orientation_variance)


def test_it_follows_a_real_flight() -> None:
    """In a simulation, the pose would not be that of `latency` ago, or a reading could not be recorded."""
    truth: dict[float, Any] = {}
    with Simulation("flat", seed=1) as sim:
        sensors = {"odometry": Odometry(**QUIET, rate_hz=50.0, latency=0.1)}
        iris = sim.add(Multirotor("iris", count=2, spacing=5.0, position=(0, 0, 8), sensors=sensors))
        iris.place(iris.start.position, velocity=(2.0, 0.0, 3.0), angular_velocity=(0.5, -1.0, 2.0))
        for _ in range(200):
            t, state = round(sim.time, 9), iris.state.copy()
            truth[t] = state
            sim.step()
            reading = iris.new_readings.get("odometry")
            if isinstance(reading, OdometryReading) and t > 0.15:
                then = truth[round(reading.valid_at, 9)]
                assert reading.valid_at == pytest.approx(t - 0.1, abs=1e-9)
                assert_allclose(reading.position, then.position, atol=1e-4)
                assert_allclose(orientation_error(reading, then.orientation), 0.0, atol=1e-4)
        names = tuple(vars(iris.readings["odometry"]))
        assert {field.name for field in item_fields(iris.readings["odometry"], names)} == set(names)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_hz", 0.0),
        ("latency", -0.1),
        ("position_drift_sigma", (0.1, -0.1, 0.1)),
        ("yaw_drift_sigma", -0.1),
        ("drift_correlation_time", 0.0),
        ("reset_interval", 0.0),
        ("position_noise_density", -1.0),
        ("angular_velocity_noise_density", -1.0),
    ],
)
def test_bad_parameters_are_named(field: str, value: Any) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.mocap\.{field} = .*must"):
        build(Sensor, SENSORS, {"model": "odometry", field: value}, field="sensors.mocap")


def test_frame_pose_is_what_estimates_are_given_in():
    """Estimates would be displayed away from their vehicle by more than their noise."""
    drift = {"position_drift_sigma": (2.0, 3.0, 4.0), "yaw_drift_sigma": 1.5}
    sensor = Odometry(rate_hz=50.0, latency=0.0, **(NO_NOISE | drift))
    with Simulation("flat") as sim:
        pair = sim.add(Multirotor("iris", count=2, position=(9, 5, 0.1), extra_sensors={"vio": sensor}))
        assert sensor.frame_pose()[0].tolist() == [[0.0, 0.0, 0.0]] * 2
        # An estimate is taken at the first of these steps.
        sim.step(51)
        origin, orientation = sensor.frame_pose()
        reading = pair.readings["vio"]
    state = pair.state
    at = rotate(matrix_from_quaternion(orientation), reading.position) + origin
    assert_allclose(at, state.position, atol=1e-2)
    assert_allclose(
        np.abs((multiply(orientation, reading.orientation) * state.orientation).sum(1)), 1, atol=1e-4
    )
    assert np.linalg.norm(reading.position - at, axis=1).min() > 0.1
