"""Tests of turbulence in fleets: that of a simulation, repeated by a reset, other gusts for each row."""

import numpy as np
import pytest

from pegasus import Backend, Multirotor, Simulation
from pegasus.environment import ConstantWind, DrydenWind, Environment, SumWind, VonKarmanWind
from pegasus.fleet import Fleet

KINDS = {"dryden": DrydenWind, "von_karman": VonKarmanWind}
HOVER = np.full(4, 590.0)


class Hovering(Backend):
    """Backend that commands the speed of hover."""

    drives = True

    def command(self, t):
        return np.tile(HOVER, (3, 1))


def windy(name):
    """Return an environment with turbulence over a mean wind."""
    mean = ConstantWind(mean_velocity=(3.0, 1.0, 0.0))
    return Environment(wind=SumWind(parts=[mean, KINDS[name](wind_at_20_ft=7.0)]))


@pytest.mark.parametrize("name", list(KINDS))
def test_equals_the_core(name):
    """Turbulence of a fleet has the bits of a simulation with the same seed, over a mean wind."""
    place = np.array([[0.0, 0.0, 20.0], [5.0, 0.0, 40.0], [9.0, 3.0, 60.0]])
    fleet = Fleet("iris", 3, dtype="float64", environment=windy(name), seed=5)
    wind = [{"mean_velocity": [3.0, 1.0, 0.0]}, {"model": name, "wind_at_20_ft": 7.0}]
    with Simulation(seed=5, rate=500.0, wind=wind) as sim:
        vehicle = sim.add(Multirotor("iris", count=3, position=place, backends=[Hovering()], sensors={}))
        sim.play()
        fleet.reset(position=vehicle.state.position, orientation=vehicle.state.orientation)
        for _ in range(400):
            sim.step()
        fleet.step(HOVER, 400)
        for field in ("position", "orientation", "velocity", "angular_velocity"):
            assert np.array_equal(getattr(fleet.state, field), vehicle.columns[field]), field
    assert np.ptp(fleet.state.velocity[:, :2], axis=0).max() > 0.1


def test_a_reset_repeats_its_gusts():
    """A row that is reset meets the same gusts again, the others go on; another seed gives other gusts."""
    fleet = Fleet("iris", 2, environment=windy("dryden"), seed=1)
    fleet.reset(position=(0.0, 0.0, 30.0))
    fleet.step(HOVER, 100)
    first = fleet.state.velocity.copy()
    assert abs(first[0] - first[1]).max() > 1e-3
    fleet.reset([1], position=(0.0, 0.0, 30.0))
    fleet.step(HOVER, 100)
    assert np.array_equal(fleet.state.velocity[1], first[1])
    assert not np.array_equal(fleet.state.velocity[0], first[0])
    other = Fleet("iris", 2, environment=windy("dryden"), seed=2)
    other.reset(position=(0.0, 0.0, 30.0))
    other.step(HOVER, 100)
    assert abs(other.state.velocity - first).max() > 1e-3
