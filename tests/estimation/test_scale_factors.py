"""Tests of errors of scale of the IMU as states of the filter."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from pegasus import ConfigError, Multirotor
from pegasus.base.step_math import Quat, Vec3
from pegasus.control import GeometricController, trajectories
from pegasus.estimation import EKF, Consistency, chi_square_bounds
from pegasus.estimation.covariance import predict_covariance
from pegasus.estimation.filter_step import estimate_state
from pegasus.estimation.strapdown import navigate

ASKEW = tuple(Rotation.from_rotvec([0.5, -0.9, 1.3]).as_quat().tolist())


def sensors_of(sigma, **parameters):
    """Return the sensors of an Iris whose IMU has errors of scale of a standard deviation."""
    sensors = dict(Multirotor("iris").sensors)
    imu = sensors["imu"]
    sensors["imu"] = replace(
        imu,
        gyroscope=replace(imu.gyroscope, scale_error_sigma=sigma),
        accelerometer=replace(imu.accelerometer, scale_error_sigma=sigma),
        **parameters,
    )
    return sensors


def turning_flight(height=12.0):
    """Return a controller that flies figures of eight with the nose ahead, so that all scales matter."""
    return GeometricController(trajectories.lemniscate(radius=3.0, height=height, laps=50, yaw="forward"))


def true_scales(vehicle):
    """Return the errors of scale of gyroscope and accelerometer, shape (N, 6)."""
    calibration = vehicle.sensors["imu"].rows["calibration"]
    return np.stack([calibration[:, k + m, m] - 1.0 for k in (0, 3) for m in range(3)], axis=1)


@pytest.fixture
def scaled(flight):
    """Return the filter of one vehicle in flight, with an IMU that is mounted askew and errs by 1 %."""
    simulation, vehicle = flight(
        sensors=sensors_of(0.01, orientation=ASKEW),
        estimator=EKF(scale_factors=True, start="known"),
        backends=[turning_flight()],
    )
    simulation.run(8.0)
    return vehicle.estimator


def state_of(given):
    columns = given.columns
    return [columns[name][0].copy() for name in ("q", "v", "r")]


def test_covariance_goes_on_as_the_state_does(scaled):
    """A gradient by the scales would be missing, or have the wrong sign or axes: finite differences."""
    columns, first, size = scaled.columns, scaled.parameters.scale, scaled.parameters.size
    slot = columns["oldest"][0]
    columns["rate"][0, slot], columns["force"][0, slot] = [1.5, -2.0, 0.7], [2.0, -3.0, 11.0]
    before = {name: column.copy() for name, column in columns.items()}

    def advanced(change):
        for name, column in before.items():
            columns[name][...] = column
        columns["error"][0, first : first + 6] += change
        navigate(0, scaled.rows.python)
        return state_of(scaled)

    by_scale = np.zeros((9, 6))
    for k in range(6):
        step = 1e-4 * np.eye(6)[k]
        (q, v, r), (other, w, s) = advanced(step), advanced(-step)
        turn = (Rotation.from_quat(q) * Rotation.from_quat(other).inv()).as_rotvec()
        by_scale[:, k] = np.concatenate([turn, v - w, r - s]) / 2e-4
    for name, column in before.items():
        columns[name][...] = column
    # With a covariance of 1 of the scales alone, those with them are the gradients.
    columns["covariance"][0] = 0.0
    covariance = columns["covariance"][0].reshape(size, size)
    covariance[range(first, first + 6), range(first, first + 6)] = 1.0
    columns["error"][0, first : first + 6] = before["error"][0, first : first + 6]
    navigate(0, scaled.rows.python)
    found = columns["covariance"][0].reshape(size, size)[:9, first : first + 6]
    for part in (slice(0, 3), slice(3, 6), slice(6, 9)):
        np.testing.assert_allclose(found[part], by_scale[part], atol=1e-4 * np.abs(by_scale[part]).max())
    assert np.abs(by_scale[:3, :3]).max() > 1e-3
    assert np.abs(by_scale[3:6, 3:]).max() > 1e-2


def test_scales_are_along_the_axes_of_the_imu(scaled):
    """The scales would be along the axes of the body, and not of the IMU."""
    columns, first, size, dt = scaled.columns, scaled.parameters.scale, scaled.parameters.size, 0.004
    turn, mounting = Rotation.from_rotvec([0.3, -0.5, 1.2]), Rotation.from_quat(ASKEW)
    rate, force = np.array([0.5, -0.4, 2.0]), np.array([1.0, -2.0, 9.0])
    columns["covariance"][0] = 0.0
    covariance = columns["covariance"][0].reshape(size, size)
    covariance[range(first, first + 6), range(first, first + 6)] = 1.0
    predict_covariance(0, scaled.rows.python, Quat(*turn.as_quat()), Vec3(*rate), Vec3(*force), dt)
    found = columns["covariance"][0].reshape(size, size)
    gains = 1.0 / (1.0 + columns["error"][0, first : first + 6])
    axes = (turn * mounting).as_matrix()
    by_rate = -axes @ np.diag(gains[:3] * mounting.inv().apply(rate)) * dt
    by_force = -axes @ np.diag(gains[3:] * mounting.inv().apply(force)) * dt
    np.testing.assert_allclose(found[0:3, first : first + 3], by_rate, atol=1e-12)
    np.testing.assert_allclose(found[3:6, first + 3 : first + 6], by_force, atol=1e-12)


def test_errors_of_100_copies_are_within_their_bounds(flight):
    """The covariance of the scales would be too small or too large."""
    sigma = 0.005
    simulation, vehicle = flight(
        count=100,
        seed=4,
        sensors=sensors_of(sigma, orientation=ASKEW),
        estimator=EKF(scale_factors=True),
        backends=[turning_flight()],
    )
    consistency = Consistency(vehicle, start=18.0)
    simulation.add_observer(consistency)
    simulation.run(32.0)
    (_, mean, bounds), *innovations = consistency.report()
    assert bounds == chi_square_bounds(21, 100)
    assert bounds.low < mean < bounds.high
    assert 0.03 < np.mean(consistency.nees > chi2.ppf(0.95, 21)) < 0.08
    for name, found, limits in innovations:
        assert limits.low < found < limits.high, name
    first, size = vehicle.estimator.parameters.scale, vehicle.estimator.parameters.size
    estimated = vehicle.estimator.columns["error"][:, first : first + 6]
    error = true_scales(vehicle) - estimated
    covariance = vehicle.estimator.columns["covariance"].reshape(100, size, size)
    variance = covariance[:, range(first, first + 6), range(first, first + 6)]
    assert np.sqrt(variance.min(axis=1)).mean() < 0.25 * sigma
    low, high = chi_square_bounds(1, 100)
    normalized = (error * error / variance).mean(axis=0)
    assert ((low < normalized) & (normalized < high)).sum() >= 5
    estimate = vehicle.estimate
    np.testing.assert_array_equal(np.hstack([estimate.rate_scale, estimate.force_scale]), estimated)


def test_without_the_states_the_filter_is_wrong(flight):
    """The test of the bounds would pass for any filter."""
    for on, duration in ((False, 22.0), (True, 30.0)):
        simulation, vehicle = flight(
            count=20,
            seed=4,
            sensors=sensors_of(0.01),
            estimator=EKF(scale_factors=on),
            backends=[turning_flight()],
        )
        consistency = Consistency(vehicle, start=18.0)
        simulation.add_observer(consistency)
        simulation.run(duration)
        assert (consistency.nees.mean() < 40.0) == on
        assert np.isnan(vehicle.estimate.rate_scale).all() != on
    # The heading shows that of the gyroscope's vertical axis in turns.
    error = true_scales(vehicle)[:, 2] - vehicle.estimate.rate_scale[:, 2]
    assert np.sqrt((error * error).mean()) < 0.15 * 0.01


def test_plain_python_gives_the_bits_of_the_compiled_step(scaled):
    """A filter debugged in Python would be another one than that which flies."""
    before = {name: column.copy() for name, column in scaled.columns.items()}
    for _ in range(60):
        scaled._launch()
    after = {name: column.copy() for name, column in scaled.columns.items()}
    for name, column in before.items():
        scaled.columns[name][...] = column
    for _ in range(60):
        estimate_state(0, scaled.rows.python)
    for name, column in scaled.columns.items():
        np.testing.assert_array_equal(column, after[name], err_msg=name)


def test_an_imu_without_errors_of_scale_is_refused(flight):
    """States whose variance is 0 would be estimated."""
    with pytest.raises(ConfigError) as caught:
        flight(estimator=EKF(scale_factors=True))
    assert str(caught.value) == (
        "estimator.scale_factors = True: the gyroscope of sensor 'imu' has no error of scale; "
        "give it one, such as gyroscope: {scale_error_sigma: 0.005}"
    )
