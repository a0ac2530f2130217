"""256 copies with their own masses, flights, gains and restarts: `python examples/batch_of_256.py`."""

import math

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.arrays import Array
from pegasus.control import GeometricController
from pegasus.control.trajectories import lemniscate


def main(count: int = 256, duration: float = 12.0) -> tuple[Array, Array, Array]:
    """Fly; return the stiffness, the mean error in flight [m] and the number of restarts of each copy."""
    draws = np.random.default_rng(1).uniform((0.5, 1.0, 1.4), (12.0, 3.0, 1.6), (count, 3))
    stiffness, radii, masses = draws.T
    pilot = GeometricController(
        [lemniscate(radius, height=2.0, speed=3.0, laps=math.inf) for radius in radii],
        position_gain=np.outer(stiffness, np.ones(3)),
        velocity_gain=1.6 * np.outer(np.sqrt(stiffness), np.ones(3)),
    )
    drones = Multirotor("iris", count=count, spacing=9.0, variation={"mass": masses}, backends=[pilot])
    errors, steps, restarts = np.zeros((3, count))
    with Simulation("flat") as sim:
        sim.add(drones)
        for _ in sim.stepping(duration):
            wanted = pilot.mission.reference
            error = np.linalg.norm(wanted.position - drones.state.position, axis=1)
            errors, steps = errors + error * ~wanted.idle, steps + ~wanted.idle
            if len(lost := np.flatnonzero(error > 0.18)):  # These start again, the others fly on.
                drones.reset(lost)
                restarts[lost] += 1
    return stiffness, errors / steps, restarts


if __name__ == "__main__":
    start_host()
    for row in sorted(zip(*main(), strict=True))[::16]:
        print("stiffness {:5.2f} 1/s^2: {:.3f} m, {:.0f} restarts".format(*row))
