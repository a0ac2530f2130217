"""A vehicle that takes off from the ground, catches up with a moving platform, lands on it and rides on.

Run it with `python examples/moving_landing.py`.
"""

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import GuidedController

PLATFORM = {
    "name": "platform",
    "label": "platform",
    "box": [2.0, 2.0, 0.2],
    "center": [0.0, 0.0, -0.1],
    "motion": {"model": "oscillation", "position": [4, 0, 0.8], "amplitude": [2, 1, 0], "period": 12.0},
}


def main() -> float:
    """Land on the platform, ride it for 5 s, and return how fast the vehicle slides on it [m/s]."""
    pilot = GuidedController()
    with Simulation("flat") as sim:
        platform = sim.add_mover(PLATFORM)
        iris = sim.add(Multirotor("iris", backends=[pilot]))
        pilot.takeoff(height=2.0).wait(sim)
        while not iris.contacts:
            deck = platform.motion(sim.time)
            gap = deck.position[0] - iris.position[0]
            aside = float(np.hypot(gap[0], gap[1]))
            sink = -0.5 if aside < 0.3 else 0.0
            pilot.velocity((*(deck.velocity[0, :2] + np.clip(1.5 * gap[:2], -2.0, 2.0)), sink))
            sim.run(0.02)
        pilot.land()
        sim.run(5.0)
        slip = float(np.linalg.norm(iris.velocity[0] - platform.motion(sim.time).velocity[0]))
        print(f"rides on {iris.contacts[0].other}, sliding at {slip:.6f} m/s")
    return slip


if __name__ == "__main__":
    start_host()
    main()
