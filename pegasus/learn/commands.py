"""Commands that actions stand for, by the level at which a task commands its vehicle."""

import math
from collections.abc import Mapping

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.control.airloads import hover_speed
from pegasus.fleet import Fleet
from pegasus.learn.episodes import length

RANGES: Mapping[str, tuple[float, float]] = {
    "rate_x": (-8.0, 8.0),
    "rate_y": (-8.0, 8.0),
    "rate_z": (-3.0, 3.0),
    "orientation_x": (-math.tan(0.4), math.tan(0.4)),
    "orientation_y": (-math.tan(0.4), math.tan(0.4)),
    "orientation_z": (0.0, 0.0),
    "orientation_w": (1.0, 1.0),
    **{f"velocity_{axis}": (-2.0, 2.0) for axis in "xyz"},
    **{f"position_{axis}": (-2.0, 2.0) for axis in "xyz"},
    **{f"acceleration_{axis}": (-5.0, 5.0) for axis in "xyz"},
    **{f"jerk_{axis}": (0.0, 0.0) for axis in "xyz"},
    "heading": (0.0, 0.0),
    "heading_rate": (0.0, 0.0),
}
"""Commands for actions of -1 and 1 by name, in their units; others follow from the vehicle."""


def hover_command(fleet: Fleet) -> Array:
    """Return the commands of hover, in their units, shape (U,); joints are idle.

    Args:
        fleet: The fleet.
    """
    vehicle, weight = fleet.vehicle, _weight(fleet)
    if fleet.level == "channels":
        speed = hover_rotor_speed(fleet)
        return np.array([speed if c.supplied else c.idle for c in fleet.inputs])
    shares = {"thrust": 1.0} | {f"thrust_{k}": 1.0 / vehicle.rotor_count for k in range(vehicle.rotor_count)}
    return np.array([weight * shares[c.name] if c.name in shares else c.idle for c in fleet.inputs])


def hover_rotor_speed(fleet: Fleet) -> float:
    """Return the rotor speed that balances the weight at the origin of the world [rad/s]."""
    environment, ground = fleet.environment, np.zeros((1, 3))
    density = environment.air_density(ground)[:, None]
    return float(hover_speed(fleet.vehicle, _weight(fleet), density)[0, 0])


def _weight(fleet: Fleet) -> float:
    fall = fleet.environment.gravity_vector(np.zeros((1, 3)))
    return fleet.vehicle.mass * float(length(fall)[0])


def command_range(
    fleet: Fleet, rest: Array, effort: float, ranges: Mapping[str, tuple[float, float]]
) -> tuple[Array, Array]:
    """Return the commands that actions of -1 and 1 stand for, in their units, shape (U,) each.

    Rotor speeds and thrusts are those of steady flight, less and more a share; channels of joints a share of
    half their range; others as in `RANGES`. They are within the limits of the commands.

    Args:
        fleet: The fleet.
        rest: Commands of steady flight, shape (U,).
        effort: The share.
        ranges: Commands for actions of -1 and 1 by name, in place of these.

    Raises:
        ConfigError: If there is no such command, or one is beyond its limits.
    """
    inputs = fleet.inputs
    low, high = (np.array([getattr(c, side) for c in inputs]) for side in ("low", "high"))
    names = [c.name for c in inputs]
    for name, pair in ranges.items():
        if name not in names:
            remedy = " ".join([*did_you_mean(name, names), f"there are {', '.join(names)}"])
            raise ConfigError("is not commanded", field="ranges", value=name, remedy=remedy)
        least, most = pair
        channel = inputs[names.index(name)]
        if not channel.low <= least <= most <= channel.high or math.isinf(most - least):
            raise ConfigError(f"must be within {channel}", field=f"ranges.{name}", value=list(pair))
    given = {**(RANGES if fleet.level != "channels" else {}), **ranges}
    found = np.empty((2, len(names)))
    for k, name in enumerate(names):
        if name in given:
            found[:, k] = given[name]
        else:
            swing = effort * (
                rest[k] if inputs[k].supplied or inputs[k].unit == "N" else 0.5 * (high[k] - low[k])
            )
            found[:, k] = max(low[k], rest[k] - swing), min(high[k], rest[k] + swing)
    return found[0], found[1]


def commands_of(action: Array, low: Array, high: Array) -> Array:
    """Return the commands that actions stand for, shape (N, U).

    Args:
        action: Actions, from -1 to 1, shape (N, U).
        low: Commands for actions of -1, shape (U,).
        high: Commands for actions of 1.
    """
    commands: Array = 0.5 * (low + high) + 0.5 * (high - low) * action
    return commands
