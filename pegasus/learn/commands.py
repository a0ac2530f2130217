"""Commands that actions stand for."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.control.airloads import hover_speed
from pegasus.fleet import Fleet
from pegasus.learn.episodes import length


def hover_command(fleet: Fleet) -> Array:
    """Return the commands of hover by channel, in their units, shape (U,); other channels are idle.

    Args:
        fleet: The fleet.
    """
    vehicle = fleet.vehicle
    environment, ground = fleet.environment, np.zeros((1, 3))
    weight = vehicle.mass * float(length(environment.gravity_vector(ground))[0])
    density = environment.air_density(ground)[:, None]
    speed = float(hover_speed(vehicle, weight, density)[0, 0])
    return np.array([speed if c.supplied else c.idle for c in fleet.inputs])


def command_range(fleet: Fleet, rest: Array, effort: float) -> tuple[Array, Array]:
    """Return the commands that actions of -1 and 1 stand for, in the units of the channels, shape (U,) each.

    They are those of steady flight, less and more a share: of the speed of a rotor, of half the range of
    another channel. They are within the limits of the channel.

    Args:
        fleet: The fleet.
        rest: Commands of steady flight, shape (U,).
        effort: The share.
    """
    low, high = (np.array([getattr(c, side) for c in fleet.inputs]) for side in ("low", "high"))
    driven = np.array([c.supplied for c in fleet.inputs])
    swing = effort * np.where(driven, rest, 0.5 * (high - low))
    return np.maximum(low, rest - swing), np.minimum(high, rest + swing)
