"""Three vehicles that follow a leader in formation, by velocities at 20 Hz.

Run it with `python examples/follow_leader.py`.
"""

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import GeometricController, GuidedController, trajectories

PLACES = np.array([[-2.0, 0.0], [-2.0, 2.0], [-2.0, -2.0]])
"""Places of the followers beside the leader, in the world [m]."""


def main(duration: float = 22.0) -> float:
    """Fly; return the largest distance of a follower from its place after the first 10 s [m]."""
    path = trajectories.lemniscate(radius=6.0, height=2.0, speed=1.5)
    pilot, worst = GuidedController(speed=4.0), 0.0
    with Simulation("flat") as sim:
        leader = sim.add(Multirotor("iris", position=(0, 0, 0.1), backends=[GeometricController(path)]))
        fleet = sim.add(
            Multirotor("iris", count=3, position=np.insert(PLACES, 2, 0.1, axis=1), backends=[pilot])
        )
        pilot.takeoff(height=2.0).wait(sim)
        while sim.time < duration:
            missing = leader.position - fleet.position
            missing[:, :2] += PLACES
            if sim.time > 10.0:
                worst = max(worst, float(np.linalg.norm(missing, axis=1).max()))
            pilot.velocity(leader.velocity + 1.5 * missing)
            sim.run(0.05)
    print(f"largest distance from the formation: {worst:.2f} m")
    return worst


if __name__ == "__main__":
    start_host()
    main()
