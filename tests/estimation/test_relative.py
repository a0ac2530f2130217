"""Tests of estimates by range, optical flow and odometry."""

import math

import numpy as np
import pytest
from consistency_bounds import require_consistent
from scipy.spatial.transform import Rotation

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.config.files import load_world
from pegasus.control import GeometricController, trajectories
from pegasus.estimation import EKF, Consistency
from pegasus.estimation.relative import beam
from pegasus.faults import SensorBias
from pegasus.sensors import (
    GPS,
    IMU,
    Accelerometer,
    Barometer,
    Gyroscope,
    Magnetometer,
    Odometry,
    OpticalFlow,
    Rangefinder,
    Sonar,
)

COPIES = 200
"""Vehicles of a flight. Their errors change little in six seconds, so that each counts once: the share of
errors beyond a bound of 5 % has a standard deviation of 1.5 %."""
MAKERS = {
    "imu": lambda: IMU(
        gyroscope=Gyroscope(turn_on_bias=0.002), accelerometer=Accelerometer(turn_on_bias=0.03)
    ),
    "gps": GPS,
    "barometer": Barometer,
    "magnetometer": Magnetometer,
    "range": lambda: Rangefinder(position=(0.05, 0.02, -0.03)),
    "flow": lambda: OpticalFlow(position=(0.02, 0.03, -0.02)),
    "odometry": lambda: Odometry(latency=0.07, reset_interval=5.0),
}
FREEDOM = {"gps": 6, "barometer": 1, "magnetometer": 3, "range": 1, "flow": 2, "odometry": 9}


def made(names):
    return {name: MAKERS[name]() for name in names}


def eights(height):
    return [GeometricController(trajectories.lemniscate(radius=3.0, height=height, laps=50))]


@pytest.mark.parametrize(
    ("names", "height", "start"),
    [
        (("imu", "magnetometer", "barometer", "flow"), 3.0, 5.0),
        (("imu", "odometry"), 3.0, 5.0),
        (("imu", "magnetometer", "barometer", "gps", "range", "flow", "odometry"), 12.0, 13.0),
    ],
    ids=["flow", "odometry", "all"],
)
def test_errors_and_innovations_are_within_their_bounds(flight, names, height, start):
    """A gradient would have a wrong sign, or a drift would be taken for noise."""
    simulation, vehicle = flight(
        count=COPIES,
        seed=2,
        sensors=made(names),
        backends=eights(height),
        estimator=EKF(ground_roughness=0.0),
    )
    consistency = Consistency(vehicle, start=start)
    simulation.add_observer(consistency)
    simulation.run(start + 6.0)
    require_consistent(consistency, {name: FREEDOM[name] for name in names if name != "imu"})
    assert not vehicle.estimator.columns["rejected_count"][:, :3].sum() > 5


@pytest.mark.parametrize("kind", [Rangefinder, Sonar])
@pytest.mark.parametrize("axis", [0, 1])
def test_expected_distance_is_that_of_the_geometry(flight, kind, axis):
    """A tilt would be taken for a height, or the wrong way round."""
    sensors = made(("imu", "magnetometer", "barometer")) | {"range": kind(position=(0.1, -0.2, 0.05))}
    simulation, vehicle = flight(sensors=sensors)
    simulation.step(300)
    given = vehicle.estimator
    rows, columns = given.rows.python, given.columns
    errors = given._given["range"][0]
    ground = given._given["ground"][0].first
    columns["r"][0], columns["error"][0, ground] = (1.0, 2.0, 9.0), 1.5
    turns = np.array([0.3, 0.25, 1.0])

    def expected(extra):
        q = Rotation.from_rotvec(extra) * Rotation.from_rotvec(turns)
        columns["q"][0] = q.as_quat()
        return beam(0, rows, errors.place, errors.direction, errors.half_cone), q

    (distance, slope, turn), q = expected(np.zeros(3))
    height = 9.0 - 1.5 + q.apply([0.1, -0.2, 0.05])[2]
    tilt = math.acos(-q.apply([0.0, 0.0, -1.0])[2])
    tilt = max(tilt - errors.half_cone, 0.0)
    assert distance == pytest.approx(height / math.cos(tilt), rel=1e-12)
    assert slope == pytest.approx(1.0 / math.cos(tilt), rel=1e-12)
    step = 1e-6 * np.eye(3)[axis]
    change = (expected(step)[0][0] - expected(-step)[0][0]) / 2e-6
    assert turn[axis] == pytest.approx(change, abs=1e-6)


