"""Custom drag: a parachute that brakes a falling drone. Run it with `python examples/own_drag.py`."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.step_math import Real, Reals, Vec3
from pegasus.dynamics import DRAGS, Drag


def braked(
    p: "Parachute", velocity: Vec3, rate: Vec3, rotor_speeds: Reals, density: Real
) -> tuple[Vec3, Vec3]:
    """Return the force in the body frame [N], against the velocity, and no torque."""
    return velocity * -p.strength, Vec3(0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Parachute(Drag):
    """Linear drag of a parachute."""

    law = staticmethod(braked)
    uses_air_density: ClassVar[bool] = False

    strength: float
    """Force per speed [N s/m]."""


DRAGS.register("parachute", Parachute)  # YAML: drag: {model: parachute, strength: 4.0}


def main(model: str | Path = "iris") -> float:
    """Fall from 100 m with the rotors at rest; return the sink rate [m/s]."""
    with Simulation("flat") as sim:
        drone = sim.add(Multirotor(model, position=(0, 0, 100), drag=Parachute(strength=4.0)))
        sim.run(duration=5.0)
        print(f"sink rate after 5 s: {-drone.state.velocity[0, 2]:.2f} m/s")
        return -float(drone.state.velocity[0, 2])


if __name__ == "__main__":
    start_host()
    main()
