"""Tests of readings that are recorded from the columns of their sensors."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest

from pegasus import McapRecorder, Multirotor, Simulation, read_log
from pegasus.faults import SensorNoise, SensorOff
from pegasus.sensors import Barometer, BarometerReading, ImuReading
from tests.flyers import PLAIN_IRIS


class Shown:
    """Observer that keeps all new readings of a vehicle."""

    def __init__(self, vehicle: Multirotor) -> None:
        self.vehicle = vehicle
        self.readings: dict[str, list[tuple[float, object]]] = {}

    def start(self, simulation: Simulation) -> None:
        self.readings = {}

    def record(self, simulation: Simulation) -> None:
        for name, reading in self.vehicle.new_readings.items():
            self.readings.setdefault(name, []).append((simulation.time, reading))

    def stop(self) -> None:
        pass


@dataclass(frozen=True, eq=False)
class RoundedReading(BarometerReading):
    """Reading that is not as the columns of its sensor are."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pressure", np.round(self.pressure))


@dataclass(kw_only=True, eq=False)
class Rounding(Barometer):
    """Barometer that declares such readings."""

    gives = RoundedReading, *Barometer.gives[1:]


@dataclass(kw_only=True, eq=False)
class Narrow(Barometer):
    """Barometer whose readings have other types than its columns."""

    def reading(self, stamp: float) -> BarometerReading:
        return BarometerReading(stamp, *(self.rows[name].astype(np.float32) for name in self.gives[1:]))


@pytest.mark.parametrize("count", [1, 3])
def test_the_log_has_the_readings_bit_for_bit(tmp_path: Path, count: int) -> None:
    """The log would miss what faults do to readings, or show readings of another step or copy."""
    sensors = {"rounding": Rounding(rate_hz=40.0), "narrow": Narrow(rate_hz=30.0)}
    with Simulation("flat", observers=[McapRecorder(tmp_path / "log")]) as sim:
        iris = sim.add(Multirotor(PLAIN_IRIS, count=count, extra_sensors=sensors))
        shown = Shown(iris)
        sim.add_observer(shown)
        iris.inject(SensorNoise("imu", field="specific_force", sigma=2.0, start=0.4, end=0.6))
        iris.inject(SensorOff("barometer", start=0.3, end=0.7))
        sim.run(0.5)
        iris.reset([count - 1])
        sim.run(0.25)
        other = sim.add(Multirotor(PLAIN_IRIS, name="other"))
        sim.run(0.25)
        sim.remove(other)
        sim.run(0.75)
    log = read_log(tmp_path / "log")
    assert {"imu", "barometer", "magnetometer", "gps", "rounding", "narrow"} <= set(shown.readings)
    for name, readings in shown.readings.items():
        series = log[f"iris/sensors/{name}"]
        assert series.time.tolist() == [t for t, _ in readings], name
        assert set(series.fields) == {field.name for field in fields(readings[0][1])}
        for field, values in series.fields.items():
            wanted = np.array([getattr(reading, field) for _, reading in readings])
            assert values.dtype == wanted.dtype, (name, field)
            assert values.tobytes() == wanted.tobytes(), (name, field)


def test_readings_are_made_for_their_first_message_only(tmp_path: Path, monkeypatch) -> None:
    """Recording would take the time to make an object for each reading."""
    made, make = [], ImuReading.__init__
    monkeypatch.setattr(ImuReading, "__init__", lambda self, *values: made.append(make(self, *values)))
    with Simulation("flat", observers=[McapRecorder(tmp_path / "log")]) as sim:
        sim.add(Multirotor(PLAIN_IRIS))
        sim.step(100)
    assert len(read_log(tmp_path / "log")["iris/sensors/imu"].time) == 100
    assert len(made) == 1