def test_flow_holds_a_place_without_gps(flight):
    """Without GPS a vehicle would not take off, or drift away in the wind."""
    wind = {"model": "constant", "mean_velocity": [3.0, -2.0, 0.0]}
    world = load_world("flat")[0].model_copy(update={"wind": wind})
    sensors = made(("imu", "magnetometer", "barometer", "flow"))
    hold = [GeometricController(trajectories.hold(height=2.0))]
    simulation, vehicle = flight(world, sensors=sensors, backends=hold, seed=5)
    simulation.run(1.5)
    assert vehicle.estimator.ready.all()
    simulation.run(38.5)
    error, sigma = vehicle.estimate.position_error[0], vehicle.estimate.position_sigma[0]
    assert np.all(np.abs(error) < 4.0 * sigma)
    assert np.all(sigma < 0.5)
    np.testing.assert_allclose(vehicle.state.position[0, :2], 0.0, atol=1.0)


def test_odometry_tells_the_heading(flight):
    """A vehicle without magnetometer would start with any heading but its own."""
    sensors = made(("imu",)) | {"odometry": Odometry(yaw_drift_sigma=1e-3)}
    hold = [GeometricController(trajectories.hold(height=2.0))]
    simulation, vehicle = flight(sensors=sensors, backends=hold, heading=2.0)
    simulation.run(8.0)
    assert vehicle.estimator.state.heading[0] == pytest.approx(vehicle.state.heading[0], abs=0.02)
    assert vehicle.state.position[0, 2] == pytest.approx(2.0, abs=0.5)


def test_a_roof_is_another_ground(flight):
    """A vehicle over a roof would believe that it falls, and climb."""
    sensors = made(("imu", "magnetometer", "barometer", "gps", "range"))
    hold = [GeometricController(trajectories.hold(height=8.0))]
    simulation, vehicle = flight(sensors=sensors, backends=hold, seed=3)
    vehicle.inject(SensorBias("range", "distance", bias=-3.0, start=14.0))
    simulation.run(14.0)
    ground = vehicle.estimator._given["ground"][0].first
    height, before = vehicle.state.position[0, 2], vehicle.estimator.columns["error"][0, ground]
    simulation.run(4.0)
    assert vehicle.state.position[0, 2] == pytest.approx(height, abs=0.5)
    assert vehicle.estimator.columns["error"][0, ground] - before == pytest.approx(3.0, abs=0.3)


def test_rangefinders_that_do_not_look_down_are_left_out():
    """The distance of a wall would be taken for the height."""

    def sensors():
        return made(("imu", "magnetometer", "gps")) | {"front": Rangefinder(direction=(1.0, 0.0, 0.0))}

    with Simulation("flat", engine="mujoco") as simulation:
        vehicle = simulation.add(Multirotor("iris", sensors=sensors(), estimator=EKF()))
        assert sorted(source.name for source in vehicle.estimator.sources) == ["gps", "magnetometer"]
        named = EKF(sensors=("imu", "magnetometer", "front"))
        second = Multirotor("iris", sensors=sensors(), estimator=named, position=(5.0, 0.0, 0.1))
        with pytest.raises(ConfigError, match=r"front.*must look down"):
            simulation.add(second)


def test_beam_of_a_level_vehicle_is_its_height(flight):
    """The distance of a level vehicle would depend on its tilt in the first order."""
    sensors = made(("imu", "magnetometer", "range"))
    simulation, vehicle = flight(sensors=sensors)
    simulation.step(300)
    given = vehicle.estimator
    given.columns["q"][0], given.columns["r"][0] = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 4.0)
    given.columns["error"][0, given._given["ground"][0].first] = 1.0
    distance, slope, turn = beam(0, given.rows.python, Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, -1.0), 0.0)
    assert (distance, slope) == (3.0, 1.0)
    assert [turn[k] for k in range(3)] == [0.0, 0.0, 0.0]
