"""Gaps between shapes as bounds of the distance: steps near something that need no collision detection."""

import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.engines.mujoco_proximity import Proximity


def test_a_vehicle_that_hovers_a_millimetre_above_the_ground_is_seldom_detected(monkeypatch):
    """If this fails, take-offs and landings cost five times what they must."""
    detected = []
    detect = Proximity.detect
    monkeypatch.setattr(Proximity, "detect", lambda self, rows: (detected.append(1), detect(self, rows)))
    world = {"extends": "flat", "gravity": {"model": "uniform", "acceleration": 0.1}}
    with Simulation(world=world, seed=1) as sim:
        iris = sim.add(Multirotor("iris", position=[0.0, 0.0, 1.0]))
        lowest = iris.asset.lowest_point
        iris.place(position=[[0.0, 0.0, 0.001 - lowest]])
        sim.step()
        detected.clear()
        sim.step(20)
        assert 0.0 < float(iris.state.position[0, 2]) + lowest < 0.001
    # Two of them are searches with the box around the vehicle.
    assert len(detected) <= 8


def test_gaps_end_no_flight_later_than_contacts_do(monkeypatch):
    """If this fails, a bound from gaps lets a vehicle fly on into the ground."""

    def landing() -> np.ndarray:
        with Simulation(world="flat", seed=1) as sim:
            iris = sim.add(Multirotor("iris", position=[0.0, 0.0, 0.3]))
            iris.place(position=[[0.0, 0.0, 0.12]], velocity=[[0.3, 0.1, -0.05]])
            path = []
            for _ in range(100):
                sim.step()
                path.append(np.concatenate([iris.state.position, iris.state.velocity], axis=1))
            return np.array(path)

    with_gaps = landing()
    monkeypatch.setattr(Proximity, "widen", lambda *_: None)
    assert np.array_equal(with_gaps, landing())
    assert abs(with_gaps[-1, 0, 2] - with_gaps[-2, 0, 2]) < 1e-4
