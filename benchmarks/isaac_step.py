"""Overhead of the Isaac Sim engine: a step on it and a standalone step, both without physics.

Run it in the root of the repository: `python -m benchmarks.isaac_step`. Isaac Sim is the tests' stand-in with
inactive tensors; the cost of NVIDIA's own calls is not included. Processor time is measured, which depends
little on other load.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import mujoco
import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from tests.isaac import fakes
from tests.isaac.fakes import simulation_manager, tensors


def main() -> None:
    """Print the time per step of both [us], and their ratio."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--vehicles", type=int, nargs="+", default=[1, 16, 256])
    options.add_argument("--steps", type=int, default=400)
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    print(f"{'vehicles':>8} {'standalone':>12} {'Isaac Sim':>12} {'ratio':>7}")
    for count in given.vehicles:
        with standalone(count) as alone, on_isaac_sim(count) as there:
            pairs = [(timed(alone, given.steps), timed(there, given.steps)) for _ in range(given.rounds)]
        best = [min(column) for column in zip(*pairs, strict=True)]
        ratio = statistics.median(b / a for a, b in pairs)
        print(f"{count:>8} {best[0]:>9.1f} us {best[1]:>9.1f} us {ratio:>7.2f}")


def timed(simulation: Simulation, steps: int) -> float:
    """Return the processor time per step [us]."""
    began = time.process_time()
    simulation.step(steps)
    return (time.process_time() - began) / steps * 1e6


@contextmanager
def standalone(count: int) -> Iterator[Simulation]:
    """Return a simulation on MuJoCo with disabled physics."""
    with flying(count, "mujoco") as simulation, mock.patch.object(mujoco, "mj_step", nothing):
        yield simulation


@contextmanager
def on_isaac_sim(count: int) -> Iterator[Simulation]:
    """Return a simulation on the stand-ins with disabled physics."""
    fakes.install("6.0.1")
    view = tensors.RigidBodyView
    try:
        with (
            flying(count, "isaac") as simulation,
            mock.patch.object(view, "get_transforms", lambda self: self._transforms),
            mock.patch.object(view, "get_velocities", lambda self: self._velocities),
            mock.patch.object(view, "apply_forces_and_torques_at_position", nothing),
            mock.patch.object(simulation_manager.SimulationManager60, "step", nothing),
        ):
            yield simulation
    finally:
        fakes.uninstall()


def nothing(*_: object, **__: object) -> None:
    """Do nothing in place of a physics step."""


@contextmanager
def flying(count: int, engine: str) -> Iterator[Simulation]:
    """Return a simulation with vehicles after some steps."""
    with Simulation("flat", engine=engine, rate=250) as simulation:
        simulation.add(
            Multirotor(
                "iris",
                count=count,
                position=np.stack(
                    [2.0 * np.arange(count) % 32, 2.0 * (np.arange(count) // 16), np.full(count, 1.0)], axis=1
                ),
                backends=[GeometricController(trajectories.square(side=1.5, height=1.0, speed=2.0))],
            )
        )
        simulation.step(3)
        yield simulation


if __name__ == "__main__":
    main()
