"""Flights of batches of vehicles, recorded in all steps, to compare with flights of single vehicles."""

import numpy as np

from pegasus import Simulation
from pegasus.control import GeometricController


class InNumpy(GeometricController):
    """Controller whose wrench is computed in NumPy."""

    def wrench(self, state, reference, dt):
        force, torque = super().wrench(state, reference, dt)
        return 1.0 * force, torque


def flown(world, vehicles, steps):
    """Fly, and return the motion, command and reference of each copy in all steps.

    Columns: position (3), orientation (4), velocity (3), command (R); position, velocity, acceleration and
    jerk of the reference (3 each), its yaw and yaw rate, and whether it idles.
    """
    with Simulation(world, engine="mujoco") as simulation:
        added = [simulation.add(vehicle) for vehicle in vehicles]
        rows = []
        for _ in range(steps):
            simulation.step()
            parts = []
            for vehicle in added:
                state, wanted = vehicle.state, vehicle.reference
                columns = [state.position, state.orientation, state.velocity, vehicle.command]
                columns += [wanted.position, wanted.velocity, wanted.acceleration, wanted.jerk]
                columns += [wanted.yaw[:, None], wanted.yaw_rate[:, None], wanted.idle[:, None]]
                parts.append(np.concatenate(columns, axis=1))
            rows.append(np.concatenate(parts))
    return np.array(rows)
