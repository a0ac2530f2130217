"""Ray casts in a MuJoCo model."""

import itertools
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.engines.mujoco_geoms import SEEN

SEEN_GROUPS = np.arange(mujoco.mjNGROUP) == SEEN
"""Mask of the geom groups that rays can hit."""


def cast_rays(
    model: Any,
    data: Any,
    origins: Array,
    directions: Array,
    max_range: float,
    excluded: Sequence[int],
    *,
    groups: Any = None,
) -> tuple[npt.NDArray[np.int32], Array, Array]:
    """Return the nearest geom of each ray (-1 if none), its distance [m], and the surface normal.

    Consecutive rays that share origin and excluded body are cast together.

    Args:
        model: The model.
        data: Its data with up-to-date geom poses.
        origins: Starts of the rays [m], shape (K, 3).
        directions: Unit vectors, shape (K, 3).
        max_range: Minimum range of the rays [m].
        excluded: Body of the model that each ray passes through, or -1.
        groups: Mask of the geom groups that rays can hit; all when None.
    """
    count = len(origins)
    geom, distance = np.full(count, -1, dtype=np.int32), np.zeros(count)
    normal = np.zeros((count, 3))
    bodies = np.asarray(excluded)
    changes = np.any(origins[1:] != origins[:-1], axis=1) | (bodies[1:] != bodies[:-1])
    edges = [0, *(np.flatnonzero(changes) + 1).tolist(), count]
    for a, b in itertools.pairwise(edges):
        if a == b:
            continue
        origin = np.ascontiguousarray(origins[a])
        if b - a == 1:
            # mj_multiRay first visits every body, which does not pay off for a single ray.
            distance[a] = mujoco.mj_ray(
                model, data, origin, directions[a], groups, True, excluded[a], geom[a:b], normal[a]
            )
            continue
        mujoco.mj_multiRay(
            model,
            data,
            origin,
            directions[a:b].ravel(),
            groups,
            True,
            excluded[a],
            geom[a:b],
            distance[a:b],
            normal[a:b].reshape(-1),
            b - a,
            max_range,
        )
    return geom, distance, normal
