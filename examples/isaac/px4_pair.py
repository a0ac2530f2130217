"""Two vehicles in Isaac Sim, each with its own PX4 in lockstep with PhysX.

Run it with Isaac Sim's `python.sh examples/isaac/px4_pair.py --headless`, and PX4_DIR set to a built
PX4-Autopilot. Pegasus starts both autopilots, arms them, and each flies a square in offboard mode.
"""

import sys

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.backends import PX4
from pegasus.control import trajectories

SIDE, HEIGHT = 4.0, 3.0


def autopilots() -> PX4:
    """Return a PX4 backend that takes off, flies a square and lands."""
    mission = trajectories.sequence(
        trajectories.takeoff(height=HEIGHT),
        trajectories.square(side=SIDE, height=HEIGHT, speed=2.0),
        trajectories.land(),
    )
    return PX4(trajectory=mission)


def main(px4: PX4 | None = None, duration: float = 60.0) -> np.ndarray:
    """Fly; return the positions of both vehicles after each step [m], shape (K, 2, 3)."""
    backend = autopilots() if px4 is None else px4
    with Simulation("courtyard", engine="isaac", rate=250, seed=1) as sim:
        pair = sim.add(
            Multirotor("iris", count=2, position=[(-4.0, 0.0, 0.1), (4.0, 0.0, 0.1)], backends=[backend])
        )
        way = np.array([pair.state.position.copy() for _ in sim.stepping(duration)])
        for failure in sim.failures:
            print(failure)
    for number, flown in enumerate(np.moveaxis(way, 1, 0)):
        aside = np.ptp(flown[:, :2], axis=0).round(1)
        print(f"PX4 {number}: up to {flown[:, 2].max():.1f} m high, {aside} m along x and y")
    return way


if __name__ == "__main__":
    start_host([sys.argv[0], "--engine", "isaac", *sys.argv[1:]])
    main()
