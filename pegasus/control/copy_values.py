"""Values of commands with one row per copy of a vehicle."""

import math

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require


def rows_of_copies(field: str, values: npt.ArrayLike, mask: BoolArray, shape: tuple[int, ...]) -> Array:
    """Return finite values of an argument as rows of a shape: one per chosen copy, or one for all.

    Raises:
        ConfigError: If the values are not of this form.
    """
    count = int(mask.sum())
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.full(1, np.nan)
    fits = rows.shape in (shape, (count, *shape)) and bool(np.isfinite(rows).all())
    one, each = shape or "()", (count, *shape)
    require(fits, field, values, f"must be finite numbers of shape {one}, or {each} for one row per copy")
    return rows


def angles_of_copies(field: str, values: npt.ArrayLike, mask: BoolArray) -> Array:
    """Return angles with one row per chosen copy, or one for all."""
    angles = rows_of_copies(field, values, mask, ())
    turns = bool((np.abs(angles) > 2 * math.pi).any())
    require(not turns, field, values, "must be in radians, -2 pi to 2 pi", "use math.radians")
    return angles


def length_of(vectors: Array) -> Array:
    """Return the lengths of vectors, shape (N,)."""
    length: Array = np.linalg.norm(vectors, axis=1)
    return length
