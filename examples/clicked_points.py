"""Guided flight to clicked points, one after the other; a list stands for the clicks.

Run it with `python examples/clicked_points.py`.
"""

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.arrays import Array
from pegasus.control import GuidedController

CLICKS = [[4.0, 0.0, 2.0], [4.0, 3.0, 3.0], [0.0, 0.0, 2.0]]


def main() -> list[Array]:
    """Fly to the points and land; return where the vehicle held at each [m]."""
    pilot, held = GuidedController(), []
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", backends=[pilot]))
        pilot.takeoff(height=2.0).wait(sim)
        for click in CLICKS:
            pilot.goto(click, speed=2.0).wait(sim)
            held.append(iris.state.position[0].copy())
            print("at", held[-1].round(2))
        pilot.land().wait(sim)
    return held


if __name__ == "__main__":
    start_host()
    main()
