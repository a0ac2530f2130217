"""Labelled frames and their geometric annotations: depth, points, motion vectors, camera parameters."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.frames import quaternion_from_matrix
from pegasus.contracts.renderer import Images, View
from pegasus.labels.boxes import LooseBoxes, loose_boxes, rectilinear, to_camera
from pegasus.labels.entities import LabelledEntity, transformed
from pegasus.labels.segmentation import (
    UNLABELLED,
    instance_ids,
    semantic_ids,
    tight_boxes,
    visible_pixels,
)
from pegasus.optics.lens import distortion_model, pixel_grid


@dataclass(frozen=True, eq=False)
class LidarCloud:
    """Point cloud of a lidar at the instant of a frame."""

    points: npt.NDArray[np.float32]
    """Points in the lidar's frame (x forward, y left, z up) [m], shape (K, 3)."""
    intensity: npt.NDArray[np.float32]
    """Reflectance between 0 and 1, shape (K,)."""
    position: Array
    """Position of the lidar in the world [m], shape (3,)."""
    rotation: Array
    """Lidar to world, shape (3, 3)."""


@dataclass(frozen=True, eq=False)
class ImuTrack:
    """Readings of a vehicle's IMU since the frame before, and the true motion of its body at these times."""

    time: Array
    """Simulated times [s], shape (K,)."""
    angular_velocity: Array
    """Angular velocities in the IMU's frame [rad/s], shape (K, 3)."""
    specific_force: Array
    """Specific forces in the IMU's frame [m/s^2], shape (K, 3)."""
    position: Array
    """True positions of the body in the world [m], shape (K, 3)."""
    orientation: Array
    """True unit quaternions xyzw, body to world, shape (K, 4)."""
    velocity: Array
    """True velocities in the world [m/s], shape (K, 3)."""
    gyroscope_bias: Array
    """True biases of the gyroscope in the IMU's frame [rad/s], shape (K, 3)."""
    accelerometer_bias: Array
    """True biases of the accelerometer in the IMU's frame [m/s^2], shape (K, 3)."""
    mount: Array
    """IMU to body, shape (4, 4)."""
    noise: Array
    """Rate [Hz], then noise density and random walk of the bias of the gyroscope [rad/s/sqrt(Hz),
    rad/s^2/sqrt(Hz)] and of the accelerometer [m/s^2/sqrt(Hz), m/s^3/sqrt(Hz)], shape (5,)."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion of the vehicle of a frame's first camera."""

    position: Array
    """Position of the body in the world at the instant of the frame [m], shape (3,)."""
    orientation: Array
    """Unit quaternion xyzw, body to world, shape (4,)."""
    velocity: Array
    """Velocity in the world [m/s], shape (3,)."""
    imu: ImuTrack | None = None
    """Readings of its IMU since the frame before; None without an IMU."""


@dataclass(eq=False)
class LabelledFrame:
    """Image of one camera with its labels.

    `occlusion` may be assigned later, `frame.occlusion = occlusion_ratios(renderer.cast, frame)`;
    `directions` may be assigned from another frame of the same lens and resolution.
    """

    camera: str
    """Name of the camera."""
    stamp: float
    """Simulated time [s]."""
    seed: int
    """Seed that the frame was made from."""
    view: View
    rgb: npt.NDArray[np.uint8]
    """Image, sRGB, shape (H, W, 3)."""
    images: Images
    """Channels; `distance`, `normal` and `entity` are needed, `radiance` and `material` are not."""
    entities: Sequence[LabelledEntity]
    """Entities in the order of the renderer, the order of `images.entity`."""
    classes: Sequence[str]
    """Names of the classes in the order of their ids; entities of other classes are unlabelled. One list for
    all frames of a dataset keeps ids and colours the same."""
    previous_view: View | None = None
    """View at the reference instant of motion vectors; None for no motion."""
    occlusion: npt.NDArray[np.float32] | None = None
    """Occluded part of each entity, see `occlusion_ratios`, shape (E,); None where it was not computed."""
    lidar: LidarCloud | None = None
    regions: Collection[str] = ()
    """Classes that are regions and not countable objects: no boxes, instances or occlusion."""

    scene: int = 0
    """Number of the scene, or of the sequence."""
    motion: Motion | None = None
    """Motion of the vehicle of the first camera."""
    randomized: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Values that each randomizer drew, by the randomizer's name."""

    @cached_property
    def pixels(self) -> IntArray:
        """Number of visible pixels of each entity, shape (E,)."""
        assert self.images.entity is not None
        return visible_pixels(self.images.entity, len(self.entities))

    @cached_property
    def tight(self) -> npt.NDArray[np.int32]:
        """Boxes of the visible pixels of each entity, see `tight_boxes`, shape (E, 4)."""
        assert self.images.entity is not None
        return tight_boxes(self.images.entity, len(self.entities))

    @cached_property
    def countable(self) -> BoolArray:
        """True for entities that are objects of a class, shape (E,)."""
        classes = self.countable_classes
        return np.array([entity.label in classes for entity in self.entities], np.bool_)

    @property
    def countable_classes(self) -> tuple[str, ...]:
        """Classes of countable objects in the order of their ids."""
        return tuple(name for name in self.classes if name not in self.regions)

    @cached_property
    def directions(self) -> Array:
        """Unit directions through the pixel centres, optical frame, shape (H, W, 3)."""
        return self.view.lens.directions(pixel_grid(self.view.resolution), self.view.resolution)

    @cached_property
    def loose(self) -> LooseBoxes:
        """Boxes around the projections of the entities, E of them."""
        return loose_boxes(self.entities, self.view)


