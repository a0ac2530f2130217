"""One mission, flown with the same calls by our controller, by PX4 or by ArduPilot.

Run it with `python examples/same_mission.py`, and `px4` or `ardupilot` after it if these are built.
"""

import sys

from pegasus import Multirotor, Simulation, start_host
from pegasus.backends import GuidedArduPilot, GuidedPX4
from pegasus.base.arrays import Array
from pegasus.control import GuidedController

PILOTS: dict[str, GuidedController | GuidedPX4 | GuidedArduPilot] = {
    "controller": GuidedController(),
    "px4": GuidedPX4(),
    "ardupilot": GuidedArduPilot(parameters={"SCHED_LOOP_RATE": 138, "GPS1_TYPE": 100}),
}
POINTS = [[4.0, 0.0, 4.0], [4.0, 3.0, 3.0]]


def main(name: str = "controller") -> list[Array]:
    """Fly; return where the vehicle was at the points, after the velocity, and at the end [m]."""
    pilot, places = PILOTS[name], []
    with Simulation("flat", seed=1) as sim:
        iris = sim.add(Multirotor("iris", backends=[pilot]))
        pilot.takeoff(height=3.0).wait(sim, timeout=90.0)
        for point in POINTS:
            pilot.goto(point, yaw=0.5, speed=2.0).wait(sim)
            places.append(iris.state.position[0].copy())
        pilot.velocity([-1.0, 0.0, 0.0])
        sim.run(2.0)
        pilot.hold().wait(sim)
        places.append(iris.state.position[0].copy())
        pilot.land().wait(sim)
        return [*places, iris.state.position[0].copy()]


if __name__ == "__main__":
    start_host()
    print(*main(*sys.argv[1:]), sep="\n")
