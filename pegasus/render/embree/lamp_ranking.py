"""Columns of lamps, which are ranked at a point eight lamps at a time."""

import numpy as np
import numpy.typing as npt

LANES = 8
"""Number of lamps at a time."""

_COLUMNS = 17
_NEVER = 1.0e30


def lamp_columns(lamps: npt.NDArray[np.void]) -> npt.NDArray[np.float32]:
    """Return lamps as columns for `rank_lamps`, their number a multiple of `LANES`, shape (17, P).

    A distant lamp is one at its direction from each point; lamps that fill up the last columns are dark.

    Args:
        lamps: Lamps as a structured array.
    """
    count = len(lamps)
    columns = np.zeros((_COLUMNS, padded(count)), np.float32)
    distant = lamps["kind"] == 0
    columns[0, :count] = ~distant
    columns[1:4, :count] = np.where(distant[:, None], lamps["axis"], lamps["position"]).T
    columns[4:7, :count] = lamps["axis"].T
    columns[7:10, :count] = lamps["strength"].T
    columns[10, :count] = lamps["kind"] == 2
    columns[11, :count] = lamps["softness"]
    columns[12, :count] = np.where(distant, 0.0, lamps["radius"] ** 2)
    columns[12, count:] = 1.0
    columns[14, :count] = lamps["half_extent"]
    columns[15:17, :count] = lamps["cone"].T
    columns[13] = _NEVER
    columns[13, :count][~distant] = 0.0
    return columns


def padded(count: int) -> int:
    """Return the number of columns for a number of lamps."""
    return -(-count // LANES) * LANES
