"""256 copies in a batch, each with its trajectory, gains and restarts: `python examples/batch_of_256.py`."""

import math

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.arrays import Array, IntArray
from pegasus.control import GeometricController
from pegasus.control.trajectories import lemniscate


def main(count: int = 256, duration: float = 12.0) -> tuple[Array, Array, IntArray]:
    """Fly; return the stiffness, the mean error in flight [m] and the number of restarts of each copy."""
    random = np.random.default_rng(1)
    stiffness, radii = random.uniform(0.5, 12.0, count), random.uniform(1.0, 3.0, count).tolist()
    pilot = GeometricController(
        [lemniscate(radius, height=2.0, speed=3.0, laps=math.inf) for radius in radii],
        position_gain=np.outer(stiffness, np.ones(3)),
        velocity_gain=1.6 * np.outer(np.sqrt(stiffness), np.ones(3)),
    )
    errors, steps, restarts = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
    with Simulation("flat") as sim:
        drones = sim.add(Multirotor("iris", count=count, spacing=9.0, sensors={}, backends=[pilot]))
        for _ in sim.stepping(duration):
            wanted = pilot.mission.reference
            error = np.linalg.norm(wanted.position - drones.state.position, axis=1)
            errors, steps = errors + error * ~wanted.idle, steps + ~wanted.idle
            if len(lost := np.flatnonzero(error > 0.25)):
                # Far from their references: these copies start again, the others fly on.
                drones.place(drones.start.position[lost], copies=lost)
                pilot.reset_copies(lost)
                restarts[lost] += 1
    return stiffness, errors / steps, restarts


if __name__ == "__main__":
    start_host()
    for row in sorted(zip(*main(), strict=True))[::16]:
        print("stiffness {:5.2f} 1/s^2: {:.3f} m, {} restarts".format(*row))
