"""Own sensor: a laser altimeter that casts a ray at the world, and a backend that listens to it.

A sensor declares a rate and returns a reading. This one flies over the terrace of the courtyard, where the
ground rises by 0.9 m and the altimeter's range drops by as much.

Run it with `python examples/own_sensor.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pegasus import Backend, Multirotor, Simulation, VehicleState
from pegasus.arrays import Array
from pegasus.control import GeometricController, trajectories
from pegasus.environment import Environment
from pegasus.isaac.launch import start_if_asked
from pegasus.sensors import Reading, Sensor

DOWN = np.array([[0.0, 0.0, -1.0]])


@dataclass(frozen=True, eq=False)
class AltimeterReading(Reading):
    """Distance to what is below."""

    range: Array
    """Distance along the body's -z axis [m], shape (N,); infinite beyond the sensor's reach."""


@dataclass(kw_only=True, eq=False)
class LaserAltimeter(Sensor):
    """One beam straight down from the body's origin, with white noise."""

    rate_hz: float = 20.0
    """Readings per second [Hz]."""
    max_range: float = 40.0
    """Reach [m]."""
    sigma: float = 0.01
    """Standard deviation of the noise [m]."""

    def bind(self, vehicle: Multirotor, environment: Environment, rng: np.random.Generator) -> None:
        """Join a vehicle."""
        super().bind(vehicle, environment, rng)
        self._vehicle = vehicle

    def measure(self, state: VehicleState, t: float) -> AltimeterReading:
        """Return the range at time t [s]; the vehicle's own body does not stop the beam."""
        hits = self._vehicle.raycast(DOWN, self.max_range)
        return AltimeterReading(t, hits.distance + self.sigma * self.rng.standard_normal(self.count))


class GroundProfile(Backend):
    """Turn each new range into the height of the ground below. It listens; it does not drive."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []
        """Distance flown north and height of the ground there [m]."""

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Take the altimeter's reading where there is a new one."""
        reading = readings.get("altimeter")
        if isinstance(reading, AltimeterReading):
            # The beam starts at the body's origin and points along the body's -z axis.
            end = state.position - reading.range[:, None] * state.rotation[:, :, 2]
            self.points.append((end[0, 1], end[0, 2]))


def main() -> Array:
    """Fly from the paving over the terrace; return what was seen of the ground, shape (K, 2)."""
    over_the_edge = trajectories.waypoints(points=((1.5, 17, 2.5), (1.5, 23.8, 2.5)), speed=3.0)
    profile = GroundProfile()
    with Simulation(world="courtyard", seed=3) as sim:
        iris = Multirotor(
            "iris",
            position=(1.5, 17, 0.1),
            backends=[GeometricController(over_the_edge, relative=False), profile],
            sensors={"altimeter": LaserAltimeter()},
        )
        sim.add(iris)
        sim.run(duration=11.0)
    points = np.array(profile.points)
    paving, terrace = points[points[:, 0] < 21.0, 1], points[points[:, 0] > 23.1, 1]
    print(f"the altimeter puts the paving at {paving.mean():.3f} m; it is at 0 m")
    print(f"the altimeter puts the terrace at {terrace.mean():.3f} m; it is at 0.9 m")
    return points


if __name__ == "__main__":
    start_if_asked()
    main()
