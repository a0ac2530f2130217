"""Occlusion ratios of entities, by rays beyond what hides them."""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.contracts.renderer import Returns, View
from pegasus.labels.annotations import LabelledFrame
from pegasus.labels.entities import LabelledEntity
from pegasus.labels.segmentation import visible_pixels

Cast = Callable[[Array, Array, float], Returns]
"""`Renderer.cast`: origins, directions and longest distance to returns."""

# Offset behind a surface from which a ray continues [m].
_STEP = 1e-4
# Surfaces after which a ray counts as one that misses its entity.
_LAYERS = 64
# Relative uncertainty above which an entity gets so many times the rays.
_TOLERANCE, _FINER = 0.1, 16
_GOLDEN = (1 + math.sqrt(5)) / 2


def occlusion_ratios(cast: Cast, frame: LabelledFrame, *, samples: int = 1024) -> npt.NDArray[np.float32]:
    """Return the occluded part of each countable entity, as Replicator's `occlusionRatio`, shape (E,).

    The ratio is hidden / (hidden + visible), over the pixels of the image whose rays hit the entity at all: 0
    is fully visible, 1 fully hidden; NaN for an entity outside the image or not countable. Rays continue
    behind occluders until they hit the entity or leave its box. They are cast for all pixels of its loose
    box, or for a lattice of them if it is large, refined once for an entity that fills little of its box.

    Args:
        cast: The renderer's `cast`, with all objects at their poses in the frame.
        frame: The frame; its `occlusion` is not read.
        samples: Approximate number of pixels per entity for which rays are cast; 1024 give an error of some
            0.02.
    """
    images, entities = frame.images, frame.entities
    assert images.entity is not None
    visible = visible_pixels(images.entity, len(entities))
    asked = frame.countable & (frame.loose.box[:, 0] >= 0)
    ratios = np.full(len(entities), np.nan, np.float32)
    # An entity without a pixel is hidden, and needs no ray.
    ratios[asked] = visible[asked] == 0
    partly_visible = np.flatnonzero(asked & (visible > 0))
    for count in (samples, _FINER * samples):
        hidden, slack = _hidden_pixels(cast, frame, partly_visible, count)
        shown = visible[partly_visible]
        ratios[partly_visible] = hidden / (hidden + shown)
        partly_visible = partly_visible[slack > _TOLERANCE * (hidden + shown)]
    return ratios


def _hidden_pixels(cast: Cast, frame: LabelledFrame, asked: IntArray, samples: int) -> tuple[Array, Array]:
    """Return the hidden pixels of each entity, and their uncertainty."""
    images, entities, view = frame.images, frame.entities, frame.view
    assert images.distance is not None
    assert images.entity is not None
    owner, rows, columns, weight = _lattice(frame.loose.box, asked, samples)
    rest = images.entity[rows, columns] != owner
    owner, rows, columns = owner[rest], rows[rest], columns[rest]
    rays = frame.directions[rows, columns] @ view.rotation.T
    enter, leave = _through_boxes(owner, rays, view, entities)
    start = np.maximum(images.distance[rows, columns], enter)
    met = _meet(cast, view.position, rays, owner, start, leave)
    count = np.bincount(owner[met], minlength=len(entities))[asked]
    return (weight * count).astype(np.float64), np.where(weight > 1, weight * np.sqrt(count + 1.0), 0.0)


def _lattice(
    boxes: npt.NDArray[np.int32], asked: IntArray, samples: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return entity, row and column of sampled pixels, and the pixels per sample of each entity."""
    none = np.zeros(0, np.int64)
    owners, rows, columns, weights = [none], [none], [none], []
    for k in asked.tolist():
        x_min, y_min, x_max, y_max = boxes[k].tolist()
        width, height = x_max - x_min + 1, y_max - y_min + 1
        # Every m-th pixel of each row, the rows shifted against each other so that columns share them alike.
        every = -(-width * height // samples)
        shift = next(g for g in range(max(1, round(every / _GOLDEN)), every + 2) if math.gcd(g, every) == 1)
        y = np.arange(height)[:, None]
        x = np.arange(0, width, every) + shift * y % every
        inside = x < width
        count = int(inside.sum())
        owners.append(np.full(count, k))
        rows.append(y_min + np.broadcast_to(y, x.shape)[inside])
        columns.append(x_min + x[inside])
        weights.append(every)
    return np.concatenate(owners), np.concatenate(rows), np.concatenate(columns), np.array(weights, np.int64)


def _through_boxes(
    owner: IntArray, rays: Array, view: View, entities: Sequence[LabelledEntity]
) -> tuple[Array, Array]:
    """Return the distances at which rays enter and leave the box around their entity."""
    enter, leave = np.empty(len(owner)), np.empty(len(owner))
    bounds = np.append(np.flatnonzero(np.diff(owner, prepend=-1)), len(owner))
    for begin, end in itertools.pairwise(bounds.tolist()):
        target = entities[owner[begin]]
        assert target.shape is not None
        rotation, place = target.pose[:3, :3], target.pose[:3, 3]
        origin, heading = (view.position - place) @ rotation, rays[begin:end] @ rotation
        low, high = target.shape.extent
        heading = np.where(np.abs(heading) < 1e-12, 1e-12, heading)
        slack = 10 * _STEP
        a, b = (low - slack - origin) / heading, (high + slack - origin) / heading
        enter[begin:end] = np.minimum(a, b).max(axis=1)
        leave[begin:end] = np.maximum(a, b).min(axis=1)
    return enter, np.minimum(leave, view.far)


def _meet(cast: Cast, origin: Array, rays: Array, owner: IntArray, start: Array, leave: Array) -> BoolArray:
    """Return which rays meet their entity between `start` and `leave`, going on layer by layer."""
    met = np.zeros(len(owner), np.bool_)
    active = np.flatnonzero(start < leave)
    at = start[active]
    for _ in range(_LAYERS):
        if not len(active):
            break
        at = at + _STEP
        reach = float((leave[active] - at).max()) + _STEP
        returns = cast(origin + at[:, None] * rays[active], rays[active], reach)
        at = at + returns.distance
        found = (returns.entity == owner[active]) & (at < leave[active] + _STEP)
        met[active[found]] = True
        goes_on = ~found & (at < leave[active])
        active, at = active[goes_on], at[goes_on]
    return met
