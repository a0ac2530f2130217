"""Tests of sensor schedules, noise blocks, and readings that depend only on the seed."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flat_ground import OverGround

from pegasus.base.errors import ConfigError
from pegasus.contracts.state import VehicleState
from pegasus.core.schedule import Schedule
from pegasus.environment import Environment
from pegasus.sensors import (
    GPS,
    IMU,
    Airspeed,
    Barometer,
    Magnetometer,
    NoiseBlock,
    Odometry,
    OpticalFlow,
    Rangefinder,
    Reading,
    Sensor,
    Vibration,
)


@dataclass(kw_only=True, eq=False)
class Variometer(Sensor):
    """Variometer implemented in Python."""

    rate_hz: float = 10.0

    def measure(self, state: VehicleState, t: float) -> Reading:
        """Return an empty reading."""
        return Reading(t)


RATES = [1.0, 7.0, 10.0, 33.3, 50.0, 99.9, 100.0, 200.0, 249.5, 250.0]


@pytest.mark.parametrize("physics", [250.0, 333.0, 1000.0])
@pytest.mark.parametrize("rate", RATES)
def test_reading_count_is_exact_at_every_step(physics: float, rate: float) -> None:
    """A sensor's rate would be too high, too low, or drift against the clock at some physics rate."""
    schedule = Schedule(rate, physics, name="imu")
    ratio = Fraction(str(rate)) / Fraction(str(physics))
    given = 0
    for step in range(3000):
        given += schedule.due(step)
        # Count of instants k / rate up to this step's time, including 0.
        assert given == step * ratio // 1 + 1


def test_rate_below_physics_rate_is_not_lowered_to_a_divisor() -> None:
    """200 Hz at 250 Hz physics would become 125 Hz, as with a naive accumulator."""
    schedule = Schedule(200.0, 250.0, name="imu")
    due = [step for step in range(250_000) if schedule.due(step)]
    assert len(due) == 200_000
    assert set(np.diff(due)) == {1, 2}


def test_rate_equal_to_physics_rate_is_due_at_every_step() -> None:
    """Rounding would skip some steps."""
    schedule = Schedule(333.3, 333.3, name="imu")
    assert all(schedule.due(step) for step in range(10_000))


@pytest.mark.parametrize("physics", [250.0, 333.0])
@pytest.mark.parametrize("rate", RATES)
def test_the_next_step_that_is_due_is_foretold(physics: float, rate: float) -> None:
    """A table of sensors would miss a reading, or be evaluated without one."""
    schedule = Schedule(rate, physics, name="imu")
    due = [step for step in range(2000) if schedule.due(step)]
    assert due == [step for step in range(2000) if schedule.falls_on(step)]
    following = [schedule.next(step) for step in range(due[-2])]
    assert following == [next(d for d in due if d > step) for step in range(due[-2])]


def test_a_sensor_that_joins_late_does_not_catch_up(bench: Any) -> None:
    """A vehicle added late would get a reading at every step, for those that it missed."""
    for sensor in (GPS(), Variometer()):
        state = bench.bind(sensor, rate=250.0)
        bank, vehicle = bench.banks[id(sensor)]
        suite = vehicle.sensors
        vehicle.name, vehicle.environment = "late", bench.environment
        suite.bind(vehicle, rate=250.0, seed=0)
        given = []
        for step in range(1003, 1100):
            bank.measure([vehicle], vars(state), step, step / 250)
            given += [step] * len(suite.new_readings)
        assert given == [1003, 1025, 1050, 1075]


@pytest.mark.parametrize("rate", [0.0, -1.0, 1e-9, 250.1, float("nan"), float("inf")])
def test_impossible_rate_is_refused(rate: float) -> None:
    """A rate that is not possible would be accepted and not be kept."""
    with pytest.raises(ConfigError, match=r"sensors\.gps\.rate_hz.*or more and at most.*250 Hz"):
        Schedule(rate, 250.0, name="gps")


@pytest.mark.parametrize("shape", [(6,), (2, 3), (2, 1000, 3), (5000,)])
def test_noise_block_hands_out_the_generators_own_sequence(shape: tuple[int, ...]) -> None:
    """The numbers would depend on the block size."""
    streams = np.random.default_rng(3).spawn(2)
    block = NoiseBlock(streams, shape)
    rows = np.array([block.take().copy() for _ in range(700 if shape[0] < 10 and len(shape) < 3 else 3)])
    for vehicle, stream in enumerate(np.random.default_rng(3).spawn(2)):
        own = rows[:, vehicle]
        assert np.array_equal(own.ravel(), stream.standard_normal(own.size))


@pytest.mark.parametrize(
    "sensor",
    [
        IMU(vibration=Vibration(in_plane=5e-6), position=(0.1, 0.0, 0.0)),
        GPS(),
        Barometer(),
        Magnetometer(turn_on_bias=1e-6),
        Airspeed(turn_on_bias=2.0),
        Odometry(),
        Rangefinder(),
        OpticalFlow(),
    ],
    ids=lambda sensor: type(sensor).__name__,
)
def test_same_stream_same_bits_after_every_bind(
    sensor: Sensor, bench: Any, same_readings: Callable[[Any, Any], bool]
) -> None:
    """A reset would keep a fix, a history or errors, or a seed would not determine a run."""
    if isinstance(sensor, Airspeed):
        bench.environment = Environment()
    runs = []
    for seed in (1, 1, 2):
        if isinstance(sensor, Rangefinder | OpticalFlow):
            state = OverGround(sensor, count=2, seed=seed).state
        else:
            state = bench.bind(sensor, count=2, seed=seed)
        state.rotor_speed[:] = 600.0
        runs.append(bench.readings(sensor, state, 500))
    assert all(map(same_readings, runs[0], runs[1]))
    assert not any(map(same_readings, runs[0], runs[2]))
