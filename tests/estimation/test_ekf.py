"""Tests of flights on estimates: waiting for the filter, resets, faults, mounting, and bad input."""

import math

import numpy as np
import pytest
import yaml

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.config.files import load_world
from pegasus.control import CascadedPIDController, GeometricController, GuidedController, trajectories
from pegasus.estimation import EKF, Consistency, FilterEstimate
from pegasus.estimation.filter_rows import FIX
from pegasus.faults import GpsJump, GpsLoss
from pegasus.sensors import GPS, IMU, Accelerometer, Barometer, Gyroscope, Magnetometer


def test_mission_waits_for_the_first_fix(flight):
    """A vehicle would take off without knowing where it is; a GPS has its first fix after some seconds."""
    simulation, vehicle = flight()
    simulation.step()
    assert not vehicle.estimator.ready.any()
    simulation.run(3.5)
    assert not vehicle.backends.driver.mission.begun
    assert vehicle.state.position[0, 2] < 0.15
    assert np.isnan(vehicle.estimate.gps_nis[0])
    simulation.run(6.5)
    assert vehicle.estimator.ready.all()
    assert vehicle.state.position[0, 2] > 2.0
    assert isinstance(vehicle.estimate, FilterEstimate)


def test_controllers_fly_on_the_estimate(flight):
    """A controller would still fly on the true state: it would hold its point to the centimetre."""
    for controller in (GeometricController, CascadedPIDController):
        held = controller(trajectories.hold(height=8.0), relative=False)
        simulation, vehicle = flight(backends=[held])
        simulation.run(25.0)
        error = vehicle.estimate.position_error[0]
        assert np.linalg.norm(error) > 0.1
        away = vehicle.state.position[0] - held.reference.position[0]
        np.testing.assert_allclose(away, -error, atol=0.2)


def test_not_flown_estimate_changes_no_bit_of_the_flight():
    """An estimate that is only logged would disturb the flight that it is compared with."""

    def flown(estimator, steps):
        backends = [GeometricController(trajectories.hold(height=2.0))]
        with Simulation("flat", seed=4, engine="mujoco") as simulation:
            vehicle = simulation.add(Multirotor("iris", backends=backends, estimator=estimator))
            simulation.step(steps)
            return vehicle.state.copy()

    with_it, without = flown(EKF(flown=False), 700), flown(None, 700)
    for name in ("position", "orientation", "velocity", "angular_velocity", "rotor_speed"):
        np.testing.assert_array_equal(getattr(with_it, name), getattr(without, name))


def columns_of(vehicle, copy):
    names = ("q", "v", "r", "error", "covariance", "position", "angular_velocity", "nis")
    return {name: vehicle.estimator.columns[name][copy].copy() for name in names}


def test_same_bits_in_any_company(flight):
    """The estimate of a vehicle would depend on how many copies or other vehicles there are."""
    place = [[0.0, 0.0, 0.1], [20.0, 0.0, 0.1], [40.0, 0.0, 0.1]]
    simulation, alone = flight(name="watched", position=place[0])
    simulation.step(1500)
    simulation, several = flight(name="watched", count=3, position=place, spacing=None)
    other = GeometricController(trajectories.hold(height=2.0))
    simulation.add(Multirotor("x500", position=(0.0, 30.0, 0.5), backends=[other]))
    simulation.step(1500)
    for name, values in columns_of(alone, 0).items():
        np.testing.assert_array_equal(values, columns_of(several, 0)[name], err_msg=name)


def test_reset_gives_the_same_flight_again(flight):
    """A second run would begin with the state of the filter of the first one."""
    simulation, vehicle = flight()
    simulation.step(1400)
    first = columns_of(vehicle, 0)
    simulation.reset()
    simulation.step(1400)
    for name, values in columns_of(vehicle, 0).items():
        np.testing.assert_array_equal(values, first[name], err_msg=name)


def test_reset_copies_start_anew_and_the_others_fly_on(flight):
    """A copy that begins a new episode would take off with an old estimate, or disturb the others."""
    states = []
    for resets in (False, True):
        simulation, vehicle = flight(count=2, name="pair")
        simulation.run(9.0)
        if resets:
            vehicle.reset([1])
            assert vehicle.estimator.ready.tolist() == [True, False]
        simulation.run(6.0)
        states.append(vehicle.state.copy())
        assert vehicle.estimator.ready.all()
    # The phase of points made ahead differs where missions are split, the estimate does not.
    np.testing.assert_allclose(states[0].position[0], states[1].position[0], atol=0.05)
    assert states[1].position[1, 2] < 5.0 < states[0].position[1, 2]
    simulation.run(8.0)
    error, sigma = vehicle.estimate.position_error[1], vehicle.estimate.position_sigma[1]
    assert np.all(np.abs(error) < 4.0 * sigma)


