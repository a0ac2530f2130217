"""Tests of estimates as they are logged, shown, saved and recorded, and of flights of shipped vehicles."""

import numpy as np
import pytest
import yaml

from pegasus.cli.main import app
from pegasus.config.files import load_world
from pegasus.control import CascadedPIDController, GeometricController, trajectories
from pegasus.estimation import EKF, chi_square_bounds
from pegasus.estimation.published import present_spreads
from pegasus.experiments import Flight
from pegasus.panel.telemetry import telemetry
from pegasus.recording import McapRecorder, read_log
from pegasus.session.snapshot import snapshot


def test_log_has_the_estimate(flight, tmp_path):
    """A log could not show why a vehicle is not where it should be."""
    simulation, _ = flight(name="blind")
    simulation.add_observer(McapRecorder(tmp_path / "flight.mcap"))
    simulation.run(6.0)
    simulation.stop()
    series = read_log(tmp_path / "flight.mcap")["/blind/estimate"]
    assert np.isnan(series.position[0]).all()
    late = series.time > 5.0
    for name in ("position", "velocity", "position_sigma", "attitude_sigma", "rate_bias", "gps_nis"):
        assert np.isfinite(getattr(series, name)[late]).all(), name
    states = read_log(tmp_path / "flight.mcap")["/blind/state"]
    true = states.position[states.time > 5.0]
    np.testing.assert_allclose(series.position[late] - series.position_error[late], true, atol=1e-12)
    assert np.isnan(series.odometry_nis).all()


def test_panel_shows_the_estimate(flight):
    """The panel would show an autopilot's estimate, but not that of a vehicle's own estimator."""
    simulation, vehicle = flight(name="blind")
    simulation.run(6.0)
    rest = {"number": 1, "generation": 1, "speed": None, "real_time_factor": 1.0, "recording": None}
    seen = snapshot(simulation, **rest, suggested_viewpoint=None)
    shown = telemetry(seen, "blind").estimate
    np.testing.assert_array_equal(shown.position, vehicle.estimate.position[0])
    np.testing.assert_array_equal(shown.velocity_error, vehicle.estimate.velocity_error[0])
    assert shown.attitude_error == vehicle.estimate.attitude_error[0]


def test_standard_deviations_are_those_of_the_present(flight):
    """The standard deviations would be those of the filter's state, which is 0.2 s older."""
    simulation, vehicle = flight(count=60, seed=2)
    squares = []
    simulation.run(14.0)
    for _ in range(6):
        simulation.run(1.0)
        e = vehicle.estimate
        parts = e.position_error / e.position_sigma, e.velocity_error / e.velocity_sigma
        squares.append([np.mean(part**2) for part in parts] + [np.mean(e.attitude_error**2)])
        limit = (e.attitude_sigma**2).sum(axis=1).mean()
        squares[-1][2] /= limit
    position, velocity, attitude = np.mean(squares, axis=0)
    low, high = chi_square_bounds(3, 60)
    assert low / 3 < position < high / 3
    assert low / 3 < velocity < high / 3
    assert 0.7 < attitude < 1.4


def test_published_bits_are_those_of_plain_python(flight):
    """The standard deviations would be computed differently where the step is debugged."""
    simulation, vehicle = flight(count=2)
    simulation.run(6.0)
    given = vehicle.estimator
    published = vehicle.estimate
    for i in range(2):
        present_spreads(i, given.rows.python)
    for name in ("position_sigma", "velocity_sigma", "attitude_sigma"):
        np.testing.assert_array_equal(given.columns[name], getattr(published, name))


@pytest.mark.parametrize(
    ("name", "controller"),
    [
        ("crazyflie", GeometricController),
        ("typhoon_h", GeometricController),
        ("coaxial_x8", GeometricController),
        ("pegasus", GeometricController),
        ("crazyflie", CascadedPIDController),
        ("typhoon_h", CascadedPIDController),
    ],
)
def test_shipped_vehicles_fly_on_estimates_in_gusts(flight, name, controller):
    """A controller would not bear the noise of estimates, or a heavy vehicle their delay."""
    wind = {"model": "gusts", "mean_velocity": [4.0, 2.0, 0.0], "intensity": 1.0}
    world = load_world("flat")[0].model_copy(update={"wind": wind})
    pilot = controller(trajectories.lemniscate(radius=3.0, height=10.0, laps=50))
    simulation, vehicle = flight(world, vehicle=name, backends=[pilot], seed=2)
    simulation.run(10.0)
    away = []
    for _ in range(20):
        simulation.run(0.5)
        away.append(np.abs(vehicle.feedback.position - pilot.reference.position).max())
    assert max(away) < 0.4
    estimate = vehicle.estimate
    assert np.all(np.abs(estimate.position_error) < 4.0 * estimate.position_sigma)
    assert np.all(np.abs(estimate.velocity_error) < 4.0 * estimate.velocity_sigma)


def test_scenario_names_the_estimator(tmp_path):
    """A scenario could not fly a shipped vehicle on estimates, or its mission would end too early."""
    file = tmp_path / "blind.yaml"
    content = {
        "name": "blind",
        "world": "flat",
        "vehicles": [
            {
                "model": "iris",
                "estimator": {"model": "ekf", "gate": 6.0},
                "backends": [
                    {"model": "geometric", "trajectory": [{"takeoff": {"height": 4.0}}, {"land": {}}]}
                ],
            }
        ],
    }
    file.write_text(yaml.safe_dump(content))
    flight = Flight(file)
    (vehicle,) = flight.simulation.vehicles
    assert isinstance(vehicle.estimator, EKF)
    assert vehicle.estimator.gate == 6.0
    flight.fly(out=tmp_path)
    assert vehicle.backends.driver.mission.landed.all()


def test_command_lists_estimators(capsys):
    """A user could not find out which estimators there are."""
    with pytest.raises(SystemExit) as ended:
        app(["list", "estimators"])
    assert ended.value.code == 0
    assert "ekf" in capsys.readouterr().out
