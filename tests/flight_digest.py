"""Digests of a vehicle's flights: alone, beside others and as one of several copies.

This is a separate program because a linear algebra library chooses its kernels when it is loaded.
"""

import dataclasses
import hashlib
import json

import numpy as np
from flyers import Listener

from pegasus import Multirotor, Simulation
from pegasus.config.files import load_world
from pegasus.control import CascadedPIDController, GeometricController, trajectories
from pegasus.dynamics import GroundEffect
from pegasus.sensors import IMU, Airspeed, Odometry, OpticalFlow, Rangefinder, Vibration

STEPS = 300


def watched(count, controller, listener):
    """Return the vehicle whose first copy is recorded; it has products of inertia and many sensors."""
    positions = [(0.0, 0.0, 0.1)] + [(4.0 * k, 6.0, 0.1) for k in range(1, count)]
    return Multirotor(
        "pegasus",
        name="watched",
        count=count,
        position=positions,
        ground_effect=GroundEffect(),
        backends=[controller(trajectories.lemniscate(radius=3.0, height=1.0)), listener],
        extra_sensors={
            "shaken": IMU(
                position=(0.02, 0.01, -0.03),
                orientation=(0.0, 0.6, 0.0, 0.8),
                vibration=Vibration(in_plane=5e-6, axial=1e-6),
            ),
            "pitot": Airspeed(),
            "range": Rangefinder(ray_count=5, cone_angle=0.2),
            "flow": OpticalFlow(),
            "odometry": Odometry(),
        },
    )


def digest(listener):
    """Return the SHA-256 of the states and readings of the first copy."""
    bits = hashlib.sha256()
    for _, state, readings in listener.seen:
        for part in (state.position, state.orientation, state.velocity, state.angular_velocity):
            bits.update(np.ascontiguousarray(part[0]).tobytes())
        for name in sorted(readings):
            for field in dataclasses.fields(readings[name]):
                value = getattr(readings[name], field.name)
                if isinstance(value, np.ndarray):
                    bits.update(np.ascontiguousarray(value[0]).tobytes())
    return bits.hexdigest()


def fly(controller, *, count=1, others=False):
    """Return the digest of one flight."""
    world = load_world("courtyard")[0].model_copy(
        update={"wind": {"model": "gusts", "mean_velocity": [3, 1, 0], "intensity": 0.8}}
    )
    listener = Listener()
    with Simulation(world, seed=7) as sim:
        sim.add(watched(count, controller, listener))
        if others:
            hold = GeometricController(trajectories.hold(height=2.0))
            sim.add(Multirotor("typhoon_h", count=3, position=(25, 25, 0.5), backends=[hold]))
        sim.step(STEPS)
    return digest(listener)


def main():
    """Print the digests by controller and company."""
    companies = {"alone": {}, "beside others": {"others": True}, "of twenty": {"count": 20}}
    controllers = (GeometricController, CascadedPIDController)
    print(
        json.dumps(
            {c.__name__: {name: fly(c, **given) for name, given in companies.items()} for c in controllers}
        )
    )


if __name__ == "__main__":
    main()
