"""Custom wind: it rises with height. Run it with `python examples/own_wind.py`."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.step_math import Real, Vec3, log, maximum
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import LinearDrag
from pegasus.environment import WINDS, Wind


def boundary_layer(p: "BoundaryLayer", position: Vec3, t: Real) -> Vec3:
    """Return the velocity of the air [m/s], a logarithm of height; compiled with the step."""
    height = maximum(position[2], p.roughness)
    return Vec3(p.speed * log(height / p.roughness) / log(10.0 / p.roughness), 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class BoundaryLayer(Wind):
    """Wind towards the east over rough ground."""

    law: ClassVar[Any] = staticmethod(boundary_layer)

    speed: float
    """Speed at 10 m [m/s]."""
    roughness: float = 0.03
    """Height below which the air is at rest [m]."""


WINDS.register("boundary_layer", BoundaryLayer)  # YAML: wind: {model: boundary_layer, speed: 6}


def main(model: str | Path = "iris") -> float:
    """Hover at 10 m; return the tilt against the wind [rad]."""
    with Simulation("flat") as sim:
        sim.environment.wind = BoundaryLayer(speed=6.0)
        pilot = GeometricController(trajectories.hold(height=10.0))
        drag = LinearDrag(coefficients=(0.3, 0.3, 0.3))
        iris = sim.add(Multirotor(model, position=(0, 0, 10), drag=drag, backends=[pilot]))
        sim.run(duration=15.0)
        tilt = math.acos(iris.state.rotation[0, 2, 2])
        print(f"tilt in a wind of 6 m/s: {math.degrees(tilt):.2f} degrees")
        return tilt


if __name__ == "__main__":
    start_host()
    main()
