"""Digests of a flight of several models, printed as JSON, for `test_flight_processors`."""

import hashlib
import json

import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.config.files import load_vehicle, load_world
from pegasus.config.scenario import WorldSpec
from pegasus.control import CascadedPIDController, GeometricController, trajectories

ELECTRIC = {
    "motor": {
        "model": "electric",
        "kv": 920,
        "resistance": 0.12,
        "inertia": 3e-5,
        "nominal_voltage": 14.8,
        "speed_control": "closed_loop",
        "proportional_gain": 0.02,
        "max_speed": 1000.0,
    },
    "thrust_curve": {
        "model": "rotor",
        "diameter": 0.254,
        "advance_ratio": [0.0, 0.289, 0.719],
        "thrust_coefficient": [0.1185, 0.0770, -0.0218],
        "power_coefficient": [0.0480, 0.0414, 0.0130],
        "flapping": 0.6,
    },
}


def found() -> dict[str, str]:
    """Fly, and return the digests of states and readings."""
    wind = [{"model": "log", "mean_velocity": [5.0, 0.0, 0.0]}, {"model": "dryden"}]
    world = WorldSpec(**load_world("flat")[0].model_dump() | {"wind": wind})
    iris = load_vehicle("iris")[0].model_dump()
    made = {}
    with Simulation(world, engine="mujoco", seed=1) as simulation:
        pilots = [
            GeometricController(trajectories.hold(height=5.0)),
            CascadedPIDController(trajectories.hold(height=5.0)),
            GeometricController(trajectories.circle(radius=2.0, height=5.0, laps=9, yaw="forward")),
            GeometricController(trajectories.lemniscate(radius=2.0, height=5.0, laps=9, yaw="forward")),
        ]
        vehicles = [
            simulation.add(
                Multirotor(iris | change, count=3, position=(12.0 * k, 0.0, 5.0), backends=[pilot])
            )
            for k, (change, pilot) in enumerate(zip(({}, ELECTRIC, {}, {}), pilots, strict=True))
        ]
        simulation.run(6.0)
        for k, vehicle in enumerate(vehicles):
            for name in ("position", "orientation", "velocity", "angular_velocity"):
                made[f"{name} {k}"] = hashlib.sha256(getattr(vehicle.state, name).tobytes()).hexdigest()
            for name, reading in vehicle.readings.items():
                values = b"".join(np.asarray(value).tobytes() for value in vars(reading).values())
                made[f"{name} {k}"] = hashlib.sha256(values).hexdigest()
    return made


if __name__ == "__main__":
    print(json.dumps(found()))
