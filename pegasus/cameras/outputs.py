"""Camera outputs: their names, the renderer's channels that they need, point clouds and disparity."""

from collections.abc import Iterable
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import require

OUTPUTS = MappingProxyType(
    {
        "rgb": ("radiance",),
        "distance_to_image_plane": ("distance",),
        "distance_to_camera": ("distance",),
        "normals": ("normal",),
        "semantic_segmentation": ("entity",),
        "instance_segmentation": ("entity",),
        "motion_vectors": ("distance", "entity"),
        "point_cloud": ("distance",),
    }
)
"""Outputs of a camera, and the renderer's channels that each one needs."""

ALIASES = MappingProxyType(
    {
        "depth": "distance_to_image_plane",
        "semantic": "semantic_segmentation",
        "instance": "instance_segmentation",
    }
)
"""Short names of outputs."""


def full_names(outputs: Iterable[str]) -> tuple[str, ...]:
    """Return the full names of outputs without duplicates.

    Raises:
        ConfigError: If there is no such output.
    """
    names = tuple(dict.fromkeys(ALIASES.get(name, name) for name in outputs))
    for name in names:
        known = f"must be among {', '.join([*OUTPUTS, *ALIASES])}"
        require(name in OUTPUTS, "outputs", name, known)
    return names


def point_cloud(distance: npt.NDArray[np.float32], directions: Array) -> npt.NDArray[np.float32]:
    """Return the point of each pixel in the optical frame [m], NaN where nothing is hit, shape (H, W, 3).

    Args:
        distance: Distance from the camera [m], shape (H, W).
        directions: Unit directions of the pixels, optical frame, shape (H, W, 3).
    """
    reach = np.where(np.isfinite(distance), distance, np.nan)
    return (reach[..., None] * directions).astype(np.float32)


def disparity(depth: Array, *, focal_length: float, baseline: float) -> Array:
    """Return the disparity of a rectified stereo pair: f b / depth [pixels], shape (...).

    Args:
        depth: Distance from the image plane [m], shape (...).
        focal_length: Focal length along x [pixels].
        baseline: Distance between the cameras [m].
    """
    return focal_length * baseline / depth


def depth_from_disparity(shift: Array, *, focal_length: float, baseline: float) -> Array:
    """Return the depth that belongs to a disparity [m], infinite where there is none, shape (...).

    Args:
        shift: Disparity [pixels], shape (...).
        focal_length: Focal length along x [pixels].
        baseline: Distance between the cameras [m].
    """
    with np.errstate(divide="ignore"):
        return np.where(shift <= 0, np.inf, focal_length * baseline / shift)
