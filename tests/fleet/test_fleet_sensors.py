"""Tests of sensors in fleets: the readings of a simulation, repeated after a reset, late by their latency."""

import numpy as np
import pytest

from pegasus import Backend, Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.fleet import Fleet, World
from pegasus.sensors import (
    GPS,
    IMU,
    Accelerometer,
    Gyroscope,
    ImuReading,
    Magnetometer,
    Odometry,
    OdometryReading,
    Rangefinder,
)

SPEEDS = np.array([600.0, 560.0, 590.0, 610.0])


class Held(Backend):
    """Backend that commands four speeds."""

    drives = True

    def command(self, t):
        return np.tile(SPEEDS, (3, 1))


def carried():
    """Return an IMU with errors and odometry that is late by a fraction of a step."""
    return {
        "imu": IMU(
            gyroscope=Gyroscope(turn_on_bias=0.01, scale_error_sigma=0.01),
            accelerometer=Accelerometer(turn_on_bias=0.1),
        ),
        "odometry": Odometry(rate_hz=30.0, latency=0.0105),
    }


@pytest.mark.parametrize("seed", [3])
def test_equal_the_core(seed):
    """Readings of IMU and odometry have the bits of a simulation with the same seed, at each step."""
    place = np.array([[0.0, 0.0, 50.0], [5.0, 0.0, 60.0], [9.0, 3.0, 70.0]])
    fleet = Fleet("iris", 3, dtype="float64", sensors=carried(), seed=seed)
    with Simulation(seed=seed, rate=500.0) as sim:
        vehicle = sim.add(Multirotor("iris", count=3, position=place, backends=[Held()], sensors=carried()))
        sim.play()
        fleet.reset(position=vehicle.state.position, orientation=vehicle.state.orientation)
        for k in range(120):
            sim.step()
            fleet.step(SPEEDS)
            imu, odometry = vehicle.reading(ImuReading), vehicle.reading(OdometryReading)
            assert np.array_equal(fleet.readings["imu"]["angular_velocity"], imu.angular_velocity), k
            assert np.array_equal(fleet.readings["imu"]["specific_force"], imu.specific_force), k
            assert np.array_equal(fleet.readings["odometry"]["position"], odometry.position), k
            assert np.array_equal(fleet.readings["odometry"]["orientation"], odometry.orientation), k
            assert np.array_equal(fleet.readings["odometry"]["velocity"], odometry.velocity), k
            assert fleet.readings["imu"]["stamp"][1] == imu.stamp


def test_a_reset_repeats_its_noise():
    """A row that is reset has the same noise again; rows differ, and so do seeds."""
    fleet = Fleet("iris", 3, sensors=carried(), seed=1)
    start = {"position": (0.0, 0.0, 20.0), "rotor_speed": SPEEDS}
    fleet.reset(**start)
    fleet.step(SPEEDS, 40)
    first = {name: values.copy() for name, values in fleet.readings["imu"].items()}
    assert abs(first["angular_velocity"][0] - first["angular_velocity"][1]).max() > 1e-4
    fleet.reset([2], **start)
    fleet.step(SPEEDS, 40)
    assert np.array_equal(fleet.readings["imu"]["specific_force"][2], first["specific_force"][2])
    assert not np.array_equal(fleet.readings["imu"]["specific_force"][0], first["specific_force"][0])
    other = Fleet("iris", 3, sensors=carried(), seed=2)
    other.reset(**start)
    other.step(SPEEDS, 40)
    assert not np.array_equal(other.readings["imu"]["specific_force"], first["specific_force"])


def test_an_accelerometer_feels_the_ground():
    """At rest on the ground an accelerometer without noise reads gravity upward."""
    quiet = IMU(
        gyroscope=Gyroscope(noise_density=0.0, bias_random_walk=0.0, turn_on_bias=0.0),
        accelerometer=Accelerometer(noise_density=0.0, bias_random_walk=0.0, turn_on_bias=0.0),
    )
    fleet = Fleet("iris", 2, dtype="float64", world=World(ground=0.0), sensors={"imu": quiet})
    fleet.reset(position=(0.0, 0.0, 0.087))
    fleet.step(np.zeros(4), 500)
    assert fleet.readings["imu"]["specific_force"] == pytest.approx(np.tile((0, 0, 9.807), (2, 1)), abs=0.01)


def test_sensors_that_it_cannot_have():
    """A sensor without a step function, or with needs that a fleet does not meet, is named."""
    with pytest.raises(ConfigError, match=r"sensors\.range = 'Rangefinder'.*no step function.*Rays"):
        Fleet("iris", 1, sensors={"range": Rangefinder()})
    with pytest.raises(ConfigError, match=r"sensors\.imu\.rate_hz"):
        Fleet("iris", 1, rate=100.0, sensors={"imu": IMU(rate_hz=250.0)})
    for name, needs in (("gps", "values from Python"), ("magnetometer", "magnetic_field")):
        with pytest.raises(ConfigError, match=rf"sensors\.{name}.*needs {needs}"):
            Fleet("iris", 1, sensors={name: {"gps": GPS, "magnetometer": Magnetometer}[name]()})
