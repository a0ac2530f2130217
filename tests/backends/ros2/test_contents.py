"""Tests of messages of rare readings: nothing in range, no fix, a battery, two sensors of a kind."""

import math

import numpy as np
import pytest
from ros2_types import BatteryState, FluidPressure, JointState, NavSatFix, Range

from pegasus import Multirotor, Simulation
from pegasus.backends.ros2.contents import Variances, sensor_contents, state_contents
from pegasus.backends.ros2.frames import Frames
from pegasus.backends.ros2.messages import Template, constants, decode
from pegasus.dynamics import Battery
from pegasus.sensors import (
    GPS,
    IMU,
    Airspeed,
    AirspeedReading,
    GpsReading,
    Magnetometer,
    Rangefinder,
    RangeReading,
)
from pegasus.sensors.battery_monitor import BatteryReading
from tests.flyers import PLAIN_IRIS


def told(content, kind, reading):
    """Return the messages of each copy for a reading."""
    template = Template(content.message(Frames().names("d0")), *content.varying)
    return [decode(kind, template.pack(1, 2, *row)) for row in content.numbers(reading)]


def test_a_beam_that_finds_nothing():
    """No target, or one too near, would be sent as a target at the range limit (REP 117)."""
    sensors = {"down": Rangefinder(min_range=0.2, max_range=10.0, ray_count=9, cone_angle=0.5)}
    ((content,),) = sensor_contents(Multirotor(PLAIN_IRIS, sensors=sensors)).values()
    distance, valid = np.array([4.0, 10.0, 0.2]), np.array([True, False, False])
    messages = told(content, Range, RangeReading(0.0, distance, valid, 0.2, 10.0))
    assert [message.range for message in messages] == [4.0, math.inf, -math.inf]
    first = messages[0]
    assert (first.radiation_type, first.field_of_view) == (constants(Range).ULTRASOUND, 0.5)
    assert (first.min_range, first.max_range) == pytest.approx((0.2, 10.0))
    assert (first.header.frame_id, first.header.stamp.sec, first.header.stamp.nanosec) == ("d0/down", 1, 2)


def test_a_pitot_tube():
    """The airspeed would be missing, or be calculated from a wrong pressure."""
    sensors = {"pitot": Airspeed(rate_hz=50.0, noise_density=0.2)}
    ((content,),) = sensor_contents(Multirotor(PLAIN_IRIS, sensors=sensors)).values()
    reading = AirspeedReading(0.0, np.array([61.25, -1.0]), np.array([10.0, -1.3]), np.full(2, 288.0))
    messages = told(content, FluidPressure, reading)
    assert content.topic == "sensors/diff_pressure"
    assert [message.fluid_pressure for message in messages] == [61.25, -1.0]
    assert messages[0].variance == pytest.approx(2.0)
    assert messages[0].header.frame_id == "d0/pitot"


def test_a_receiver_without_a_fix():
    """An invalid position would be marked as valid."""
    content, _ = sensor_contents(Multirotor(PLAIN_IRIS, sensors={"gps": GPS()}))["gps"]
    one, three = np.ones(3), np.full(3, 3.0)
    fixes = np.array([0, 2, 3])
    reading = GpsReading(0.2, 0.0, one, one, one, np.zeros((3, 3)), one, three, fixes, fixes)
    messages = told(content, NavSatFix, reading)
    assert [message.status.status for message in messages] == [-1, 0, 0]
    assert messages[0].position_covariance.tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 9]


def test_joints_of_a_plane():
    """A robot model in RViz would stand still, or joints have the angles of others."""
    plane = Multirotor("plane", count=2, position=(0, 0, 5))
    plane.columns["joint_angle"][...] = np.arange(12.0).reshape(2, 6) / 10
    contents = state_contents(plane, Frames(), Variances((0.0,) * 6, (0.0,) * 6))
    (content,) = [content for content in contents if content.topic == "joint_states"]
    first, second = told(content, JointState, plane.state)
    assert first.name == ["left_elevon", "right_elevon", "left_flap", "right_flap", "elevator", "rudder"]
    assert first.position.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert second.position.tolist() == [0.6, 0.7, 0.8, 0.9, 1.0, 1.1]
    iris = state_contents(Multirotor(PLAIN_IRIS), Frames(), Variances((0.0,) * 6, (0.0,) * 6))
    assert "joint_states" not in [content.topic for content in iris]


def test_a_battery():
    """Currents would have the wrong sign (sensor_msgs: negative while discharging), or charges the unit."""
    battery = Battery(cell_count=3, capacity=5.0, resistance=0.01)
    with Simulation("flat") as simulation:
        (content,) = sensor_contents(simulation.add(Multirotor(PLAIN_IRIS, battery=battery)))["battery"]
    reading = BatteryReading(0.0, np.array([11.5]), np.array([20.0]), np.array([0.75]))
    (message,) = told(content, BatteryState, reading)
    assert (message.voltage, message.current, message.percentage) == (11.5, -20.0, 0.75)
    assert (message.charge, message.capacity, message.design_capacity) == (3.75, 5.0, 5.0)
    assert math.isnan(message.temperature)
    assert message.present
    assert message.power_supply_status == constants(BatteryState).POWER_SUPPLY_STATUS_DISCHARGING
    assert message.power_supply_technology == constants(BatteryState).POWER_SUPPLY_TECHNOLOGY_LIPO
    assert content.topic == "battery"


def test_a_second_sensor_of_a_kind_has_its_own_name():
    """Two sensors would publish on one topic."""
    sensors = {"a": IMU(), "b": IMU(), "imu": IMU(), "mag": Magnetometer(), "c": GPS(), "d": GPS()}
    contents = sensor_contents(Multirotor(PLAIN_IRIS, sensors=sensors))
    assert [content.topic for items in contents.values() for content in items] == [
        "sensors/imu",
        "sensors/b",
        "sensors/imu_2",
        "sensors/mag",
        "sensors/gps",
        "sensors/gps_twist",
        "sensors/d",
        "sensors/d_twist",
    ]
