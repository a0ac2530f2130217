"""Newton and PhysX: the same flight on both physics engines of Isaac Sim 6.0.

Isaac Sim 6.0 only. Run it with Isaac Sim's `python.sh examples/isaac/newton_flight.py --headless`. It prints
the largest distance between the two flights.
"""

import sys

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import GeometricController, trajectories


def fly(physics: str, duration: float) -> np.ndarray:
    """Fly a square on an engine; return the positions after each step [m], shape (K, 3)."""
    # Isaac Sim is imported when it runs.
    from pegasus.isaac.engine import IsaacEngine

    square = GeometricController(trajectories.square(side=2.0, height=1.5, speed=2.0))
    with Simulation("flat", engine=IsaacEngine(rate=250, physics=physics), rate=250, seed=1) as sim:
        iris = sim.add(Multirotor("iris", position=(0.0, 0.0, 0.1), backends=[square]))
        return np.array([iris.state.position[0].copy() for _ in sim.stepping(duration)])


def main(duration: float = 12.0) -> float:
    """Fly twice; return the largest distance between the two flights [m]."""
    newton, physx = fly("newton", duration), fly("physx", duration)
    apart = float(np.linalg.norm(newton - physx, axis=1).max())
    print(f"on Newton the Iris ends at {newton[-1].round(3)} m, on PhysX at {physx[-1].round(3)} m")
    print(f"the flights are {apart:.3f} m apart at most")
    return apart


if __name__ == "__main__":
    start_host([sys.argv[0], "--engine", "isaac", *sys.argv[1:]])
    main()
