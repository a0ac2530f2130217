"""A vehicle that flies through an unknown room and brakes by its rangefinder before each wall.

Run it with `python examples/brake_before_wall.py`.
"""

import math

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import GuidedController
from pegasus.sensors import Rangefinder, RangeReading

CLEARANCE, SPEED = 1.5, 2.0
"""Distance from walls at which it stands [m], and its largest speed [m/s]."""


def main() -> list[float]:
    """Fly to four walls, and return the distance at which it stands before each [m]."""
    pilot, stops = GuidedController(), []
    ahead = Rangefinder(direction=(1.0, 0.0, 0.0), max_range=20.0, rate_hz=50.0)
    with Simulation("box_room") as sim:
        iris = sim.add(Multirotor("iris", backends=[pilot], extra_sensors={"ahead": ahead}))
        pilot.takeoff(height=1.5).wait(sim)
        for quarter in range(4):
            pilot.goto(iris.position[0], yaw=quarter * math.pi / 2).wait(sim)
            end = sim.time + 20.0
            while sim.time < end:
                gap = iris.reading(RangeReading).distance[0] - CLEARANCE
                pilot.velocity((min(gap, SPEED), 0.0, 0.0), frame="body")
                sim.run(0.02)
            stops.append(float(iris.reading(RangeReading).distance[0]))
    print("stood before the walls at", ", ".join(f"{stop:.2f} m" for stop in stops))
    return stops


if __name__ == "__main__":
    start_host()
    main()
