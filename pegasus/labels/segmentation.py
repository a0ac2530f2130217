"""Segmentation: ids and colours of instances and classes, boxes of visible pixels, COCO run-length masks."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import BoolArray, IntArray
from pegasus.labels.entities import LabelledEntity

BACKGROUND, UNLABELLED = 0, 1
"""Ids of pixels without a hit, and of pixels of entities without a class."""

FIRST_ID = 2
"""Id of the first entity and of the first class."""

_TURN = 510  # ids of one turn of the colour wheel: levels 1 to 8 of its halving


def class_names(entities: Iterable[LabelledEntity]) -> tuple[str, ...]:
    """Return the classes of entities in alphabetical order.

    Args:
        entities: Entities; those without a class are ignored.
    """
    return tuple(sorted({entity.label for entity in entities if entity.label is not None}))


def instance_ids(
    entity: npt.NDArray[np.int32], entities: Sequence[LabelledEntity], classes: Sequence[str]
) -> npt.NDArray[np.uint32]:
    """Return the instance id of each pixel: `FIRST_ID` plus the entity's index, shape (H, W).

    Args:
        entity: Entity of each pixel, shape (H, W).
        entities: Entities that the indices refer to.
        classes: Names of the classes; entities of other classes are unlabelled.
    """
    ids = [FIRST_ID + k if e.label in classes else UNLABELLED for k, e in enumerate(entities)]
    return _looked_up(entity, ids)


def semantic_ids(
    entity: npt.NDArray[np.int32], entities: Sequence[LabelledEntity], classes: Sequence[str]
) -> npt.NDArray[np.uint32]:
    """Return the class id of each pixel: `FIRST_ID` plus the index of the class, shape (H, W).

    Args:
        entity: Entity of each pixel, shape (H, W).
        entities: Entities that the indices refer to.
        classes: Names of the classes; entities of other classes are unlabelled.
    """
    return _looked_up(entity, entity_classes(entities, classes))


def entity_classes(entities: Sequence[LabelledEntity], classes: Sequence[str]) -> list[int]:
    """Return the id of each entity's class, `UNLABELLED` for one that is of none of the classes."""
    ids = {name: FIRST_ID + k for k, name in enumerate(classes)}
    return [ids.get(entity.label or "", UNLABELLED) for entity in entities]


def colors(ids: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Return the RGBA colours of ids as in Replicator, shape (..., 4).

    Background is transparent black, unlabelled opaque black. From id 2 on, hues bisect the colour wheel
    repeatedly (1/4, 3/4, 1/8, 3/8, ...) at saturation 0.9 and value 1; when eight bits are exhausted the
    wheel repeats one step darker, so that 30,000 ids have distinct colours.

    Args:
        ids: Ids of instances or classes, shape (...).
    """
    number = np.asarray(ids, dtype=np.int64)
    turn, within = np.divmod(np.maximum(number - FIRST_ID, 0), _TURN)
    within = within + FIRST_ID
    level = 2 ** np.floor(np.log2(within)).astype(np.int64)
    hue = (2 * (within - level) + 1) / (2 * level)
    # At full saturation a channel is 1 up to 1/6 turn from its own hue, and falls to 0 over the next sixth.
    apart = np.abs((hue[..., None] - np.array([0.0, 1 / 3, 2 / 3]) + 0.5) % 1.0 - 0.5)
    channel = 0.1 + 0.9 * np.clip(2.0 - 6.0 * apart, 0.0, 1.0)
    rgba = np.empty((*number.shape, 4), np.uint8)
    # The offset prevents whole numbers from being truncated to the one below.
    rgba[..., :3] = (channel * (255 - turn[..., None]) + 1e-9).astype(np.uint8)
    rgba[..., :3][number < FIRST_ID] = 0
    rgba[..., 3] = np.where(number == BACKGROUND, 0, 255)
    return rgba


def colored(ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """Return ids as an image of their colours, shape (H, W, 4).

    Args:
        ids: Id of each pixel, shape (H, W).
    """
    table = colors(np.arange(int(ids.max()) + 1)).view(np.uint32)[:, 0]
    return table[ids].view(np.uint8).reshape(*ids.shape, 4)


def visible_pixels(entity: npt.NDArray[np.int32], count: int) -> IntArray:
    """Return the number of visible pixels of each entity, shape (E,).

    Args:
        entity: Entity of each pixel, shape (H, W).
        count: Number of entities.
    """
    return np.bincount(entity.ravel() + 1, minlength=count + 1)[1:]


def tight_boxes(entity: npt.NDArray[np.int32], count: int) -> npt.NDArray[np.int32]:
    """Return the boxes around the visible pixels of each entity, shape (E, 4).

    A box is x_min, y_min, x_max, y_max, all four inclusive; -1 four times for an entity without a visible
    pixel.

    Args:
        entity: Entity of each pixel, shape (H, W).
        count: Number of entities.
    """
    height, width = entity.shape
    in_row = np.zeros((height, count + 1), np.bool_)
    in_column = np.zeros((width, count + 1), np.bool_)
    key = entity + 1
    in_row[np.arange(height)[:, None], key] = True
    in_column[np.arange(width)[None, :], key] = True
    boxes = np.empty((count, 4), np.int32)
    for axis, seen in enumerate((in_column[:, 1:], in_row[:, 1:])):
        boxes[:, axis] = seen.argmax(axis=0)
        boxes[:, axis + 2] = len(seen) - 1 - seen[::-1].argmax(axis=0)
    boxes[~in_row[:, 1:].any(axis=0)] = -1
    return boxes


def _looked_up(entity: npt.NDArray[np.int32], ids: Sequence[int]) -> npt.NDArray[np.uint32]:
    table = np.array([BACKGROUND, *ids], np.uint32)
    return table[entity + 1]


def run_lengths(mask: BoolArray) -> IntArray:
    """Return the run lengths of a mask in column-major order, beginning with a run of zeros.

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
        mask: Part of the image's mask within `box`, shape (h, w); the rest is zero.
        box: Left column and upper row of that part, width and height of the image [pixels].
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
