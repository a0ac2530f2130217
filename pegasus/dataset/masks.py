"""Run-length masks as COCO writes them."""

import numpy as np
import numpy.typing as npt

from pegasus.arrays import BoolArray, IntArray


def run_lengths(mask: BoolArray) -> IntArray:
    """Return the lengths of the runs of a mask, column by column, the first run being one of zeros.

    Args:
        mask: Mask, shape (H, W).
    """
    flat = mask.ravel(order="F")
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    bounds = np.concatenate([[0], changes, [flat.size]])
    lengths = np.diff(bounds)
    return np.concatenate([[0], lengths]) if flat[0] else lengths


def compressed_counts(lengths: npt.NDArray[np.integer]) -> str:
    """Return run lengths as the string that the COCO API stores.

    From the fourth run on the difference to the run two before is stored; every number goes as groups of five
    bits, lowest first, with a sixth bit for "more follows", in the characters from "0" on (maskApi.c of
    the COCO API).

    Args:
        lengths: Lengths of the runs, shape (R,).
    """
    values = lengths.astype(np.int64)
    values[3:] -= lengths[1:-2]
    text = []
    for value in values.tolist():
        more = True
        while more:
            group = value & 0x1F
            value >>= 5
            # The top bit of the last group is the sign.
            more = value != (-1 if group & 0x10 else 0)
            text.append(chr(48 + (group | 0x20 if more else group)))
    return "".join(text)


def encoded(mask: BoolArray, box: tuple[int, int, int, int]) -> dict[str, object]:
    """Return a mask as COCO's compressed run-length encoding.

    Args:
        mask: The part of the image's mask that `box` cuts out, shape (h, w); outside it nothing is set.
        box: Left column, upper row of that part and width, height of the image [pixels].
    """
    left, top, width, height = box
    h, w = mask.shape
    columns = np.zeros((height, w), np.bool_)
    columns[top : top + h] = mask
    lengths = run_lengths(columns)
    # Columns to the left and right of the part are empty: the first and last run of zeros grow by them.
    lengths[0] += left * height
    right = (width - left - w) * height
    if right and columns[-1, -1]:
        lengths = np.append(lengths, right)
    else:
        lengths[-1] += right
    return {"size": [height, width], "counts": compressed_counts(lengths)}