def test_gps_loss_is_visible(flight):
    """A vehicle without GPS would drift unnoticed, or the filter would not recover when it returns."""
    simulation, vehicle = flight(backends=[GeometricController(trajectories.hold(height=8.0))], seed=6)
    vehicle.inject(GpsLoss("gps", start=12.0, end=72.0))
    simulation.run(12.0)
    before = vehicle.estimate
    simulation.run(60.0)
    lost = vehicle.estimate
    assert np.all(lost.position_sigma[0, :2] > 3.0 * before.position_sigma[0, :2])
    drift = np.abs(lost.position_error - before.position_error)[0, :2]
    assert drift.max() > 0.3
    assert np.all(np.abs(lost.position_error) < 4.0 * lost.position_sigma)
    simulation.run(8.0)
    again = vehicle.estimate
    assert np.all(again.position_sigma[0, :2] < 1.2 * before.position_sigma[0, :2])
    assert np.all(np.abs(again.position_error) < 4.0 * again.position_sigma)


MOUNTED = {
    "imu": IMU(
        position=(0.1, -0.05, 0.03),
        orientation=(0.5, 0.5, 0.5, 0.5),
        gyroscope=Gyroscope(turn_on_bias=0.002),
        accelerometer=Accelerometer(turn_on_bias=0.03),
    ),
    "gps": GPS(rate_hz=8.0, latency=0.123),
    "barometer": Barometer(rate_hz=37.0),
    "magnetometer": Magnetometer(
        rate_hz=70.0, hard_iron=(5e-6, -3e-6, 8e-6), soft_iron=((1.1, 0.1, 0), (0, 0.9, 0.05), (0.02, 0, 1.0))
    ),
}


def test_mounting_iron_rates_and_latencies_are_taken_into_account(flight):
    """An IMU off the origin, iron, or readings between two steps would make errors that no covariance has."""
    simulation, vehicle = flight(count=30, rate=400.0, sensors=MOUNTED)
    consistency = Consistency(vehicle, start=16.0)
    simulation.add_observer(consistency)
    simulation.run(24.0)
    by_copy = consistency.nees.mean(axis=0)
    # Bounds of 99.9 %: the errors of a copy at all times are nearly one draw.
    assert 11.8 < by_copy.mean() < 18.6
    for name, mean, bounds in consistency.report()[1:]:
        assert 0.98 * bounds.low < mean < 1.02 * bounds.high, name


def test_velocities_of_gps_are_turned_to_the_axes_of_the_map(flight):
    """Far from the origin y is not north: velocities would be off by the convergence of the meridians."""
    world = load_world("flat")[0]
    world = world.model_copy(update={"origin": world.origin.model_copy(update={"latitude": 85.0})})
    legs = trajectories.lemniscate(radius=20.0, height=12.0, speed=6.0, laps=20)
    backends = [GeometricController(legs)]
    simulation, vehicle = flight(world, backends=backends, position=(45_000.0, 0.0, 0.1), seed=2)
    simulation.run(32.0)
    assert np.abs(vehicle.state.velocity[0, :2]).max() > 3.0
    # By positions alone the filter finds the velocity as well, and refuses the wrong ones.
    assert vehicle.estimator.columns["rejected_count"][0, FIX] <= 1
    estimate = vehicle.estimate
    assert np.all(np.abs(estimate.velocity_error) < 4.0 * estimate.velocity_sigma)


def test_guided_copies_wait_and_fly(flight):
    """A guided vehicle would take off before its estimate is ready, or never."""
    pilot = GuidedController(height=8.0)
    simulation, vehicle = flight(backends=[pilot])
    pilot.takeoff()
    simulation.run(3.0)
    assert vehicle.state.position[0, 2] < 0.15
    simulation.run(17.0)
    reached = vehicle.estimator.state.position[0, 2]
    assert reached == pytest.approx(vehicle.backends.driver.reference.position[0, 2], abs=0.3)
    assert vehicle.state.position[0, 2] > 3.0


def test_known_start_flies_at_once(flight):
    """A vehicle that starts in the air would fall, since it never stands."""
    held = GeometricController(trajectories.hold(height=30.0), spin_up=0.0)
    simulation, vehicle = flight(backends=[held], estimator=EKF(start="known"), position=(0.0, 0.0, 30.0))
    simulation.run(10.0)
    assert vehicle.state.position[0, 2] > 25.0
    assert np.all(np.abs(vehicle.estimate.position_error) < 4.0 * vehicle.estimate.position_sigma)


