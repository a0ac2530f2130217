"""Tests of the filter's step functions against dense matrices, integrated errors and plain Python."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from pegasus.base.step_math import Quat, Vec3
from pegasus.estimation.covariance import Gradient, observe, predict_covariance
from pegasus.estimation.filter_rows import FIX, FilterRows
from pegasus.estimation.filter_step import estimate_state, level


@pytest.fixture
def rows(flight):
    """Return the rows of a filter that has run, for plain Python, with a random covariance."""
    simulation, vehicle = flight()
    simulation.step(200)
    given = vehicle.estimator
    size = given.parameters.size
    mixed = np.random.default_rng(5).normal(size=(size, size)) * np.geomspace(1e-3, 1.0, size)[:, None]
    given.columns["covariance"][0] = (mixed @ mixed.T).ravel()
    return given


def covariance_of(given):
    size = given.parameters.size
    return given.columns["covariance"][0].reshape(size, size).copy()


def test_covariance_is_that_of_integrated_errors(rows):
    """A term of the error dynamics would be missing or have the wrong sign."""
    before, size, dt = covariance_of(rows), rows.parameters.size, 0.004
    turn, force = Rotation.from_rotvec([0.3, -0.5, 1.2]), np.array([1.0, -2.0, 9.0])
    push = turn.apply(force)

    def rates(_, flat):
        error = flat.reshape(size, size)
        derivative = np.zeros_like(error)
        derivative[0:3] = -turn.as_matrix() @ error[9:12]
        derivative[3:6] = np.cross(error[0:3].T, push).T - turn.as_matrix() @ error[12:15]
        derivative[6:9] = error[3:6]
        return derivative.ravel()

    transition = solve_ivp(rates, (0, dt), np.eye(size).ravel(), method="DOP853", rtol=1e-12, atol=1e-15)
    transition = transition.y[:, -1].reshape(size, size)
    p = rows.parameters
    input_noise = np.zeros((size, 6))
    input_noise[0:3, 0:3] = input_noise[3:6, 3:6] = np.eye(3) * dt
    input_noise[6:9, 3:6] = np.eye(3) * dt * dt / 2
    noise = input_noise @ np.diag([p.rate_variance] * 3 + [p.force_variance] * 3) @ input_noise.T
    noise[9:12, 9:12] += np.eye(3) * p.rate_drive
    noise[12:15, 12:15] += np.eye(3) * p.force_drive
    predict_covariance(0, rows.rows.python, Quat(*turn.as_quat()), Vec3(0.2, -0.1, 0.4), Vec3(*force), dt)
    after = covariance_of(rows)
    wanted = transition @ before @ transition.T + noise
    np.testing.assert_allclose(after, wanted, atol=2e-8 * np.abs(wanted).max())
    np.testing.assert_allclose(after - before, wanted - before, atol=1e-4 * np.abs(wanted - before).max())


def test_update_is_that_of_dense_matrices(rows):
    """The state or its covariance would be corrected by something else than the Kalman gain."""
    before, size = covariance_of(rows), rows.parameters.size
    h = np.zeros(size)
    h[0:3], h[3:6], h[6:9], h[17], h[20] = [0.1, 0.2, -0.3], [1.0, 0.0, 0.5], [0.0, 2.0, 1.0], 1.0, -0.7
    slopes = [Vec3(*h[k : k + 3]) for k in (0, 3, 6)]
    position, bias = rows.columns["r"][0].copy(), rows.columns["force_bias"][0].copy()
    q, error = Rotation.from_quat(rows.columns["q"][0]), rows.columns["error"][0].copy()
    square = observe(0, rows.rows.python, FIX, 0.02, Gradient(*slopes, 17, 1.0, 20, -0.7, -1), 0.04, 1e300)
    expected = h @ before @ h + 0.04
    gain = before @ h / expected
    assert square == pytest.approx(0.02**2 / expected)
    wanted = (np.eye(size) - np.outer(gain, h)) @ before
    np.testing.assert_allclose(covariance_of(rows), wanted, atol=1e-12 * np.abs(before).max())
    np.testing.assert_array_equal(covariance_of(rows), covariance_of(rows).T)
    np.testing.assert_allclose(rows.columns["r"][0] - position, gain[6:9] * 0.02)
    np.testing.assert_allclose(rows.columns["force_bias"][0] - bias, gain[12:15] * 0.02)
    np.testing.assert_allclose(rows.columns["error"][0, 15:] - error[15:], gain[15:] * 0.02)
    turned = Rotation.from_quat(rows.columns["q"][0]) * q.inv()
    np.testing.assert_allclose(turned.as_rotvec(), gain[:3] * 0.02, atol=1e-12)


@pytest.mark.parametrize("innovation", [1e3, np.nan])
def test_nothing_is_corrected_beyond_the_gate(rows, innovation):
    """An outlier, or a sensor that gives no number, would spoil the state."""
    before = {name: column.copy() for name, column in rows.columns.items()}
    zero = Vec3(0.0, 0.0, 0.0)
    h = Gradient(zero, zero, Vec3(0.0, 0.0, 1.0), -1, 0.0, -1, 0.0, -1)
    observe(0, rows.rows.python, FIX, innovation, h, 0.04, 25.0)
    for name in ("covariance", "q", "r", "v", "error", "used_count"):
        np.testing.assert_array_equal(rows.columns[name], before[name])
    assert rows.columns["rejected_count"][0, FIX] == before["rejected_count"][0, FIX] + 1


@pytest.mark.parametrize("angles", [(0.1, -0.2, 0.3), (3.0, 0.1, -2.0), (0.2, 1.5, 3.1), (-2.0, 0.4, 0.0)])
def test_level_and_heading_are_found(angles):
    """A vehicle on a slope, or one that faces away from north, would start with a wrong attitude."""
    true = Rotation.from_euler("xyz", angles)
    earth = np.array([-1e-6, 26e-6, -36e-6])
    force, field = true.inv().apply([0.0, 0.0, 9.8]), true.inv().apply(earth)
    q = level(Vec3(*force), Vec3(*field), Vec3(*earth))
    found = Rotation.from_quat([q[0], q[1], q[2], q[3]])
    assert (found * true.inv()).magnitude() < 1e-12


def test_plain_python_gives_the_bits_of_the_compiled_step(flight):
    """A filter debugged in Python would be another one than that which flies."""
    simulation, vehicle = flight(count=2)
    given = vehicle.estimator
    pythons = {}

    def compared():
        before = {name: column.copy() for name, column in given.columns.items()}
        compiled()
        after = {name: column.copy() for name, column in given.columns.items()}
        for name, column in before.items():
            given.columns[name][...] = column
        for i in range(vehicle.count):
            estimate_state(i, given.rows.python)
        for name, column in given.columns.items():
            np.testing.assert_array_equal(column, after[name], err_msg=name)
        pythons[simulation.step_count] = given.columns["phase"].tolist()

    simulation.step(100)
    compiled = given._launch
    given._launch = compared
    simulation.step(100)
    given._launch = compiled
    simulation.step(1100)
    given._launch = compared
    simulation.step(60)
    given._launch = compiled
    assert {0, 2} <= {phase for phases in pythons.values() for phase in phases}
    assert given.columns["used_count"][0, FIX] > 0


def test_columns_are_those_of_the_dataclass(flight):
    """A column that nothing reads would cost memory in each copy."""
    _, vehicle = flight()
    names = set(FilterRows.__annotations__)
    assert set(vehicle.estimator.columns) < names
