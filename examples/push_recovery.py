"""Two controllers that are pushed alike: how far they are moved, and how long they need to come back.

Run it with `python examples/push_recovery.py`.
"""

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import CascadedPIDController, GeometricController, trajectories

PUSH, LENGTH = (8.0, 0.0, 0.0), 0.3
"""Force [N] and how long it acts [s]."""


def main() -> dict[str, tuple[float, float]]:
    """Push both; return the largest deviation [m] and the time until it is below 0.1 m [s] by name."""
    stay = trajectories.hold(height=3.0)
    kinds = {"geometric": GeometricController(stay), "pid": CascadedPIDController(stay)}
    found = {}
    with Simulation("flat") as sim:
        for k, (name, law) in enumerate(kinds.items()):
            sim.add(Multirotor("iris", name=name, position=(0.0, 4.0 * k, 0.1), backends=[law]))
        sim.run(10.0)
        rest = {one.name: one.position[0].copy() for one in sim.vehicles}
        for one in sim.vehicles:
            one.disturb(force=PUSH)
        sim.run(LENGTH)
        for one in sim.vehicles:
            one.disturb()
        away = [
            [np.linalg.norm(one.position[0] - rest[one.name]) for one in sim.vehicles]
            for _ in sim.stepping(10.0)
        ]
        for one, path in zip(sim.vehicles, np.transpose(away), strict=True):
            back = LENGTH + (np.flatnonzero(path > 0.1).max() + 1) * sim.dt
            found[one.name] = float(path.max()), float(back)
            print(f"{one.name}: moved {path.max():.2f} m, back after {back:.1f} s")
    return found


if __name__ == "__main__":
    start_host()
    main()
