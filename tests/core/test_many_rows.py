"""Tests of steps of many vehicles by several threads: the same bits, faults and estimates as by one."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Multirotor, Simulation
from pegasus.base import row_threads
from pegasus.base.errors import ConfigError
from pegasus.config.files import load_world
from pegasus.config.scenario import WorldSpec
from pegasus.control import GeometricController, trajectories
from pegasus.estimation import EKF

COUNT = row_threads.FEWEST + 100
PLACES = [(3.0 * (k % 25), 3.0 * (k // 25), 5.0) for k in range(COUNT)]


@pytest.fixture(params=[1, 3])
def threads(request, monkeypatch):
    """Let launches be run by one thread, or by three, whatever the machine has."""
    monkeypatch.setattr(row_threads, "thread_count", lambda: request.param)
    row_threads._thread_pool.cache_clear()
    yield request.param
    row_threads._thread_pool.cache_clear()


flights = {}


def test_a_flight_has_the_same_bits(threads):
    """The number of processors would change a flight."""
    wind = {"model": "dryden", "mean_velocity": (5.0, 1.0, 0.0)}
    world = WorldSpec(**load_world("flat")[0].model_dump() | {"wind": wind})
    with Simulation(world, seed=3) as sim:
        hold = GeometricController(trajectories.hold(height=6.0), spin_up=0.0)
        vehicle = Multirotor("iris", count=COUNT, position=PLACES, backends=[hold], estimator=EKF())
        sim.add(vehicle)
        sim.step(60)
        found = [np.array(vehicle.state.position), np.array(vehicle.state.angular_velocity)]
    flights[threads] = found
    for each, first in zip(found, flights[min(flights)], strict=True):
        assert np.isfinite(each).all()
        np.testing.assert_array_equal(each, first)


@pytest.mark.usefixtures("threads")
def test_one_bad_vehicle_among_many_is_named():
    """A fault found by another thread would be lost."""
    with Simulation("flat") as sim:
        vehicle = Multirotor("iris", count=COUNT, position=PLACES)
        sim.add(vehicle)
        sim.step(1)
        vehicle.columns["push"][COUNT - 7] = np.nan
        with pytest.raises(ConfigError, match="wrench on vehicle 'iris'"):
            sim.step(1)
