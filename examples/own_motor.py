"""Custom motor: its speed changes by a limited rate. Run it with `python examples/own_motor.py`."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.components import require
from pegasus.base.step_math import Real, Vec3, maximum, minimum
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import MOTORS, Motor


def slew(
    p: "SlewMotor", speed: Real, state: Vec3, command: Real, voltage: Real, dt: Real
) -> tuple[Real, Vec3]:
    """Return the rotor speed after dt [rad/s]; compiled with the step."""
    return speed + minimum(maximum(command - speed, -p.rate * dt), p.rate * dt), state


@dataclass(frozen=True, kw_only=True)
class SlewMotor(Motor):
    """Motor with a limited rate of change of its speed."""

    law: ClassVar[Any] = staticmethod(slew)

    rate: float
    """Largest rate of change [rad/s^2]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.rate > 0, "rate", self.rate, "must be above 0 rad/s^2")


MOTORS.register("slew", SlewMotor)  # YAML: motor: {model: slew, rate: 5000, max_speed: 1100}


def main() -> float:
    """Take off to 2 m; return the height reached [m]."""
    motor = SlewMotor(rate=5000.0, max_speed=1100.0)
    with Simulation("flat") as sim:
        pilot = GeometricController(trajectories.takeoff(height=2.0))
        iris = sim.add(Multirotor("iris", motor=motor, backends=[pilot]))
        sim.run(duration=8.0)
        print(f"height after 8 s with slow motors: {iris.state.position[0, 2]:.2f} m")
        return float(iris.state.position[0, 2])


if __name__ == "__main__":
    start_host()
    main()
