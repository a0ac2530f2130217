"""Labels of pixels that follow from geometry: depth, points, motion; and the camera's numbers."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.cameras.lens import pixel_grid
from pegasus.dataset.boxes import rectilinear, to_camera
from pegasus.dataset.entities import LabelledEntity
from pegasus.dataset.frame import LabelledFrame
from pegasus.dataset.segmentation import UNLABELLED, instance_ids, semantic_ids
from pegasus.render.renderer import View

APERTURE = 20.955
"""Horizontal aperture that focal lengths are given for [mm], USD's own; only the ratio of the two counts."""

# A point on the surface of a part counts as in its box [m].
_SLACK = 1e-4

# What Isaac Sim calls the lenses that distort.
_MODELS = {"BrownConrady": "opencvPinhole", "KannalaBrandt": "opencvFisheye"}

# USD cameras look along -z with y up, optical frames along z with y down.
_OPTICAL_TO_USD = np.diag([1.0, -1.0, -1.0, 1.0])


class PointCloud(NamedTuple):
    """What the labelled pixels show, one point each, row by row."""

    points: npt.NDArray[np.float32]
    """Points in the world [m], shape (N, 3)."""
    colors: npt.NDArray[np.uint8]
    """Colours, sRGB, shape (N, 3)."""
    normals: npt.NDArray[np.float32]
    """Unit normals in the world, towards the camera, shape (N, 3)."""
    semantic: npt.NDArray[np.uint32]
    """Ids of classes, shape (N,)."""
    instance: npt.NDArray[np.uint32]
    """Ids of instances, shape (N,)."""


def distance_to_image_plane(distance: npt.NDArray[np.float32], directions: Array) -> npt.NDArray[np.float32]:
    """Return the depth of each pixel along the optical axis [m], infinite for nothing, shape (H, W).

    Args:
        distance: Distance along the ray of each pixel [m], infinite for nothing, shape (H, W).
        directions: Unit directions of the pixels in the optical frame, shape (H, W, 3).
    """
    seen = np.isfinite(distance)
    depth = np.full(distance.shape, np.inf, np.float32)
    np.multiply(distance, directions[..., 2], out=depth, where=seen, casting="same_kind")
    return depth


def world_points(distance: npt.NDArray[np.float32], directions: Array, view: View) -> Array:
    """Return what each pixel shows as a point in the world [m], not finite for nothing, shape (..., 3).

    Args:
        distance: Distance along the ray of each pixel [m], shape (...).
        directions: Unit directions of the pixels in the optical frame, shape (..., 3).
        view: The camera.
    """
    points: Array = (directions @ view.rotation.T) * distance[..., None] + view.position
    return points


def motion_vectors(
    distance: npt.NDArray[np.float32],
    directions: Array,
    entity: npt.NDArray[np.int32],
    entities: Sequence[LabelledEntity],
    view: View,
    previous_view: View,
) -> npt.NDArray[np.float32]:
    """Return where the point that each pixel shows was seen before, less where it is seen now [pixels].

    The sign is Replicator's: what moves to the left has a positive x, what moves up a positive y. The point
    is carried by the rigid motion of its entity, or of the part of it whose box it lies in, such as a turning
    rotor's; where a pixel shows nothing, it is a direction at rest in
    the world. A point that the lens did not see is not a number. Shape (H, W, 2).

    Args:
        distance: Distance along the ray of each pixel [m], infinite for nothing, shape (H, W).
        directions: Unit directions of the pixels in the optical frame, shape (H, W, 3).
        entity: Entity of each pixel, shape (H, W).
        entities: What it counts, with their poses at both instants.
        view: The camera now.
        previous_view: The camera at the earlier instant.
    """
    seen = np.isfinite(distance)[..., None]
    reach = np.where(seen, distance[..., None], 1.0)
    before = to_camera(previous_view)
    now = np.eye(4)
    now[:3, :3], now[:3, 3] = view.rotation, view.position
    still = before @ now
    points = directions @ still[:3, :3].T
    points *= reach
    points += seen * still[:3, 3]
    for k, moving in enumerate(entities):
        parts = [part for part in moving.parts if not np.array_equal(part.pose, part.previous_pose)]
        if not parts and np.array_equal(moving.pose, moving.previous_pose):
            continue
        mask = entity == k
        if not mask.any():
            continue
        local = directions[mask] * reach[mask]
        carried = _moved(local, before @ moving.previous_pose @ np.linalg.inv(moving.pose) @ now)
        for part in parts:
            from_camera = np.linalg.inv(part.pose) @ now
            own = _moved(local, from_camera)
            within = ((own > part.extent[0] - _SLACK) & (own < part.extent[1] + _SLACK)).all(axis=1)
            carried[within] = _moved(own[within], before @ part.previous_pose)
        points[mask] = carried
    motion = previous_view.lens.project(points, previous_view.resolution)
    motion -= pixel_grid(view.resolution)
    return motion.astype(np.float32)


