"""Tests of determinism: the seed fixes all bits, and states and readings belong to one step."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from flyers import HIGH, Constant, Listener
from processors import KERNELS, digests

from pegasus import Multirotor, Playback, Simulation
from pegasus.config.files import load_world
from pegasus.control import GeometricController, trajectories
from pegasus.environment.wind import Wind


def states_of(listener):
    return np.array(
        [
            np.concatenate([s.position, s.orientation, s.velocity, s.angular_velocity], axis=1)
            for _, s, _ in listener.seen
        ]
    )


def readings_of(listener, name):
    return [vars(readings[name]) for _, _, readings in listener.seen if name in readings]


def fly(others=(), *, seed=3, later=()):
    listener = Listener()
    flight = trajectories.lemniscate(radius=3.0, height=2.0)
    with Simulation("courtyard", seed=seed) as sim:
        for make in others:
            sim.add(make())
        sim.add(Multirotor("iris", name="watched", backends=[GeometricController(flight), listener]))
        sim.step(500)
        for make in later:
            sim.add(make())
        sim.step(1000)
    return listener


def assert_same_bits(a, b):
    np.testing.assert_array_equal(states_of(a), states_of(b))
    for name in ("imu", "gps", "barometer", "magnetometer"):
        for first, second in zip(readings_of(a, name), readings_of(b, name), strict=True):
            for key in first:
                np.testing.assert_array_equal(first[key], second[key])


def test_same_seed_same_bits_and_another_seed_others():
    """Global random state or wall-clock time would make two runs differ, or the seed would have no effect."""
    first, again, other = fly(), fly(), fly(seed=4)
    assert_same_bits(first, again)
    assert (
        readings_of(first, "imu")[10]["specific_force"] != readings_of(other, "imu")[10]["specific_force"]
    ).all()


def test_every_sensor_and_vehicle_has_its_own_noise():
    """A shared random stream would give two vehicles the same measurement errors."""
    with Simulation("flat") as sim:
        first, second = (
            sim.add(Multirotor("iris", name=n, position=(3 * i, 0, 0.1))) for i, n in enumerate("ab")
        )
        sim.step()
        errors = [v.readings["imu"].angular_velocity for v in (first, second)]
        assert (errors[0] != errors[1]).all()


def test_the_wind_blows_alike_after_a_reset():
    """Gusts that are drawn anew on reset would make the second flight differ."""
    gusty = load_world("flat")[0].model_copy(
        update={"wind": {"model": "gusts", "mean_velocity": [4, 0, 0], "intensity": 1.0}}
    )
    with Simulation(gusty, seed=2) as sim:
        vehicle = sim.add(Multirotor("iris", position=(0, 0, 100)))
        positions = []
        for _ in range(2):
            sim.step(200)
            positions.append(vehicle.state.position.copy())
            sim.reset()
        np.testing.assert_array_equal(*positions)
        assert abs(positions[0][0, 0]) > 0.03


@dataclass(eq=False)
class Squalls(Wind):
    """Custom wind that draws random numbers at every call."""

    def bind(self, rng):
        self.rng = rng

    def velocity(self, position, t):
        return np.tile(self.rng.normal(scale=5.0, size=3), (len(position), 1))


def test_a_wind_with_a_state_begins_anew_on_reset():
    """A random stream that continues after a reset would give the second flight another wind."""
    world = load_world("flat")[0].model_copy(update={"wind": {"model": f"{__name__}:Squalls"}})
    with Simulation(world, seed=2) as sim:
        vehicle = sim.add(Multirotor("iris", position=(0, 0, 100)))
        positions = []
        for _ in range(2):
            sim.step(50)
            positions.append(vehicle.state.position.copy())
            sim.reset()
        np.testing.assert_array_equal(*positions)


def test_a_vehicle_far_away_changes_no_bit():
    """Random streams by order of creation, or a solver over all bodies, would let others change a log."""
    far = [
        lambda: Multirotor(
            "iris",
            position=(25, 25, 0.1),
            count=3,
            backends=[GeometricController(trajectories.hold(height=2.0))],
        )
    ]
    alone = fly()
    assert_same_bits(alone, fly(others=far))
    assert_same_bits(alone, fly(later=far))


def test_neither_company_nor_the_processor_changes_a_bit():
    """Sums by a linear algebra library would depend on the processor and on the number of copies."""
    script = Path(__file__).with_name("flight_digest.py")
    # Without a choice OpenBLAS takes the kernels for the processor that it runs on.
    found = [digests(script, **choice) for choice in ({KERNELS: "Nehalem"}, {})]
    for by_company in found[0].values():
        assert len(set(by_company.values())) == 1, found
    assert found[0] == found[1]


def test_n_copies_fly_like_n_vehicles():
    """A formula that mixes rows would fly a batch differently from single vehicles."""
    flight = trajectories.circle(radius=2.0, height=2.0)
    starts = [(0.0, 0.0, 0.1), (6.0, 1.0, 0.1), (-6.0, 2.0, 0.1)]
    with Simulation("flat") as sim:
        batch = sim.add(
            Multirotor("iris", count=3, position=starts, sensors={}, backends=[GeometricController(flight)])
        )
        sim.step(1500)
        together = batch.state.position.copy()
    for i, start in enumerate(starts):
        with Simulation("flat") as sim:
            single = sim.add(
                Multirotor("iris", position=start, sensors={}, backends=[GeometricController(flight)])
            )
            sim.step(1500)
            np.testing.assert_allclose(together[i], single.state.position[0], atol=1e-9)


def test_reset_gives_the_same_flight_again():
    """A sensor or controller that is not reset would make the second flight differ."""
    listener, flights = Listener(), []
    with Simulation("flat", seed=5) as sim:
        sim.add(Multirotor("iris", backends=[GeometricController(trajectories.hold(height=2.0)), listener]))
        for restart in (sim.reset, sim.stop, sim.pause):
            sim.step(600)
            assert sim.time == pytest.approx(2.4)
            flights.append(listener.seen)
            listener.seen = []
            playing = sim.playback
            restart()
            assert sim.step_count == (600 if restart == sim.pause else 0)
            assert sim.playback is {sim.reset: playing, sim.stop: Playback.STOPPED}.get(
                restart, Playback.PAUSED
            )
    for flight in flights[1:]:
        for (ta, a, ra), (tb, b, rb) in zip(flights[0], flight, strict=True):
            assert ta == tb
            np.testing.assert_array_equal(a.position, b.position)
            assert ra.keys() == rb.keys()
            if "imu" in ra:
                np.testing.assert_array_equal(ra["imu"].specific_force, rb["imu"].specific_force)


@pytest.mark.parametrize("rate", [250, 333, 1000])
def test_state_readings_and_time_are_of_the_same_step(rate):
    """A reading would be published with the state of another step, and mislead estimators."""
    flyer = Constant(700.0)
    with Simulation("flat", rate=rate) as sim:
        sim.add(Multirotor("iris", position=HIGH, backends=[flyer]))
        sim.step(rate)
    times = np.array([t for t, _, _ in flyer.seen])
    np.testing.assert_allclose(times, np.arange(rate) / rate, rtol=1e-15)
    counts = {
        name: sum(name in readings for _, _, readings in flyer.seen) for name in ("imu", "gps", "barometer")
    }
    assert counts == {"imu": 250, "gps": 10, "barometer": 50}
    assert all(reading.stamp == t for t, _, readings in flyer.seen for reading in readings.values())
