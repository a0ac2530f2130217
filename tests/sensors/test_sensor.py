"""Schedule and NoiseBlock: exact rates, and streams that depend on nothing but the seed."""

from fractions import Fraction

import numpy as np
import pytest

from pegasus.errors import ConfigError
from pegasus.sensors import NoiseBlock, Schedule

RATES = [1.0, 7.0, 10.0, 33.3, 50.0, 99.9, 100.0, 200.0, 249.5, 250.0]


@pytest.mark.parametrize("physics", [250.0, 333.0, 1000.0])
@pytest.mark.parametrize("rate", RATES)
def test_reading_count_is_exact_at_every_step(physics: float, rate: float) -> None:
    """A sensor would run fast or slow, or drift against the clock, at some physics rate."""
    schedule = Schedule(rate, physics, name="imu")
    ratio = Fraction(str(rate)) / Fraction(str(physics))
    given = 0
    for step in range(3000):
        given += schedule.due(step)
        # Instants k / rate at or before this step's time, the one at 0 included.
        assert given == step * ratio // 1 + 1


def test_rate_below_physics_rate_is_not_lowered_to_a_divisor() -> None:
    """200 Hz at 250 Hz physics would become 125 Hz, as a naive accumulator has it."""
    schedule = Schedule(200.0, 250.0, name="imu")
    due = [step for step in range(250_000) if schedule.due(step)]
    assert len(due) == 200_000
    assert set(np.diff(due)) == {1, 2}


def test_rate_equal_to_physics_rate_is_due_at_every_step() -> None:
    """Rounding would skip a step now and then where nothing is to be skipped."""
    schedule = Schedule(333.3, 333.3, name="imu")
    assert all(schedule.due(step) for step in range(10_000))


def test_a_sensor_that_joins_late_does_not_catch_up() -> None:
    """A vehicle added while running would get a burst of readings, one at every step, for those it missed."""
    schedule = Schedule(10.0, 250.0, name="gps")
    assert [step for step in range(1003, 1100) if schedule.due(step)] == [1003, 1025, 1050, 1075]


@pytest.mark.parametrize("rate", [0.0, -1.0, 1e-9, 250.1, float("nan"), float("inf")])
def test_impossible_rate_is_refused(rate: float) -> None:
    """A rate that cannot be kept would be accepted and silently not be kept."""
    with pytest.raises(ConfigError, match=r"sensors\.gps\.rate_hz.*or more and at most.*250 Hz"):
        Schedule(rate, 250.0, name="gps")


@pytest.mark.parametrize("shape", [(6,), (2, 3), (2, 1000, 3), (5000,)])
def test_noise_block_hands_out_the_generators_own_sequence(shape: tuple[int, ...]) -> None:
    """The numbers would depend on how many are drawn at a time."""
    streams = np.random.default_rng(3).spawn(2)
    block = NoiseBlock(streams, shape)
    rows = np.array([block.take().copy() for _ in range(700 if shape[0] < 10 and len(shape) < 3 else 3)])
    for vehicle, stream in enumerate(np.random.default_rng(3).spawn(2)):
        own = rows[:, vehicle]
        assert np.array_equal(own.ravel(), stream.standard_normal(own.size))