APERTURE = 20.955
"""Horizontal aperture [mm] of USD cameras, the reference of focal lengths in [mm]."""

# Tolerance of the boxes of parts [m].
_SLACK = 1e-4

# Names of lenses with distortion in Isaac Sim.
_MODELS = {"BrownConrady": "opencvPinhole", "KannalaBrandt": "opencvFisheye"}

# USD cameras look along -z with y up, optical frames along z with y down.
_OPTICAL_TO_USD = np.diag([1.0, -1.0, -1.0, 1.0])


class PointCloud(NamedTuple):
    """Point cloud of the labelled pixels, row by row."""

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
    """Return the depth of each pixel along the optical axis [m], infinite without a hit, shape (H, W).

    Args:
        distance: Distance along the ray of each pixel [m], infinite without a hit, shape (H, W).
        directions: Unit directions of the pixels in the optical frame, shape (H, W, 3).
    """
    seen = np.isfinite(distance)
    depth = np.full(distance.shape, np.inf, np.float32)
    np.multiply(distance, directions[..., 2], out=depth, where=seen, casting="same_kind")
    return depth


def world_points(distance: npt.NDArray[np.float32], directions: Array, view: View) -> Array:
    """Return the point of each pixel in the world [m], not finite without a hit, shape (..., 3).

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
    """Return motion vectors: earlier minus present image position of each pixel's point, shape (H, W, 2).

    Units are pixels, signs those of Replicator: motion to the left is positive in x, upward in y. A point
    follows the rigid motion of its entity, or of the part whose box contains it, such as a rotor. A pixel
    without a hit is a direction at rest in the world. Points outside the earlier view of the lens are NaN.

    Args:
        distance: Distance along the ray of each pixel [m], infinite without a hit, shape (H, W).
        directions: Unit directions of the pixels in the optical frame, shape (H, W, 3).
        entity: Entity of each pixel, shape (H, W).
        entities: Entities that the indices refer to, with their poses at both instants.
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
        carried = transformed(local, before @ moving.previous_pose @ np.linalg.inv(moving.pose) @ now)
        for part in parts:
            from_camera = np.linalg.inv(part.pose) @ now
            own = transformed(local, from_camera)
            within = ((own > part.extent[0] - _SLACK) & (own < part.extent[1] + _SLACK)).all(axis=1)
            carried[within] = transformed(own[within], before @ part.previous_pose)
        points[mask] = carried
    motion = previous_view.lens.project(points, previous_view.resolution)
    motion -= pixel_grid(view.resolution)
    return motion.astype(np.float32)


def point_cloud(frame: LabelledFrame) -> PointCloud:
    """Return the points of a frame's labelled pixels.

    Args:
        frame: A frame with distance, normals and entities.
    """
    images = frame.images
    assert images.distance is not None
    assert images.normal is not None
    assert images.entity is not None
    semantic = semantic_ids(images.entity, frame.entities, frame.classes).ravel()
    # Indexing by number is several times faster than by a mask.
    shown = np.flatnonzero(semantic > UNLABELLED)
    rays = frame.directions.reshape(-1, 3)[shown]
    return PointCloud(
        world_points(images.distance.ravel()[shown], rays, frame.view).astype(np.float32),
        frame.rgb.reshape(-1, 3)[shown],
        images.normal.reshape(-1, 3)[shown],
        semantic[shown],
        instance_ids(images.entity, frame.entities, frame.classes).ravel()[shown],
    )


def opencv_matrix(view: View) -> Array:
    """Return the intrinsic matrix with the first pixel's centre at (0, 0) [pixels], shape (3, 3)."""
    matrix = view.lens.matrix(view.resolution).copy()
    matrix[:2, 2] -= 0.5
    return matrix


def camera_pose(view: View) -> dict[str, Any]:
    """Return intrinsics, distortion and pose of a camera.

    Returns:
        `intrinsic_matrix` [pixels] (the first pixel's centre is at (0, 0)), `distortion_model` and
        `distortion_coefficients` in OpenCV's order, `position` [m] and `orientation`, a unit quaternion xyzw
        from the optical frame (x right, y down, z forward) to the world.
    """
    model, coefficients = distortion_model(view.lens)
    return {
        "intrinsic_matrix": opencv_matrix(view).tolist(),
        "distortion_model": model,
        "distortion_coefficients": coefficients,
        "position": view.position.tolist(),
        "orientation": quaternion_from_matrix(view.rotation).tolist(),
    }


def camera_parameters(view: View) -> dict[str, Any]:
    """Return the parameters of a camera under the names of Replicator's `camera_params`.

    `cameraViewTransform` (world to camera, the camera looks along -z with y up) and `cameraProjection` (depth
    1 at the near plane and 0 at the far one) act on row vectors and are given row by row. For a lens with
    distortion, the projection is that of its matrix; `cameraModel` is `opencvPinhole` or `opencvFisheye`, and
    matrix and coefficients stand under `lens`.

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
