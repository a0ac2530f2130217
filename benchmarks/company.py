"""Print what company, worlds and parts in NumPy cost a step: python -m benchmarks.company.

Irises with four sensors and a geometric controller follow a lemniscate 3 m above the ground at 250 Hz. The
figures are processor time of the stepping thread per vehicle and step, the least of several blocks of steps.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed import yardstick
from pegasus import Multirotor, Simulation
from pegasus.base.arrays import Array
from pegasus.base.frames import rotate_inverse
from pegasus.control import GeometricController, trajectories

_BLOCKS, _STEPS = 15, 250
_COUNT = 50


def _pushed(vehicle: Multirotor, _t: float) -> tuple[Array, Array]:
    """Return a linear drag, and no torque."""
    velocity = rotate_inverse(vehicle.state.rotation, vehicle.state.velocity)
    return -0.3 * velocity, np.zeros_like(velocity)


def _controller() -> GeometricController:
    path = trajectories.lemniscate(radius=5.0, speed=2.0, height=3.0, laps=100)
    return GeometricController(path)


def measured(add: Callable[[Simulation], int], world: str = "flat") -> float:
    """Return the processor time per vehicle-step [us].

    Args:
        add: Adds vehicles to a simulation and returns their number.
        world: World.
    """
    with Simulation(world) as simulation:
        count = add(simulation)
        simulation.run(8.0)
        least = float("inf")
        for _ in range(_BLOCKS):
            begin = time.thread_time_ns()
            simulation.step(_STEPS)
            least = min(least, (time.thread_time_ns() - begin) / _STEPS / count / 1e3)
    return least


def alone(**options: Any) -> Callable[[Simulation], int]:
    """Return a function that adds one Iris with these options."""

    def add(simulation: Simulation) -> int:
        simulation.add(Multirotor("iris", backends=[_controller()], **options))
        return 1

    return add


def batch(simulation: Simulation) -> int:
    """Add a batch of fifty."""
    simulation.add(Multirotor("iris", count=_COUNT, spacing=3.0, backends=[_controller()]))
    return _COUNT


def singly(simulation: Simulation) -> int:
    """Add fifty vehicles one by one, at the places of a batch."""
    grid = Multirotor("iris", count=_COUNT, spacing=3.0, position=(0.0, 0.0, 0.1)).start.position
    for place in grid:
        simulation.add(Multirotor("iris", position=place, backends=[_controller()]))
    return _COUNT


def main() -> None:
    """Print the table."""
    print(f"{'np.add of two vectors [us]':<34} {yardstick():6.2f}")
    for world in ("flat", "courtyard"):
        print(f"{f'one Iris, {world}':<34} {measured(alone(), world):6.1f}")
    together, apart = measured(batch), measured(singly)
    print(f"{'fifty in a batch':<34} {together:6.2f}")
    print(f"{'fifty added one by one':<34} {apart:6.2f}   {apart / together:.2f} times the batch")
    plain = measured(alone())
    print(f"{'more with a wrench in NumPy':<34} {measured(alone(wrench=_pushed)) - plain:6.1f}")


if __name__ == "__main__":
    main()
