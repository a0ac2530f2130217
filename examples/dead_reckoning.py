"""Position from the IMU alone, against the truth: how fast the integration drifts.

Run it with `python examples/dead_reckoning.py`.
"""

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.base.frames import matrix_from_quaternion, multiply, normalize, quaternion_from_rotation_vector
from pegasus.control import GeometricController, trajectories
from pegasus.sensors import IMU, ImuReading


def main(imu: IMU | None = None, duration: float = 30.0) -> list[float]:
    """Fly a figure of eight; return the error of the integrated position at each second [m]."""
    pilot = GeometricController(trajectories.lemniscate(radius=5.0, height=3.0, speed=2.0))
    sensor, errors = imu or IMU(), []
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", backends=[pilot], sensors={"imu": sensor}))
        sim.run(5.0)
        truth = iris.state.copy()
        place, velocity, attitude = truth.position[0], truth.velocity[0], truth.orientation[0]
        gravity, since, dt = sim.environment.gravity_vector(truth.position)[0], sim.time, 1 / sensor.rate_hz
        for _ in sim.stepping(duration):
            reading = iris.reading(ImuReading)
            if reading.stamp > since:
                turn = reading.angular_velocity[0] * dt
                half = normalize(multiply(attitude, quaternion_from_rotation_vector(turn / 2)))
                attitude = normalize(multiply(attitude, quaternion_from_rotation_vector(turn)))
                change = (matrix_from_quaternion(half) @ reading.specific_force[0] + gravity) * dt
                place, velocity, since = (
                    place + (velocity + change / 2) * dt,
                    velocity + change,
                    reading.stamp,
                )
                if round(since * sim.rate) % round(sim.rate) == 0:
                    errors.append(float(np.linalg.norm(place - truth.position[0])))
            # The reading was taken at the beginning of the step.
            truth = iris.state.copy()
    print("error after 1, 10 and 29 s:", ", ".join(f"{errors[k]:.3g} m" for k in (0, 9, 28)))
    return errors


if __name__ == "__main__":
    start_host()
    main()
