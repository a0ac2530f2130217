"""Flights with faults, shared by the tests of this folder."""

import contextlib

import numpy as np
from flyers import HIGH, PLAIN_IRIS, Constant, quiet_imu

from pegasus import Multirotor, Simulation

SPEED = 600.0


@contextlib.contextmanager
def flying(*, speed=SPEED, model=PLAIN_IRIS, count=1, seed=0, backends=None, **kwargs):
    """Give a simulation and a vehicle high above the ground, whose rotors have a constant command."""
    kwargs.setdefault("position", HIGH if count == 1 else [(5.0 * k, 0.0, 50.0) for k in range(count)])
    with Simulation("flat", seed=seed) as sim:
        flown = [Constant(speed)] if backends is None else backends
        yield sim, sim.add(Multirotor(model, count=count, backends=flown, **kwargs))


def run_to_speed(sim, vehicle, speed=SPEED):
    """Step until the rotors turn at a speed, and return it."""
    sim.step(100)
    np.testing.assert_allclose(vehicle.state.rotor_speed, speed, rtol=1e-3)


__all__ = ["SPEED", "flying", "quiet_imu", "run_to_speed"]
