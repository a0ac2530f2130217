"""What a camera gives: images by name, computed from a renderer's channels."""

from collections.abc import Iterable
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.components import require

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
    """Return outputs by their full names, each once.

    Args:
        outputs: Names or short names.

    Raises:
        ConfigError: If there is no such output.
    """
    names = tuple(dict.fromkeys(ALIASES.get(name, name) for name in outputs))
    for name in names:
        known = f"must be some of {', '.join([*OUTPUTS, *ALIASES])}"
        require(name in OUTPUTS, "outputs", name, known)
    return names


def point_cloud(distance: npt.NDArray[np.float32], directions: Array) -> npt.NDArray[np.float32]:
    """Return the points that pixels show, in the optical frame, not a number for nothing [m], (H, W, 3).

    Args:
        distance: Distance from the camera [m], shape (H, W).
        directions: Unit directions of the pixels, optical frame, shape (H, W, 3).
    """
    reach = np.where(np.isfinite(distance), distance, np.nan)
    return (reach[..., None] * directions).astype(np.float32)


def disparity(depth: Array, *, focal_length: float, baseline: float) -> Array:
    """Return how much farther left the right camera of a pair sees things: f b / depth [pixels], shape (...).

    Args:
        depth: Distance from the image plane [m], shape (...).
        focal_length: Focal length along x [pixels].
        baseline: Distance between the cameras [m].
    """
    return focal_length * baseline / depth


def depth_from_disparity(shift: Array, *, focal_length: float, baseline: float) -> Array:
    """Return the distance from the image plane of things [m], infinite where there is no disparity.

    Args:
        shift: Disparity [pixels], shape (...).
        focal_length: Focal length along x [pixels].
        baseline: Distance between the cameras [m].
    """
    with np.errstate(divide="ignore"):
        return np.where(shift <= 0, np.inf, focal_length * baseline / shift)
