"""Tests of a custom sensor in the log, the panel, ROS 2 and PX4, each by one registration."""

from dataclasses import dataclass

import numpy as np
import pytest

from pegasus import McapRecorder, Multirotor, Simulation, read_log
from pegasus.backends.px4 import HIL_SOURCES, HilSource
from pegasus.backends.px4.hil_sensors import HilSensors
from pegasus.base.arrays import Array
from pegasus.base.registry import ClassTable
from pegasus.panel.telemetry import telemetry
from pegasus.sensors import IMU, SENSORS, Reading, Sensor
from pegasus.session.snapshot import snapshot
from tests.flyers import PLAIN_IRIS


@dataclass(frozen=True, eq=False)
class Humidity(Reading):
    """Relative humidity."""

    humidity: Array
    """Relative humidity, 0 to 1, shape (N,)."""


@dataclass(kw_only=True, eq=False)
class Hygrometer(Sensor):
    """Hygrometer with known readings."""

    rate_hz: float = 50.0
    latency: float = 0.1

    def measure(self, state, t):
        return Humidity(t, np.full(self.count, 0.25 + t))


class BetterHygrometer(Hygrometer):
    """Subclass without registrations."""


@pytest.fixture
def flight(tmp_path, monkeypatch):
    """Return a simulation of a vehicle with both hygrometers after 20 steps, and its log."""
    path = tmp_path / "flight.mcap"
    monkeypatch.setattr(SENSORS, "_kinds", dict(SENSORS._kinds))
    SENSORS.register("hygrometer", Hygrometer)
    model = {
        **Multirotor(PLAIN_IRIS).spec.model_dump(exclude_unset=True),
        "sensors": {"imu": {"model": "imu"}},
    }
    model["sensors"]["damp"] = {"model": "hygrometer"}
    with Simulation("flat", observers=[McapRecorder(path)]) as simulation:
        simulation.add(Multirotor(model, extra_sensors={"second": BetterHygrometer()}))
        simulation.step(20)
        yield simulation, path


def test_the_log_and_the_panel_have_it(flight):
    """A new reading would be dropped by the recorder or the panel, or lose its docstrings in the log."""
    simulation, path = flight
    vehicle = next(iter(simulation.vehicles))
    unused = {"speed": None, "real_time_factor": 1.0, "recording": None, "suggested_viewpoint": None}
    shown = telemetry(snapshot(simulation, number=1, generation=1, **unused), vehicle.name)
    assert shown.readings["damp"]["humidity"] == vehicle.readings["damp"].humidity
    simulation.close()
    logged = read_log(path)[f"{vehicle.name}/sensors/damp"]
    np.testing.assert_array_equal(logged.humidity[:, 0], 0.25 + logged.time)
    assert len(logged.time) == 4


def test_ros_2_has_it(flight, monkeypatch):
    """A registered topic would not be published, or a subclass would have no topic."""
    ros2 = pytest.importorskip("pegasus.backends.ros2")
    contents = pytest.importorskip("pegasus.backends.ros2.contents")
    monkeypatch.setattr(ros2.SENSOR_TOPICS, "_entries", dict(ros2.SENSOR_TOPICS._entries))
    vehicle = next(iter(flight[0].vehicles))
    assert contents.sensor_contents(vehicle).keys() == {"imu"}

    def topics(topic, name, sensor):
        def message(frames):
            kind = "sensor_msgs/msg/RelativeHumidity"
            return ros2.message(kind, header={"frame_id": frames.own(name)}, variance=1.0 / sensor.rate_hz)

        fields = ("header.stamp", "relative_humidity")
        numbers = lambda reading: [(value,) for value in reading.humidity.tolist()]  # noqa: E731
        return [ros2.Content(topic, message, fields, numbers, ros2.SENSOR_DATA)]

    ros2.SENSOR_TOPICS.register(Hygrometer, ros2.SensorTopics("sensors/humidity", topics))
    found = contents.sensor_contents(vehicle)
    assert {name: [c.topic for c in items] for name, items in found.items()} == {
        "imu": ["sensors/imu"],
        "damp": ["sensors/humidity"],
        "second": ["sensors/second"],
    }
    (content,) = found["damp"]
    template = ros2.Template(content.message(ros2.Frames().names("iris")), *content.varying)
    (row,) = content.numbers(vehicle.readings["damp"])
    decoded = ros2.decode("sensor_msgs/msg/RelativeHumidity", template.pack(1, 2, *row))
    assert decoded.relative_humidity == row[0] == vehicle.readings["damp"].humidity[0]


def test_px4_has_it(monkeypatch):
    """A registered sensor would not fill its message, or the estimator would not get the reading's age."""
    monkeypatch.setattr(HIL_SOURCES, "_entries", dict(HIL_SOURCES._entries))
    taken = []
    source = HilSource(
        take=lambda messages, reading: taken.append((messages, reading)), delay="EKF2_HYG_DELAY"
    )
    HIL_SOURCES.register(Hygrometer, source)
    sensors = HilSensors(Multirotor(PLAIN_IRIS, sensors={"imu": IMU(), "damp": BetterHygrometer()}))
    reading = Humidity(0.0, np.array([0.5]))
    assert sensors.take({"damp": reading}, ["messages of all copies"]) == (None, [])
    assert taken == [("messages of all copies", reading)]
    assert sensors.delays["EKF2_HYG_DELAY"] == pytest.approx(100.0)


def test_the_nearest_base_counts():
    """A registered subclass would use its base's entry, or an unrelated class would use one."""
    table = ClassTable({Sensor: "any", Hygrometer: "damp"})
    assert [table.find(item) for item in (BetterHygrometer(), IMU(), 1)] == ["damp", "any", None]
    table.register(BetterHygrometer, "better")
    assert table.find(BetterHygrometer()) == "better"
