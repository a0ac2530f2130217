"""Writer of KITTI's object benchmark: images, labels, calibration and lidar points."""

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.renderer import View
from pegasus.dataset.writer import DatasetWriter, png
from pegasus.labels.annotations import LabelledFrame, opencv_matrix
from pegasus.labels.boxes import LooseBoxes, rectilinear, to_camera
from pegasus.labels.entities import EntityShape, LabelledEntity, transformed

_log = logging.getLogger(__name__)

FULLY_VISIBLE = 0.05
"""Occluded part up to which an object counts as fully visible (level 0)."""

PARTLY_OCCLUDED = 0.5
"""Occluded part up to which an object counts as partly occluded (level 1), beyond it as largely (level 2)."""

# A lidar's and a vehicle's frame (x forward, y left, z up) to the optical one.
_TO_OPTICAL = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])


class KittiWriter(DatasetWriter):
    """Writer of `image_2`, `label_2`, `calib`, `velodyne` with a lidar, `image_3` with a second camera.

    Objects are given in the frame of the first camera. Only those with a visible pixel are labelled.

    Args:
        folder: Folder of the dataset.
        cameras: Name of the camera, or names of the left and the right one of a stereo pair.
        classes: Classes of objects; all when None.
        resume: Continue the dataset in the folder.

    Raises:
        ConfigError: If there are more than two cameras, or the folder is not empty or cannot be written.
    """

    most_cameras = 2
    layout = "KITTI's object benchmark: images, `label_2`, `calib`, and `velodyne` where there is a lidar."

    def __init__(
        self,
        folder: Path,
        *,
        cameras: Sequence[str] = ("camera",),
        classes: Sequence[str] | None = None,
        resume: bool = False,
    ) -> None:
        super().__init__(folder, cameras=cameras, resume=resume)
        self.classes = None if classes is None else frozenset(classes)
        self._warned = False

    def files(self, index: int, frames: Sequence[LabelledFrame], own: dict[str, Any]) -> dict[str, bytes]:
        """Return the contents of a frame's files by path."""
        frame, name = frames[0], f"{index:06d}"
        if not self._warned and not rectilinear(frame.view):
            self._warned = True
            _log.warning(
                "%s: its lens distorts, which KITTI's calibration cannot state; projected points are offset "
                "from their pixels",
                frame.camera,
            )
        files = {
            f"label_2/{name}.txt": self._labels(frame).encode(),
            f"calib/{name}.txt": _calibration(frames).encode(),
        }
        if frame.lidar is not None:
            rows = np.column_stack([frame.lidar.points, frame.lidar.intensity])
            files[f"velodyne/{name}.bin"] = rows.astype("<f4").tobytes()
        for place, other in reversed(list(zip(("image_2", "image_3"), frames, strict=False))):
            files[f"{place}/{name}.png"] = png(other.rgb)
        return files

    def _labels(self, frame: LabelledFrame) -> str:
        assert frame.images.entity is not None
        loose = frame.loose
        visible = frame.pixels > 0
        lines = []
        for k in np.flatnonzero(frame.countable & visible & (loose.box[:, 0] >= 0)).tolist():
            entity = frame.entities[k]
            if self.classes is not None and entity.label not in self.classes:
                continue
            ratio = math.nan if frame.occlusion is None else float(frame.occlusion[k])
            lines.append(_label(entity, ratio, loose, k, frame.view))
        return "".join(lines)


def yaw_box(shape: EntityShape, pose: Array, view: View) -> tuple[Array, Array, float]:
    """Return an object's KITTI box: upright in the camera frame, rotated about its y axis only.

    The box has the heading of the object's x axis and encloses the object. For a level camera and an upright
    object it is the object's own box, otherwise the smallest one with that heading.

    Args:
        shape: Surface in the object's frame.
        pose: Object to world, shape (4, 4).
        view: The camera.

    Returns:
        Height, width and length [m], shape (3,); the middle of its bottom in the camera's frame [m], shape
        (3,); rotation about the camera's y axis, 0 for a heading along the camera's x axis [rad].
    """
    transform = to_camera(view) @ pose
    rotation_y = math.atan2(-transform[2, 0], transform[0, 0])
    cosine, sine = math.cos(rotation_y), math.sin(rotation_y)
    # Rows: the box's length, downward and width axes in the camera's frame.
    axes = np.array([[cosine, 0.0, -sine], [0.0, 1.0, 0.0], [sine, 0.0, cosine]])
    points = transformed(shape.outline, transform) @ axes.T
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    middle[1] = high[1]
    length, height, width = high - low
    return np.array([height, width, length]), middle @ axes, rotation_y


def occlusion_level(ratio: float) -> int:
    """Return KITTI's level of occlusion: 0 visible, 1 partly, 2 largely occluded, 3 unknown.

    Args:
        ratio: Occluded part, NaN if unknown.
    """
    if math.isnan(ratio):
        return 3
    return 0 if ratio <= FULLY_VISIBLE else 1 if ratio <= PARTLY_OCCLUDED else 2


def truncation(extent: Array, resolution: tuple[int, int]) -> float:
    """Return the fraction of a projection's box outside the image.

    Args:
        extent: Left, upper, right and lower bound [pixels], shape (4,).
        resolution: Width and height [pixels].
    """
    last = np.array(resolution, np.float64)
    inside = np.minimum(extent[2:], last) - np.maximum(extent[:2], 0.0)
    return float(
        np.clip(1.0 - np.prod(np.maximum(inside, 0.0) / np.maximum(extent[2:] - extent[:2], 1e-9)), 0, 1)
    )


def _label(entity: LabelledEntity, ratio: float, loose: LooseBoxes, k: int, view: View) -> str:
    assert entity.shape is not None
    size, location, rotation_y = yaw_box(entity.shape, entity.pose, view)
    alpha = rotation_y - math.atan2(location[0], location[2])
    alpha = math.remainder(alpha, 2.0 * math.pi)
    bounds = [float(v) for v in loose.box[k]]
    numbers = [alpha, *bounds, *size, *location, rotation_y]
    kind = (entity.label or "").replace(" ", "_")
    cut = truncation(loose.extent[k], view.resolution)
    # Adding 0 turns -0.0 into 0.0.
    tail = " ".join(f"{round(float(v), 4) + 0.0:.4f}" for v in numbers)
    return f"{kind} {cut:.2f} {occlusion_level(ratio)} {tail}\n"


def _calibration(frames: Sequence[LabelledFrame]) -> str:
    view = frames[0].view
    left = np.column_stack([opencv_matrix(view), np.zeros(3)])
    right = left
    if len(frames) > 1:
        other = frames[1].view
        place = to_camera(other) @ np.linalg.inv(to_camera(view))
        right = opencv_matrix(other) @ place[:3]
    lidar = frames[0].lidar
    if lidar is None:
        to_first = np.column_stack([_TO_OPTICAL, np.zeros(3)])
    else:
        to_first = np.column_stack(
            [view.rotation.T @ lidar.rotation, view.rotation.T @ (lidar.position - view.position)]
        )
    rows = {
        "P0": left,
        "P1": right,
        "P2": left,
        "P3": right,
        "R0_rect": np.eye(3),
        "Tr_velo_to_cam": to_first,
        "Tr_imu_to_velo": np.eye(4)[:3],
    }
    return "".join(
        f"{name}: {' '.join(f'{v:.12e}' for v in matrix.ravel())}\n" for name, matrix in rows.items()
    )
