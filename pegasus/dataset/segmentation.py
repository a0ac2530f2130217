"""Which pixel belongs to what: ids of instances and classes, their colours, boxes around visible pixels."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from pegasus.arrays import IntArray
from pegasus.dataset.entities import LabelledEntity

BACKGROUND, UNLABELLED = 0, 1
"""Ids of pixels that show nothing, and of those that show something without a class."""

FIRST_ID = 2
"""Id of the first entity and of the first class."""

_TURN = 510  # ids of one turn of the colour wheel: levels 1 to 8 of its halving


def class_names(entities: Iterable[LabelledEntity]) -> tuple[str, ...]:
    """Return the classes of entities in alphabetical order.

    Args:
        entities: Entities; those without a class are passed over.
    """
    return tuple(sorted({entity.label for entity in entities if entity.label is not None}))


def instance_ids(
    entity: npt.NDArray[np.int32], entities: Sequence[LabelledEntity], classes: Sequence[str]
) -> npt.NDArray[np.uint32]:
    """Return the instance of each pixel: `FIRST_ID` plus the entity's index, shape (H, W).

    Args:
        entity: Entity of each pixel, shape (H, W).
        entities: What it counts.
        classes: Names of the classes; what is of none of them is unlabelled.
    """
    ids = [FIRST_ID + k if e.label in classes else UNLABELLED for k, e in enumerate(entities)]
    return _looked_up(entity, ids)


def semantic_ids(
    entity: npt.NDArray[np.int32], entities: Sequence[LabelledEntity], classes: Sequence[str]
) -> npt.NDArray[np.uint32]:
    """Return the class of each pixel: `FIRST_ID` plus its place among the classes, shape (H, W).

    Args:
        entity: Entity of each pixel, shape (H, W).
        entities: What it counts.
        classes: Names of the classes; what is of none of them is unlabelled.
    """
    return _looked_up(entity, entity_classes(entities, classes))


def entity_classes(entities: Sequence[LabelledEntity], classes: Sequence[str]) -> list[int]:
    """Return the id of each entity's class, `UNLABELLED` for one that is of none of the classes.

    Args:
        entities: Entities.
        classes: Names of the classes.
    """
    ids = {name: FIRST_ID + k for k, name in enumerate(classes)}
    return [ids.get(entity.label or "", UNLABELLED) for entity in entities]


def colors(ids: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Return the colours of ids as Replicator gives them, shape (..., 4).

    Nothing is transparent black, unlabelled opaque black. From id 2 on hues halve the colour wheel ever
    again (1/4, 3/4, 1/8, 3/8, ...) at saturation 0.9 and value 1; where eight bits can tell no further hue
    apart the wheel begins anew one step darker, so that no two of 30,000 ids share a colour.

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
    # The tiny offset keeps a channel that is a whole number from being cut to the one below.
    rgba[..., :3] = (channel * (255 - turn[..., None]) + 1e-9).astype(np.uint8)
    rgba[..., :3][number < FIRST_ID] = 0
    rgba[..., 3] = np.where(number == BACKGROUND, 0, 255)
    return rgba


def colored(ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """Return ids as a picture of their colours, shape (H, W, 4).

    Args:
        ids: Id of each pixel, shape (H, W).
    """
    table = colors(np.arange(int(ids.max()) + 1)).view(np.uint32)[:, 0]
    return table[ids].view(np.uint8).reshape(*ids.shape, 4)


def visible_pixels(entity: npt.NDArray[np.int32], count: int) -> IntArray:
    """Return how many pixels show each entity, shape (E,).

    Args:
        entity: Entity of each pixel, shape (H, W).
        count: Number of entities.
    """
    return np.bincount(entity.ravel() + 1, minlength=count + 1)[1:]


def tight_boxes(entity: npt.NDArray[np.int32], count: int) -> npt.NDArray[np.int32]:
    """Return the boxes around the visible pixels of each entity, shape (E, 4).

    A box is the first and last column and row that show the entity: x_min, y_min, x_max, y_max, all four
    inclusive; -1 four times for an entity that is not seen.

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
