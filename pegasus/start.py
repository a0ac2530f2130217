"""Where vehicles start: one by one, or on a grid on which they do not touch."""

import math

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.scenario import VehicleSpec


def whole_count(count: int) -> int:
    """Return a number of vehicles, any whole number from 1 up.

    Args:
        count: The number.
    """
    whole = isinstance(count, int | np.integer) and count >= 1
    require(whole, "count", count, "must be a whole number from 1 up")
    return int(count)


def finite_numbers(field: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a value as finite numbers, broadcast to a shape.

    Args:
        field: Name of the argument.
        value: One or more numbers.
        shape: The shape.
    """
    try:
        numbers = np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
    except (TypeError, ValueError):
        raise ConfigError(
            f"must be numbers that broadcast to shape {shape}", field=field, value=value
        ) from None
    require(bool(np.isfinite(numbers).all()), field, value, "must be finite")
    return numbers


def swept_radius(spec: VehicleSpec) -> float:
    """Return the radius about the z axis that rotors and propellers stay within [m].

    Args:
        spec: The vehicle.
    """
    reach = max(math.hypot(*rotor.position[:2]) for rotor in spec.rotor_list())
    return reach + spec.propeller.diameter / 2


GAP = 0.5
"""Least distance between the rotors of vehicles that are placed for the user [m]."""


def square_grid(count: int) -> Array:
    """Return places of a square grid around the origin, one apart, shape (count, 2).

    Args:
        count: Number of places.
    """
    side = math.ceil(math.sqrt(count))
    index = np.arange(count)
    grid = np.stack([index % side, index // side], axis=1).astype(np.float64)
    grid -= grid.mean(axis=0)
    return grid


def start_positions(position: npt.ArrayLike, *, count: int, spacing: float | None, clearance: float) -> Array:
    """Return where each vehicle starts [m], shape (N, 3).

    Args:
        position: Middle of a square grid, shape (3,), or the places themselves, shape (N, 3) [m].
        count: Number of vehicles N.
        spacing: Distance of neighbours in the grid [m]; clears the rotors when None.
        clearance: Radius that each vehicle needs [m].
    """
    points = finite_numbers("position", position, (count, 3))
    if np.ndim(position) == 2:
        return points.copy()
    gap = 2 * clearance + GAP if spacing is None else spacing
    require(
        gap > 2 * clearance, "spacing", spacing, f"must be above {2 * clearance:.3g} m, or rotors overlap"
    )
    placed = points.copy()
    placed[:, :2] += square_grid(count) * gap
    return placed
