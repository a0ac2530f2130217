"""Tests of policies that command levels: the core flies them by the controllers of the fleet, bit by bit."""

import dataclasses

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.contracts.backend import Backend
from pegasus.fleet import Fleet
from pegasus.fleet.levels import LEVELS
from pegasus.learn import Flights, Layer, PolicyController, evaluate, write_policy
from pegasus.learn.core_flights import Disturbances, evaluate_in_core
from pegasus.learn.level_pilot import LevelPilot
from pegasus.learn.policy_file import PolicyFile
from pegasus.learn.tasks import Hover
from pegasus.learn.training import description_of

RATE, HEIGHT = 500.0, 60.0


class Commanded(Backend):
    """Flies by commands of a level, which are functions of time."""

    drives, reads_sensors = True, False

    def __init__(self, level, weight):
        self.level, self.weight = level, weight

    def bind(self, vehicle):
        self.pilot = LevelPilot(self.level, vehicle)

    def publish(self, t, state, readings):
        self.state = state

    def command(self, t):
        return self.pilot.speeds(t, self.state, np.array([self.given(t)]))

    def given(self, t):
        """Return the commands at a time, shape (U,)."""
        c, s, w = np.cos(t), np.sin(3.0 * t), self.weight
        return {
            "thrusts": [w / 4 * (1.0 + 0.1 * s)] * 4,
            "rates": [w * (1.0 + 0.1 * s), 0.3 * s, 0.2 * c, 0.1],
            "attitude": [w * (1.0 + 0.1 * s), 0.06, -0.03 * c, 0.1, 0.99],
            "velocity": [c, -0.5, 0.2, 0.4],
            "position": [1.0, 2.0, HEIGHT + c, 0.4],
            "reference": [1.0, 2.0, HEIGHT + c, 0.0, 0.1, -s, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.0],
        }[self.level]


@pytest.mark.parametrize("level", LEVELS[1:])
def test_the_core_flies_a_level_with_the_bits_of_a_fleet(level):
    """Another law, another time between calls or another look-up of the air would part the flights."""
    backend = Commanded(level, Multirotor("iris").mass * 9.8)
    fleet = Fleet("iris", 1, level=level, rate=RATE, dtype="float64")
    with Simulation(rate=RATE) as sim:
        vehicle = sim.add(
            Multirotor("iris", position=(0, 0, HEIGHT), backends=[backend], sensors={}, estimator=None)
        )
        sim.play()
        fleet.reset(position=vehicle.state.position)
        for k in range(600):
            fleet.step(backend.given(k / RATE))
            sim.step()
            assert np.array_equal(fleet.state.position, vehicle.state.position), sim.time
        assert np.array_equal(fleet.state.orientation, vehicle.state.orientation)
        assert np.linalg.norm(vehicle.state.velocity) > 0.2


def rate_policy(path, task, **changes):
    """Write a policy that hovers by thrust and body rates, from feedback of place, velocity and tilt."""
    flights = Flights(task, 1)
    flights.begin(np.ones(1, dtype=bool))
    places, first = {}, 0
    for term in task.observation:
        size = term(flights.episodes).shape[1]
        places[term.name], first = slice(first, first + size), first + size
    gains = np.zeros((4, first))
    near, velocity, tilt = (places[name] for name in ("position_error", "velocity", "rotation"))
    # Thrust, and rates about x and y: a lean by 0.3 for each metre and 0.4 for each metre per second.
    gains[0, near][2], gains[0, velocity][2] = -0.8, -0.8
    gains[1, tilt][5], gains[1, near][1], gains[1, velocity][1] = 0.6, 0.18, 0.5
    gains[2, tilt][2], gains[2, near][0], gains[2, velocity][0] = -0.6, -0.18, -0.5
    about = dataclasses.replace(description_of(flights), **changes)
    write_policy(path, [Layer(gains, flights.rest_action, None)], about)
    return path


@pytest.mark.learn
def test_a_policy_of_rates_flies_alike_in_fleet_and_core(tmp_path):
    """Body rates that another controller follows, or thrust in another unit, would give another flight."""
    task = Hover(level="rates", tilt=0.3, speed=0.3, turn_rate=0.5, duration=5.0)
    file = rate_policy(tmp_path / "p.onnx", task)
    about = PolicyFile(file).description
    assert (about.level, about.channels) == ("rates", ("thrust", "rate_x", "rate_y", "rate_z"))
    share, error = evaluate(PolicyFile(file), task, count=8, seed=5)
    assert share == 1.0
    in_core = evaluate_in_core(file, task, Disturbances(), count=8, seed=5)
    assert in_core.success == 1.0
    assert in_core.measure == pytest.approx(error, abs=1e-4)


@pytest.mark.learn
def test_a_snapshot_of_a_flight_by_rates(tmp_path):
    """A state of the controller that is not saved would give another flight."""
    file = rate_policy(tmp_path / "p.onnx", Hover(level="rates"))
    with Simulation("flat", rate=500) as sim:
        pilot = PolicyController(file)
        vehicle = sim.add(Multirotor("crazyflie", count=2, position=[(0, 0, 1), (3, 0, 1)], backends=[pilot]))
        sim.step(203)
        saved = sim.snapshot()
        sim.step(300)
        flown = vehicle.position.copy()
        sim.restore(saved)
        sim.step(300)
        np.testing.assert_array_equal(vehicle.position, flown)
        assert abs(flown - vehicle.start.position).max() < 1.0


@pytest.mark.learn
def test_a_level_that_a_vehicle_does_not_have(tmp_path):
    """A plane would be commanded by body rates of a multirotor; a file of an unknown level would fly."""
    file = rate_policy(tmp_path / "p.onnx", Hover(level="rates"))
    with Simulation("flat", rate=500) as sim, pytest.raises(ConfigError, match="speeds of rotors"):
        sim.add(Multirotor("plane", position=(0, 0, 5), backends=[PolicyController(file)]))
    odd = rate_policy(tmp_path / "odd.onnx", Hover(level="rates"), level="wishes")
    with pytest.raises(ConfigError, match="level 'wishes', which must be one of channels, thrusts"):
        PolicyFile(odd)
    with pytest.raises(ConfigError, match="level = 'rate': must be one of channels, thrusts"):
        Hover(level="rate")


def test_ranges_of_actions():
    """Actions would command what the user did not ask for, or what the vehicle cannot do."""
    flights = Flights(Hover(level="rates", ranges={"rate_z": (-1.0, 2.0)}, effort=0.5), 1)
    weight = flights.fleet.vehicle.mass * 9.80
    assert flights.low == pytest.approx([0.5 * weight, -8.0, -8.0, -1.0], rel=2e-3)
    assert flights.high == pytest.approx([1.5 * weight, 8.0, 8.0, 2.0], rel=2e-3)
    assert flights.rest_action == pytest.approx([0.0, 0.0, 0.0, -1.0 / 3.0])
    for ranges, says in (
        ({"rate": (-1.0, 1.0)}, "ranges = 'rate': is not commanded; did you mean rate_"),
        ({"thrust": (-1.0, 1.0)}, r"ranges.thrust = \[-1.0, 1.0\]: must be within thrust \[N\], 0 to inf"),
        ({"rate_x": (2.0, 1.0)}, r"ranges.rate_x = "),
    ):
        with pytest.raises(ConfigError, match=says):
            Flights(Hover(level="rates", ranges=ranges), 1)
