"""Print the processor time of planes beside that of multirotors, with controllers and of the step alone.

python benchmarks/planes.py [COUNT]   1000 by default
"""

import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from pegasus import Aircraft, Simulation
from pegasus.control import GeometricController, PlaneController, trajectories

_SLICES, _STEPS = 12, 40


def _iris(count: int, *, driven: bool) -> Aircraft:
    places = np.array([(8.0 * (k % 40), 8.0 * (k // 40), 0.1) for k in range(count)])
    flight = trajectories.sequence(
        trajectories.takeoff(height=10.0), trajectories.circle(radius=5.0, height=10.0)
    )
    backends = [GeometricController(flight)] if driven else []
    return Aircraft("iris", count=count, sensors={}, position=places, backends=backends)


def _plane(count: int, *, driven: bool) -> Aircraft:
    places = np.array([(8.0 * (k % 40), 8.0 * (k // 40), 0.2) for k in range(count)])
    flight = trajectories.sequence(trajectories.takeoff(height=20.0), trajectories.hold())
    backends = [PlaneController(flight, airspeed=13.0)] if driven else []
    return Aircraft("plane", count=count, sensors={}, position=places, backends=backends)


def _times(count: int, *, driven: bool) -> list[float]:
    """Return the least processor time of a vehicle and step of multirotors and planes [us]."""
    least = [np.inf, np.inf]
    with Simulation("flat", seed=1) as first, Simulation("flat", seed=1) as second:
        simulations = first, second
        for simulation, made in zip(simulations, (_iris, _plane), strict=True):
            vehicle = simulation.add(made(count, driven=driven))
            if not driven:
                vehicle.place(vehicle.start.position + np.array([0.0, 0.0, 500.0]))
            # Into the air.
            simulation.run(duration=6.0 if driven else 0.1)
        for _ in range(_SLICES):
            for k, simulation in enumerate(simulations):
                began = time.process_time()
                for _ in range(_STEPS):
                    simulation.step()
                least[k] = min(least[k], (time.process_time() - began) / _STEPS / count * 1e6)
    return least


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    table = Table("", "multirotor [us]", "plane [us]", "ratio", title=f"Vehicle and step, {count} copies")
    for name, driven in (("with controller", True), ("step alone", False)):
        multirotor, plane = _times(count, driven=driven)
        table.add_row(name, f"{multirotor:.3f}", f"{plane:.3f}", f"{plane / multirotor:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