def _moved(points: Array, transform: Array) -> Array:
    moved: Array = points @ transform[:3, :3].T + transform[:3, 3]
    return moved


def point_cloud(frame: LabelledFrame) -> PointCloud:
    """Return the points that the labelled pixels of a frame show.

    Args:
        frame: A frame with distance, normals and entities.
    """
    images = frame.images
    assert images.distance is not None
    assert images.normal is not None
    assert images.entity is not None
    semantic = semantic_ids(images.entity, frame.entities, frame.classes).ravel()
    # Taking by number is several times as fast as by a mask.
    shown = np.flatnonzero(semantic > UNLABELLED)
    rays = frame.directions.reshape(-1, 3)[shown]
    return PointCloud(
        world_points(images.distance.ravel()[shown], rays, frame.view).astype(np.float32),
        frame.rgb.reshape(-1, 3)[shown],
        images.normal.reshape(-1, 3)[shown],
        semantic[shown],
        instance_ids(images.entity, frame.entities, frame.classes).ravel()[shown],
    )


def camera_parameters(view: View) -> dict[str, Any]:
    """Return the numbers of a camera under the names of Replicator's `camera_params`.

    `cameraViewTransform` (world to camera, the camera looks along -z with y up) and `cameraProjection`
    (depth 1 at the near plane and 0 at the far one) act on row vectors and are given row by row. For a lens
    that distorts the projection is that of its matrix; `cameraModel` is `opencvPinhole` or `opencvFisheye`,
    and matrix and coefficients stand under `lens`.

    Args:
        view: The camera.
    """
    width, height = view.resolution
    matrix = view.lens.matrix(view.resolution)
    fx, fy, cx, cy = float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 2]), float(matrix[1, 2])
    shift_x, shift_y = 1.0 - 2.0 * cx / width, 2.0 * cy / height - 1.0
    focal_length = fx * APERTURE / width
    vertical_aperture = height * focal_length / fy
    projection = np.zeros((4, 4))
    projection[0, 0], projection[1, 1] = 2.0 * fx / width, 2.0 * fy / height
    projection[2, 0], projection[2, 1], projection[2, 3] = shift_x, shift_y, -1.0
    projection[2, 2] = view.near / (view.far - view.near)
    projection[3, 2] = view.far * view.near / (view.far - view.near)
    straight = rectilinear(view)
    parameters: dict[str, Any] = {
        "cameraAperture": [APERTURE, vertical_aperture],
        "cameraApertureOffset": [0.5 * shift_x * APERTURE, 0.5 * shift_y * vertical_aperture],
        "cameraFisheyeLensP": [],
        "cameraFisheyeLensS": [],
        "cameraFisheyeMaxFOV": 0.0,
        "cameraFisheyeNominalHeight": 0,
        "cameraFisheyeNominalWidth": 0,
        "cameraFisheyeOpticalCentre": [0.0, 0.0],
        "cameraFisheyePolynomial": [0.0, 0.0, 0.0, 0.0, 0.0],
        "cameraFocalLength": focal_length,
        "cameraFocusDistance": 0.0,
        "cameraFStop": 0.0,
        "cameraModel": "pinhole" if straight else _MODELS.get(lens := type(view.lens).__name__, lens),
        "cameraNearFar": [view.near, view.far],
        "cameraProjection": projection.ravel().tolist(),
        "cameraViewTransform": (_OPTICAL_TO_USD @ to_camera(view)).T.ravel().tolist(),
        "metersPerSceneUnit": 1.0,
        "renderProductResolution": [width, height],
    }
    if not straight and dataclasses.is_dataclass(view.lens):
        parameters["lens"] = {"matrix": matrix.tolist(), **dataclasses.asdict(view.lens)}
    return parameters
