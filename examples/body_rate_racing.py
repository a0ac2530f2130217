"""Racing laps of a circle by body rates and thrust: `python examples/body_rate_racing.py`."""

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import GuidedController

RADIUS, SPEED, HEIGHT, START = 6.0, 7.0, 3.0, 6.0


def main(laps: float = 2.0) -> float:
    """Speed up over `START` seconds, and fly laps; return the largest distance from the reference [m]."""
    pilot, errors, turn = GuidedController(), [], SPEED / RADIUS
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", backends=[pilot]))
        pilot.takeoff(height=HEIGHT).wait(sim)
        pilot.goto([RADIUS, 0.0, HEIGHT]).wait(sim)
        begin, end = sim.time, START + 2 * np.pi * laps / turn
        while (t := sim.time - begin) < end:
            rising = t < START
            rate = turn * min(t / START, 1.0)
            angle = turn * (0.5 * t * t / START if rising else t - 0.5 * START)
            out, along = np.array([[np.cos(angle), np.sin(angle), 0.0], [-np.sin(angle), np.cos(angle), 0.0]])
            error = RADIUS * out + [0.0, 0.0, HEIGHT] - iris.position[0]
            push = RADIUS * (turn / START * rising * along - rate**2 * out) + [0.0, 0.0, 9.81]
            push += 6.0 * error + 4.0 * (RADIUS * rate * along - iris.velocity[0])
            push = iris.state.rotation[0].T @ push
            tilt = np.cross([0.0, 0.0, 1.0], push / np.linalg.norm(push))
            pilot.body_rates(12.0 * tilt, thrust=float(np.clip(iris.mass * push[2], 0.0, 35.0)))
            sim.step()
            errors.append(float(np.linalg.norm(error)))
        pilot.hold().wait(sim)
    print(f"{laps:g} laps at {SPEED:g} m/s, largest error {max(errors):.2f} m")
    return max(errors)


if __name__ == "__main__":
    start_host()
    main()
