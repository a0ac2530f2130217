"""Tests of the sensors sent to PX4: their axes, their ages, and the first sensor of each kind."""

import logging

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus import ConfigError, Multirotor
from pegasus.backends.px4.hil import SensorMessages
from pegasus.backends.px4.hil_sensors import HilSensors
from pegasus.sensors import (
    GPS,
    IMU,
    Airspeed,
    AirspeedReading,
    Barometer,
    GpsReading,
    ImuReading,
    Magnetometer,
    MagnetometerReading,
    Odometry,
    OpticalFlow,
    Rangefinder,
    RangeReading,
)


def chosen(**sensors):
    """Return the sensors chosen from an Iris with two copies."""
    fitted = {"imu": IMU(), "gps": GPS(), "baro": Barometer(), "mag": Magnetometer()} | sensors
    return HilSensors(Multirotor("iris", count=2, sensors=fitted))


def test_an_imu_that_is_mounted_askew():
    """A rotated IMU would tilt PX4's estimate: HIL_SENSOR is in the body frame."""
    mounting = Rotation.from_euler("xyz", [0.4, -1.1, 2.0])
    rng = np.random.default_rng(3)
    rates, forces = rng.normal(size=(2, 2, 3))
    inverse = mounting.inv()
    askew = ImuReading(0.5, inverse.apply(rates), inverse.apply(forces))
    messages = SensorMessages(2)
    sample, others = chosen(imu=IMU(orientation=tuple(mounting.as_quat()))).take({"imu": askew}, [messages])
    assert others == []
    assert sample.stamp == 0.5
    for i in range(2):
        sent = messages.message(i, 0, sample.specific_force[i].tolist(), sample.angular_velocity[i].tolist())
        np.testing.assert_allclose([sent.xacc, -sent.yacc, -sent.zacc], forces[i], atol=1e-12)
        np.testing.assert_allclose([sent.xgyro, -sent.ygyro, -sent.zgyro], rates[i], atol=1e-12)
    # Readings of a level IMU are passed on unchanged.
    assert chosen().take({"imu": askew}, [messages])[0] is askew


def test_px4_is_told_how_old_readings_are():
    """A GPS latency of 200 ms would be taken for 10 ms, an error of about a metre at 5 m/s."""
    # PX4's estimator delays by 200 ms by itself, which is 160 ms where IMU samples do not fit its 10 ms.
    assert chosen().delays == {"EKF2_GPS_DELAY": 200.0, "EKF2_DELAY_MAX": 400.0}
    assert chosen(gps=GPS(latency=0.1)).delays == {"EKF2_GPS_DELAY": 100.0}
    fitted = chosen(
        gps=GPS(latency=0.7),
        vision=Odometry(latency=0.03),
        pitot=Airspeed(),
        flow=OpticalFlow(),
        down=Rangefinder(),
    )
    assert fitted.delays == pytest.approx(
        {
            # The largest delay that PX4 accepts.
            "EKF2_GPS_DELAY": 300.0,
            "EKF2_EV_DELAY": 30.0,
            "EKF2_ASP_DELAY": 0.0,
            "EKF2_OF_DELAY": 0.0,
            "EKF2_RNG_DELAY": 0.0,
            "EKF2_DELAY_MAX": 600.0,
        }
    )


def test_the_first_of_each_kind_counts():
    """Two sensors of a kind would be sent as one that jumps between their readings."""
    sensors = chosen(
        down=Rangefinder(), up=Rangefinder(direction=(0, 0, 1)), left=Airspeed(), right=Airspeed()
    )
    distance, near = np.full(2, 3.0), np.full(2, True)
    pressures = [np.full(2, pascals) for pascals in (100.0, 900.0)]
    readings = {
        "up": RangeReading(0.0, distance, near, 0.1, 40.0),
        "down": RangeReading(0.0, distance, near, 0.1, 30.0),
        "left": AirspeedReading(0.0, pressures[0], *np.zeros((2, 2))),
        "right": AirspeedReading(0.0, pressures[1], *np.zeros((2, 2))),
    }
    messages = SensorMessages(2)
    imu, others = sensors.take(readings, [messages])
    assert imu is None
    (message,) = [convert(0, reading, 1) for convert, reading in others]
    # MAV_SENSOR_ROTATION_PITCH_270 is down.
    assert (message.msgname, message.orientation, message.max_distance) == ("DISTANCE_SENSOR", 25, 3000)
    assert messages.message(1, 0, [0.0] * 3, [0.0] * 3).diff_pressure == 1.0


def test_several_sensors_have_their_own_ids():
    """A second IMU, GPS or magnetometer would not reach PX4, or be taken for the first one."""
    half_turn = (0.0, 0.0, 1.0, 0.0)
    sensors = chosen(
        second=IMU(orientation=half_turn), third=IMU(), fourth=IMU(), gps2=GPS(), mag2=Magnetometer()
    )
    assert (sensors.imu, sensors.number_count) == ("imu", 3)

    def sample(k):
        return ImuReading(0.0, np.full((2, 3), 0.1 * k), np.full((2, 3), 1.0 * k))

    def field(k):
        return MagnetometerReading(0.0, np.full((2, 3), 1e-5 * k))

    def fix(k):
        row = np.full(2, float(k))
        return GpsReading(0.0, 0.2, row, row, row, np.zeros((2, 3)), np.full(2, 3), np.full(2, 9), row, row)

    readings = {"imu": sample(1), "second": sample(2), "third": sample(3), "fourth": sample(4)}
    readings |= {"mag": field(1), "mag2": field(2), "gps": fix(1), "gps2": fix(2)}
    messages = [SensorMessages(2, k) for k in range(3)]
    first, others = sensors.take(readings, messages)
    assert first is readings["imu"]
    fixes = [convert(0, reading, 1) for convert, reading in others]
    assert [(message.id, message.lat) for message in fixes] == [(0, 10_000_000), (1, 20_000_000)]
    sent = [message.new_message(1, 4000) for message in messages]
    assert [message.id for message in sent] == [0, 1, 2]
    # Groups: magnetometer, all three, and accelerometer and gyroscope.
    assert [message.fields_updated for message in sent] == [0x1C0, 0x1FF, 0x3F]
    # A half turn about z, and FLU to FRD.
    assert (sent[1].xacc, sent[1].yacc, sent[1].zacc) == pytest.approx((-2.0, 2.0, -2.0))
    assert (sent[2].xacc, sent[2].xgyro) == pytest.approx((3.0, 0.3))
    assert (sent[0].xmag, sent[1].xmag) == pytest.approx((0.1, 0.2))
    assert [message.new_message(1, 8000) for message in messages] == [None, None, None]


@pytest.mark.parametrize("instead", [Odometry(), OpticalFlow()])
def test_there_are_other_ways_to_know_the_place(instead, caplog):
    """A vehicle for indoor flight would cause a wrong warning that PX4 never arms."""
    parts = {"imu": IMU(), "baro": Barometer(), "mag": Magnetometer(), "other": instead}
    HilSensors(Multirotor("iris", sensors=parts)).warn_of_missing(wings=False)
    assert caplog.records == []


def test_what_is_missing_is_said(caplog):
    """No message would explain why PX4 is not clocked, or why it never arms."""
    with pytest.raises(ConfigError, match="has no IMU, whose samples clock PX4"):
        HilSensors(Multirotor("iris", sensors={"gps": GPS()}))
    HilSensors(Multirotor("iris", sensors={"imu": IMU(), "gps": GPS()})).warn_of_missing(wings=False)
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert said == [
        f"vehicle 'iris' has no {what}: PX4 will not arm" for what in ("magnetometer", "barometer")
    ]
