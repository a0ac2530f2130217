"""Fly one vehicle in Isaac Sim by PX4, in lockstep with its physics.

Run it with Isaac Sim's `python.sh examples/isaac/px4_single.py`, and PX4_DIR set to a built PX4-Autopilot.
Pegasus starts and ends PX4; fly it by QGroundControl or MAVSDK at UDP port 14550.
"""

import sys

from pegasus import Multirotor, Simulation, start_host
from pegasus.backends import PX4


def main(px4: PX4 | None = None, duration: float = 600.0, speed: float | None = 1.0) -> float:
    """Let PX4 fly; return the largest height [m]."""
    highest = 0.0
    with Simulation("box_room", engine="isaac", rate=250) as sim:
        vehicle = sim.add(Multirotor("pegasus", position=(0.0, 0.0, 0.1), backends=[px4 or PX4()]))
        for _ in sim.stepping(duration, speed=speed):
            highest = max(highest, float(vehicle.state.position[0, 2]))
        for failure in sim.failures:
            print(failure)
    print(f"PX4 flew up to {highest:.1f} m high")
    return highest


if __name__ == "__main__":
    start_host([sys.argv[0], "--engine", "isaac", *sys.argv[1:]])
    main()