def test_file_names_the_estimator(tmp_path):
    """A vehicle file could not switch on the estimator that Python can."""
    file = tmp_path / "blind.yaml"
    file.write_text(yaml.safe_dump({"extends": "iris", "estimator": {"model": "ekf", "gate": 4.0}}))
    vehicle = Multirotor(file)
    assert isinstance(vehicle.estimator, EKF)
    assert vehicle.estimator.gate == 4.0
    assert Multirotor("iris").estimator is None


def message_of(**options):
    with pytest.raises(ConfigError) as found, Simulation("flat", engine="mujoco") as simulation:
        simulation.add(Multirotor("iris", **{"estimator": EKF(), **options}))
    message = str(found.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("sensors", "words"),
    [
        ({}, ("estimator", "needs an IMU", "imu: {model: imu}")),
        (
            {"imu": IMU(), "gps": GPS()},
            ("needs a magnetometer or odometry", "imu, gps", "magnetometer: {model:"),
        ),
        (
            {"imu": IMU(), "gps": GPS(), "gps2": GPS(), "magnetometer": Magnetometer()},
            ("estimator.sensors", "gps, gps2", "name the sensors that it takes"),
        ),
    ],
)
def test_sensors_that_do_not_fit_are_refused(sensors, words):
    """A user would learn of a missing sensor by a crash, or not at all."""
    message = message_of(sensors=sensors)
    for word in words:
        assert word in message


def test_named_sensors_are_those_that_it_uses():
    """Of two sensors of one kind, none could be chosen; a wrong name would be ignored."""
    sensors = {"imu": IMU(), "gps": GPS(), "gps2": GPS(), "magnetometer": Magnetometer()}
    with Simulation("flat", engine="mujoco") as simulation:
        chosen = EKF(sensors=("imu", "gps2", "magnetometer"))
        simulation.add(Multirotor("iris", sensors=sensors, estimator=chosen))
        assert [source.name for source in chosen.sources] == ["gps2", "magnetometer"]
    assert "compass" in message_of(estimator=EKF(sensors=("imu", "compass")))
    message = message_of(
        estimator=EKF(sensors=("imu", "magnetometer", "battery")),
        sensors={"imu": IMU(), "magnetometer": Magnetometer()},
    )
    assert "battery" in message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("start", "flying"),
        ("rest_time", 0.0),
        ("gate", -1.0),
        ("gate", float("nan")),
        ("gps_reset_time", 0.0),
        ("vibration_noise_density", -0.1),
        ("ground_roughness", float("inf")),
    ],
)
def test_wrong_parameters_are_refused(field, value):
    """A parameter without meaning would give not-a-number somewhere in flight."""
    with pytest.raises(ConfigError, match=field):
        EKF(**{field: value})


def test_one_estimator_belongs_to_one_vehicle():
    """Two vehicles would write into the same state."""
    shared = EKF()
    with Simulation("flat", engine="mujoco") as simulation:
        simulation.add(Multirotor("iris", estimator=shared))
        with pytest.raises(ConfigError, match="already belongs"):
            simulation.add(Multirotor("iris", estimator=shared, position=(5.0, 0.0, 0.1)))


@pytest.mark.parametrize("reset_time", [7.0, math.inf])
def test_a_receiver_that_stays_elsewhere_is_followed_after_the_reset_time(flight, reset_time):
    """A jump would be flown at once, or the receiver be left out for the rest of the flight."""
    simulation, vehicle = flight(estimator=EKF(gps_reset_time=reset_time), seed=4)
    simulation.run(14.0)
    vehicle.inject(GpsJump(offset=(30.0, -20.0, 0.0), start=14.0, end=34.0))

    def off():
        return vehicle.estimate.position_error[0, :2]

    before = off()
    simulation.run(6.5)
    np.testing.assert_allclose(off(), before, atol=1.5)
    simulation.run(2.5)
    jumped = [30.0, -20.0] if math.isfinite(reset_time) else [0.0, 0.0]
    np.testing.assert_allclose(off(), np.add(before, jumped), atol=3.0)
    # The vehicle flies to where it believes the course to be, and back when the jump has ended.
    simulation.run(20.0)
    np.testing.assert_allclose(off(), before, atol=3.0)
    assert vehicle.estimate.position_sigma[0, :2].max() < 3.0
