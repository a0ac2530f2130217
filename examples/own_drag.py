"""Custom drag: a parachute that brakes a falling drone. Run it with `python examples/own_drag.py`."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.arrays import Array
from pegasus.dynamics import DRAGS, Drag


@dataclass(frozen=True, kw_only=True)
class Parachute(Drag):
    """Linear drag of a parachute, against the velocity."""

    uses_air_density: ClassVar[bool] = False

    strength: float
    """Force per speed [N s/m]."""

    def wrench(self, velocity: Array, angular_velocity: Array, air_density: Array) -> tuple[Array, None]:
        """Return the force in the body frame [N], and no torque."""
        return -self.strength * velocity, None


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
