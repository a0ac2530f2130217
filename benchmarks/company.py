"""Print what company, worlds and parts in NumPy cost a step: python -m benchmarks.company.

Irises with four sensors and a geometric controller follow a lemniscate 3 m above the ground at 250 Hz. The
figures are processor time of the stepping thread per vehicle and step, the least of several blocks of steps.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.speed import yardstick
from pegasus import Multirotor, Simulation
from pegasus.base.arrays import Array
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import Drag, Motor, ThrustCurve

_BLOCKS, _STEPS = 15, 250
_COUNT = 50


@dataclass(frozen=True, kw_only=True)
class NumpyMotor(Motor):
    """First-order lag of 30 ms, in NumPy."""

    def step(self, speed: Array, command: Array, dt: float) -> Array:
        """Return the rotor speed after dt."""
        return command + (speed - command) * np.exp(-dt / 0.03)


@dataclass(frozen=True, kw_only=True)
class NumpyThrust(ThrustCurve):
    """Quadratic thrust curve, in NumPy."""

    uses_air_density = False

    def thrust(self, rotor_speed: Array, inflow: Array, air_density: Array) -> tuple[Array, Array]:
        """Return thrust and torque."""
        force = 8.54858e-6 * rotor_speed * np.abs(rotor_speed)
        return force, 0.06 * force


@dataclass(frozen=True, kw_only=True)
class NumpyDrag(Drag):
    """Linear drag, in NumPy."""

    def wrench(
        self, velocity: Array, angular_velocity: Array, air_density: Array
    ) -> tuple[Array, Array | None]:
        """Return the force."""
        return -0.3 * velocity, None


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


def alone(**models: Motor | ThrustCurve | Drag) -> Callable[[Simulation], int]:
    """Return a function that adds one Iris with these models."""

    def add(simulation: Simulation) -> int:
        simulation.add(Multirotor("iris", backends=[_controller()], **models))  # type: ignore[arg-type]
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
    parts = {"motor": NumpyMotor(max_speed=1100.0), "thrust_curve": NumpyThrust(), "drag": NumpyDrag()}
    for name, part in parts.items():
        print(f"{f'more with a {name} in NumPy':<34} {measured(alone(**{name: part})) - plain:6.1f}")


if __name__ == "__main__":
    main()
