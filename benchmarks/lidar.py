"""Rays per second of a lidar in the courtyard, for each scan pattern: python benchmarks/lidar.py.

First the renderer alone, then whole scans with motion, noise, intensities and points. Times are the shortest
of several; under other load, the processor time is the better figure.
"""

import math
import time
from collections.abc import Callable

import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.base.arrays import Array
from pegasus.cameras import Lidar

PATTERNS = ("vlp16", "hdl32e", "os1_64", "mid40")
REPEATS = 10
THREADS = 2


def best(action: Callable[[], object]) -> tuple[float, float]:
    """Return the shortest of several wall and processor times [s]."""
    action()
    wall, busy = [], []
    for _ in range(REPEATS):
        started, used = time.perf_counter(), time.process_time()
        action()
        wall.append(time.perf_counter() - started)
        busy.append(time.process_time() - used)
    return min(wall), min(busy)


def main() -> None:
    """Print a row for each pattern."""
    lidars = {name: Lidar(pattern=name, dropout=0.01, grazing_dropout=0.2) for name in PATTERNS}
    with Simulation("courtyard", seed=1) as sim:
        iris = sim.add(Multirotor("iris", position=(0, 0, 2.0), extra_sensors=lidars))
        sim.step(51)
        snapshot, own = sim.visuals.snapshot(sim.time), ["/World/iris"]
        for name, lidar in lidars.items():
            reading = iris.readings[name]
            count = math.prod(lidar.shape)
            rays = lidar.directions(0.0, 0.1).reshape(-1, 3)
            origins = np.tile(reading.position, (count, 1))

            def cast(origins: Array = origins, rays: Array = rays, width: int = lidar.shape[0]) -> object:
                return sim.visuals.cast(snapshot, origins, rays, 100.0, hidden=own, width=width)

            def scan(lidar: Lidar = lidar) -> object:
                return lidar.measure(iris.state, sim.time).cloud()

            for title, action in (("rays alone", cast), ("whole scan", scan)):
                wall, busy = best(action)
                rates = f"{count / wall / 1e6:5.2f} M rays/s", f"{THREADS * count / busy / 1e6:5.2f} M rays/s"
                print(
                    f"{name:8s}{count:6d} rays, {title}: {1e3 * wall:6.1f} ms, {rates[0]}"
                    f"   processor {1e3 * busy:6.1f} ms, {rates[1]} on {THREADS} cores"
                )


if __name__ == "__main__":
    main()
