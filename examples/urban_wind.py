"""Wind field from a file: flight into the wake of a block. Run it with `python examples/urban_wind.py`."""

import tempfile
from pathlib import Path

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import GeometricController, trajectories
from pegasus.environment import WindField


def write_field(path: Path, speed: float = 8.0, height: float = 10.0) -> None:
    """Write the wind over a block at x = 0: a stream, a bubble of 40 m that flows back, no air inside."""
    x, y, z = np.linspace(-40, 80, 61), np.linspace(-30, 30, 3), np.linspace(0, 40, 41)
    up, _, along = np.meshgrid(z, y, x, indexing="ij")
    edge = height * np.sqrt(np.clip(1 - along / 40, 0, 1)) * (along > 0)
    u = np.where(up < edge, 0.3 * speed * np.sin(np.pi * (up / np.maximum(edge, 1) - 0.5)), speed)
    u[(np.abs(along) <= 2) & (up < height)] = np.nan
    np.savez(path, x=x, y=y, z=z, u=u, v=0 * u, w=0 * u)


def main() -> list[float]:
    """Fly from the free stream over the block into its wake; return the wind along x in both [m/s]."""
    path = trajectories.waypoints(((0.0, 0.0, 15.0), (30.0, 0.0, 15.0), (45.0, 0.0, 2.0)), speed=4.0)
    with Simulation("flat") as sim, tempfile.TemporaryDirectory() as folder:
        write_field(Path(folder, "block.npz"))
        file, winds = str(Path(folder, "block.npz")), []
        sim.environment.wind = WindField(file=file, offset=(30.0, 0.0, 0.0), outside="hold")
        iris = sim.add(Multirotor("iris", position=(0, 0, 15), backends=[GeometricController(path)]))
        for seconds in (3.0, 20.0):
            sim.run(duration=seconds)
            winds.append(float(iris.columns["wind"][0, 0]))
            print(f"x = {iris.state.position[0, 0]:4.1f} m: wind {winds[-1]:5.2f} m/s")
        return winds


if __name__ == "__main__":
    start_host()
    main()
