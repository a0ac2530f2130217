"""Planner that replans at 10 Hz: it flies points by velocities, forward and slowing down before each.

Run it with `python examples/replanned_flight.py`.
"""

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import GuidedController

CLICKS = [[4.0, 0.0, 2.0], [4.0, 3.0, 3.0], [0.0, 0.0, 2.0]]


def main() -> list[float]:
    """Fly to the points; return how near the vehicle came to each [m]."""
    pilot, nearest = GuidedController(), []
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", backends=[pilot]))
        pilot.takeoff(height=2.0).wait(sim)
        for point in CLICKS:
            distance = np.inf
            end = sim.time + 20.0
            while distance > 0.2 and sim.time < end:
                way = np.array(point) - iris.state.position[0]
                distance = float(np.linalg.norm(way))
                pilot.velocity(way * min(1.0, 2.0 / distance))
                sim.run(0.1)
            nearest.append(distance)
        pilot.land().wait(sim)
    print("nearest:", ", ".join(f"{distance:.2f} m" for distance in nearest))
    return nearest


if __name__ == "__main__":
    start_host()
    main()
