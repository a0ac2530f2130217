"""Custom sensor: a laser altimeter over a terrace. Run it with `python examples/own_sensor.py`."""

from dataclasses import dataclass

import numpy as np

from pegasus import Multirotor, Simulation, VehicleState, start_host
from pegasus.base.arrays import Array
from pegasus.control import GeometricController, trajectories
from pegasus.sensors import SENSORS, Reading, Sensor


@dataclass(frozen=True, eq=False)
class AltimeterReading(Reading):
    """Distance to the ground along the body's -z axis [m], shape (N,)."""

    range: Array


@dataclass(kw_only=True, eq=False)
class LaserAltimeter(Sensor):
    """One downward beam with white noise of standard deviation `sigma` [m]."""

    rate_hz: float = 20.0
    sigma: float = 0.01

    def measure(self, state: VehicleState, t: float) -> AltimeterReading:
        """Return the range at time t [s]; the vehicle's own body does not stop the beam."""
        distance = self.vehicle.raycast(np.array([[0.0, 0.0, -1.0]]), max_range=40.0).distance
        return AltimeterReading(t, distance + self.sigma * self.rng.standard_normal(self.count))


SENSORS.register("laser_altimeter", LaserAltimeter)  # YAML: altimeter: {model: laser_altimeter}


def main() -> Array:
    """Fly over the terrace of the courtyard; return distance north and height of the ground [m], (K, 2)."""
    over_the_edge = trajectories.waypoints(points=((1.5, 17, 2.5), (1.5, 23.8, 2.5)), speed=3.0)
    pilot = GeometricController(over_the_edge, relative=False)
    sensors, hits = {"altimeter": LaserAltimeter()}, []
    with Simulation("courtyard", seed=3) as sim:
        iris = sim.add(Multirotor("iris", position=(1.5, 17, 0.1), backends=[pilot], sensors=sensors))
        while sim.time < 11.0:
            state = iris.state.copy()
            sim.step()
            if isinstance(reading := iris.new_readings.get("altimeter"), AltimeterReading):
                hits.append(state.position - reading.range[:, None] * state.rotation[:, :, 2])
    ground = np.concatenate(hits)[:, 1:]
    print(f"ground at the start: {ground[0, 1]:.2f} m, at the end: {ground[-1, 1]:.2f} m (true: 0 and 0.9 m)")
    return ground


if __name__ == "__main__":
    start_host()
    main()
