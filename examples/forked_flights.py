"""Futures of one flight: from a snapshot in turbulence, with other gusts, and with less payload.

Run it with `python examples/forked_flights.py`.
"""

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.arrays import Array
from pegasus.control import GeometricController, trajectories
from pegasus.faults import PayloadLoss

WIND = {"model": "dryden", "mean_velocity": [8.0, 0.0, 0.0]}


def made(seed: int) -> Simulation:
    """Return the simulation, with random numbers of a seed."""
    sim = Simulation("flat", wind=WIND, seed=seed)
    pilot = GeometricController(trajectories.hold(height=10.0), spin_up=0.0)
    sim.add(Multirotor("iris", position=(0, 0, 10), backends=[pilot]))
    return sim


def main() -> tuple[Array, Array]:
    """Return the places after eight futures of 2 s [m], shape (8, 3), and that without a payload, (3,)."""
    with made(seed=0) as sim:
        sim.run(2.0)
        snapshot = sim.snapshot()
        iris = sim.vehicles["iris"]
        iris.inject(PayloadLoss(mass=0.3))
        sim.run(2.0)
        lightened = iris.position[0].copy()
    places = []
    for seed in range(8):
        with made(seed) as fork:
            fork.restore(snapshot)  # Seed 0 goes on as the first flight would have done.
            fork.run(2.0)
            places.append(fork.vehicles["iris"].position[0].copy())
    ends = np.array(places)
    print(f"spread of eight futures: {ends.std(axis=0).max():.2f} m")
    print(f"without 0.3 kg it is {lightened[2] - ends[0, 2]:.2f} m higher")
    return ends, lightened


if __name__ == "__main__":
    start_host()
    main()
