"""Tests of the wind as states of the filter."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

import pegasus.estimation.wind as wind_module
from pegasus import ConfigError, Multirotor
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import LinearDrag
from pegasus.estimation import EKF, Consistency, chi_square_bounds
from pegasus.estimation.filter_rows import FORCE_BIAS
from pegasus.estimation.filter_step import estimate_state
from pegasus.estimation.wind import use_airspeed, use_drag
from pegasus.recording import McapRecorder, read_log
from pegasus.sensors.airspeed import Airspeed
from tests.flyers import PLAIN_IRIS

STEADY = {"mean_velocity": [4.0, -3.0, 0.0]}
GUSTY = {"model": "dryden", "mean_velocity": [4.0, -3.0, 0.0]}


def sensors_of(model="iris", **further):
    return {**Multirotor(model).sensors, **further}


def turning_flight(height=12.0):
    """Return a controller that flies figures of eight with the nose ahead."""
    return GeometricController(trajectories.lemniscate(radius=3.0, height=height, laps=50, yaw="forward"))


@pytest.fixture
def windy(flight):
    """Return the filter of one vehicle in flight in a wind, with a pitot tube that points askew."""
    simulation, vehicle = flight(
        wind=STEADY,
        sensors=sensors_of(pitot=Airspeed(axis=(0.9, 0.2, -0.1))),
        estimator=EKF(wind=True, start="known"),
        backends=[turning_flight()],
    )
    simulation.run(8.0)
    return vehicle.estimator


def captured(monkeypatch, given, function):
    """Return the innovations of a function in plain Python with their gradients by all states."""
    found = []

    def keep(*given_to_filter):
        innovation, h = given_to_filter[3:5]
        gradient = np.zeros(given.parameters.size)
        for first, part in ((0, h.attitude), (3, h.velocity), (6, h.position)):
            gradient[first : first + 3] = part[0], part[1], part[2]
        if h.state >= 0:
            gradient[h.state] += h.slope
        gradient[h.wind : h.wind + 2] -= h.velocity[0], h.velocity[1]
        found.append((innovation, gradient))
        return 0.0

    monkeypatch.setattr(wind_module, "assimilate", keep)
    monkeypatch.setattr(wind_module, "observe", keep)
    function(0, given.rows.python)
    return [innovation for innovation, _ in found], [gradient for _, gradient in found]


@pytest.mark.parametrize("function", [use_airspeed, use_drag])
def test_gradients_are_those_of_finite_differences(windy, monkeypatch, function):
    """A term of a gradient would be missing or have the wrong sign."""
    columns, size = windy.columns, windy.parameters.size
    columns["covariance"][...] = 0.0
    columns["passed"][...] = 0
    columns["q"][0] = Rotation.from_rotvec([0.2, -0.3, 1.1]).as_quat()
    columns["v"][0], columns["error"][0, windy.parameters.wind :][:2] = [3.0, 2.0, -1.5], [-2.0, 4.0]
    before = {name: column.copy() for name, column in columns.items()}
    step = 1e-5

    def at(state, change):
        for name, column in before.items():
            columns[name][...] = column
        if state < 3:
            turn = Rotation.from_rotvec(change * np.eye(3)[state])
            columns["q"][0] = (turn * Rotation.from_quat(before["q"][0])).as_quat()
        elif state < 15:
            name = ("v", "r", "rate_bias", "force_bias")[state // 3 - 1]
            columns[name][0, state % 3] += change
        else:
            columns["error"][0, state] += change
        return np.array(captured(monkeypatch, windy, function)[0])

    _, gradients = captured(monkeypatch, windy, function)
    assert len(gradients) == (2 if function is use_drag else 1)
    for state in range(size):
        by_state = -(at(state, step) - at(state, -step)) / (2.0 * step)
        # By the bias along z the drag of the rotors changes in the third digit only, which is left out.
        if function is use_drag and state == FORCE_BIAS + 2:
            assert np.abs(by_state).max() < 0.1
            continue
        np.testing.assert_allclose(
            [h[state] for h in gradients], by_state, atol=1e-6 * abs(gradients[0]).max()
        )


def test_plain_python_gives_the_bits_of_the_compiled_step(windy):
    """A filter debugged in Python would be another one than that which flies."""
    before = {name: column.copy() for name, column in windy.columns.items()}
    before["due"][-2:] = 1
    results = []
    for step in (windy._launch, lambda: estimate_state(0, windy.rows.python)):
        for name, column in before.items():
            windy.columns[name][...] = column
        for _ in range(30):
            step()
        results.append({name: column.copy() for name, column in windy.columns.items()})
    for name, column in results[0].items():
        np.testing.assert_array_equal(column, results[1][name], err_msg=name)
    assert (results[0]["used_count"][0, -2:] >= before["used_count"][0, -2:] + 20).all()


def wind_squares(vehicle, true):
    """Return the normalized squares of the errors of the wind, 2 numbers each, shape (N,).

    Args:
        vehicle: The vehicle.
        true: Wind at the time of the filter's state, shape (N, 3).
    """
    first, size = vehicle.estimator.parameters.wind, vehicle.estimator.parameters.size
    part = slice(first, first + 2)
    error = true[:, :2] - vehicle.estimate.wind[:, :2]
    covariance = vehicle.estimator.columns["covariance"].reshape(-1, size, size)[:, part, part]
    return (error * np.linalg.solve(covariance, error[..., None])[..., 0]).sum(axis=1)


DRAGLESS = {"vehicle": PLAIN_IRIS, "drag": LinearDrag(coefficients=(0.0, 0.0, 0.0))}


@pytest.mark.parametrize(
    ("wind", "density", "pitot", "airframe"),
    [
        (STEADY, 0.0, True, DRAGLESS),
        (GUSTY, 0.35, False, {}),
        (GUSTY, 0.35, True, {}),
    ],
    ids=["pitot", "drag-gusts", "both-gusts"],
)
def test_errors_of_60_copies_are_within_their_bounds(flight, wind, density, pitot, airframe):
    """The covariance of the wind would be too small or too large, or the drag that of another vehicle."""
    further = {"pitot": Airspeed()} if pitot else {}
    simulation, vehicle = flight(
        count=60,
        seed=4,
        wind=wind,
        sensors=sensors_of(airframe.get("vehicle", "iris"), **further),
        estimator=EKF(wind=True, wind_noise_density=density),
        backends=[turning_flight()],
        **airframe,
    )
    consistency = Consistency(vehicle, start=14.0)
    simulation.add_observer(consistency)
    simulation.run(14.0)
    squares, errors = [], []
    for _ in range(12):
        simulation.run(0.8)
        time, true = simulation.time, vehicle.columns["wind"].copy()
        simulation.run(vehicle.estimator.parameters.lag / 250.0 + 0.004)
        assert vehicle.estimator.filter_time == pytest.approx(time)
        squares.append(wind_squares(vehicle, true))
        errors.append(true - vehicle.estimate.wind)
    (_, mean, bounds), *innovations = consistency.report()
    assert bounds == chi_square_bounds(17, 60)
    assert bounds.low < mean < bounds.high
    for name, found, limits in innovations:
        # A gust is a random walk only for the filter.
        if name != "pitot" or wind is STEADY:
            assert limits.low < found < limits.high, name
    low, high = chi_square_bounds(2, 60)
    assert low < np.mean(squares) < high
    assert np.mean(np.array(squares) > chi2.ppf(0.95, 2)) < 0.08
    if not airframe:
        assert np.sqrt(np.square(np.array(errors)[:, :, :2]).mean()) < 0.2


def test_log_has_the_wind(flight, tmp_path):
    """A log could not show the wind that a vehicle felt."""
    simulation, _ = flight(name="blind", wind=STEADY, estimator=EKF(wind=True), backends=[turning_flight()])
    simulation.add_observer(McapRecorder(tmp_path / "flight.mcap"))
    simulation.run(14.0)
    simulation.stop()
    series = read_log(tmp_path / "flight.mcap")["/blind/estimate"]
    np.testing.assert_allclose(series.wind[-1].ravel(), [4.0, -3.0, 0.0], atol=1.0)
    assert (series.wind_sigma[-1].ravel()[:2] < 0.5).all()
    assert np.isfinite(series.drag_nis[-1]).all()


def test_a_vehicle_on_the_ground_learns_nothing_by_its_drag(flight):
    """The force of the legs would be taken for drag, and the wind for none."""
    simulation, vehicle = flight(wind=STEADY, estimator=EKF(wind=True), backends=[])
    simulation.run(6.0)
    assert vehicle.estimator.ready.all()
    assert (vehicle.estimate.wind_sigma[:, :2] > 5.0).all()
    assert np.isnan(vehicle.estimate.drag_nis).all()


def test_without_the_states_there_is_no_wind(flight):
    """An estimate would have a wind that nobody asked for, by a pitot tube that is of no use."""
    simulation, vehicle = flight(wind=STEADY, sensors=sensors_of(pitot=Airspeed()), backends=[])
    simulation.run(0.2)
    assert np.isnan(vehicle.estimate.wind).all()
    assert np.isnan(vehicle.estimate.wind_sigma).all()
    assert "pitot" not in [source.name for source in vehicle.estimator.sources]


def test_an_airspeed_is_of_no_use_without_the_wind(flight):
    """A user would be told that airspeeds are never used."""
    with pytest.raises(ConfigError, match=r"estimator\.sensors.*pitot.*Airspeed \(with wind: true\)"):
        flight(sensors=sensors_of(pitot=Airspeed()), estimator=EKF(sensors=("imu", "magnetometer", "pitot")))


def test_a_vehicle_that_cannot_feel_the_wind_is_refused(flight):
    """States that nothing corrects would be estimated."""
    with pytest.raises(ConfigError) as caught:
        flight(vehicle=PLAIN_IRIS, drag=LinearDrag(coefficients=(0.0, 0.0, 0.0)), estimator=EKF(wind=True))
    assert str(caught.value) == (
        "estimator.wind = True: the vehicle has neither drag nor an airspeed sensor, which show the wind; "
        "give it one, such as drag: {model: linear, coefficients: [0.3, 0.3, 0.3]}"
    )
