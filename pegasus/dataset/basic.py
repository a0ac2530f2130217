"""Writer of the layout of Replicator's BasicWriter."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from pegasus.base.errors import ConfigError
from pegasus.dataset.writer import DatasetWriter, npy, png
from pegasus.labels.annotations import (
    LabelledFrame,
    camera_parameters,
    distance_to_image_plane,
    motion_vectors,
    point_cloud,
)
from pegasus.labels.segmentation import (
    BACKGROUND,
    FIRST_ID,
    UNLABELLED,
    colored,
    colors,
    entity_classes,
    instance_ids,
    semantic_ids,
)

ANNOTATORS = (
    "rgb",
    "distance_to_image_plane",
    "distance_to_camera",
    "normals",
    "semantic_segmentation",
    "instance_segmentation",
    "bounding_box_2d_tight",
    "bounding_box_2d_loose",
    "bounding_box_3d",
    "occlusion",
    "tracks",
    "motion_vectors",
    "pointcloud",
    "camera_params",
)
"""Annotators of `BasicWriter`, by Replicator's names; `tracks` is our own."""

BOX_2D = np.dtype(
    [
        ("semanticId", "<u4"),
        *((k, "<i4") for k in ("x_min", "y_min", "x_max", "y_max")),
        ("occlusionRatio", "<f4"),
    ]
)
"""One row of `bounding_box_2d_tight` and `bounding_box_2d_loose`."""

BOX_3D = np.dtype(
    [
        ("semanticId", "<u4"),
        *((k, "<f4") for k in ("x_min", "y_min", "z_min", "x_max", "y_max", "z_max")),
        ("transform", "<f4", (4, 4)),
        ("occlusionRatio", "<f4"),
    ]
)
"""One row of `bounding_box_3d`."""

OCCLUSION = np.dtype([("instanceId", "<u4"), ("semanticId", "<u4"), ("occlusionRatio", "<f4")])
"""One row of `occlusion`."""

TRACKS = np.dtype(
    [
        ("trackId", "<u4"),
        ("semanticId", "<u4"),
        ("velocity", "<f4", (3,)),
        ("angularVelocity", "<f4", (3,)),
    ]
)
"""One row of `tracks`: the instance id, which stays in all frames of a scene, and velocities in the world."""

_NO_OCCLUSION = -1.0
_NAMES = {BACKGROUND: "BACKGROUND", UNLABELLED: "UNLABELLED"}

Files = dict[str, bytes]


class BasicWriter(DatasetWriter):
    """Writer with the file names, types and fields of Replicator's BasicWriter.

    Files of a single camera lie in the folder itself, those of several in `<camera>/<annotator>/`.

    Args:
        folder: Folder of the dataset.
        cameras: Names of the cameras.
        annotators: Names from `ANNOTATORS`.
        resume: Continue the dataset in the folder.

    Raises:
        ConfigError: If an annotator is not known, or the folder is not empty or cannot be written.
    """

    layout = "Layout of Replicator's BasicWriter: one file per frame and annotator, such as `rgb_0000.png`."

    def __init__(
        self,
        folder: Path,
        *,
        cameras: Sequence[str] = ("camera",),
        annotators: Collection[str] = ANNOTATORS,
        resume: bool = False,
    ) -> None:
        unknown = [name for name in annotators if name not in ANNOTATORS]
        if unknown or not annotators:
            raise ConfigError(
                f"must be among {', '.join(ANNOTATORS)}",
                field="annotators",
                value=unknown or list(annotators),
            )
        # The image is written last, so that an image that exists has its labels.
        self.annotators = [
            *(name for name in ANNOTATORS[1:] if name in annotators),
            *({"rgb"} & set(annotators)),
        ]
        super().__init__(folder, cameras=cameras, resume=resume)

    def files(self, index: int, frames: Sequence[LabelledFrame], own: dict[str, Any]) -> dict[str, bytes]:
        """Return the contents of a frame's files by path."""
        files: Files = {}
        for frame in frames:
            labels = _Labels(frame)
            for annotator in self.annotators:
                place = f"{frame.camera}/{annotator}/" if len(self.cameras) > 1 else ""
                for name, content in _WRITERS[annotator](labels, annotator).items():
                    # The index stands between name and ending.
                    stem, _, ending = name.rpartition(".")
                    files[f"{place}{stem}_{index:04d}.{ending}"] = content
        return files


class _Labels:
    """Labels that several annotators of a frame share."""

    def __init__(self, frame: LabelledFrame) -> None:
        images = frame.images
        assert images.distance is not None
        assert images.normal is not None
        assert images.entity is not None
        self.frame, self.distance, self.normal, self.entity = (
            frame,
            images.distance,
            images.normal,
            images.entity,
        )
        self.semantic_of = entity_classes(frame.entities, frame.classes)
        self.counted = frame.countable

    def loose(self) -> npt.NDArray[np.int32]:
        return self.frame.loose.box

    def in_view(self) -> list[int]:
        return [int(k) for k in np.flatnonzero(self.counted & (self.loose()[:, 0] >= 0))]

    def occlusion(self, indices: Sequence[int]) -> npt.NDArray[np.float32]:
        ratios = self.frame.occlusion
        return np.full(len(indices), _NO_OCCLUSION, np.float32) if ratios is None else ratios[list(indices)]


def _json(value: Any) -> bytes:
    return orjson.dumps(value)


def _key(color: npt.NDArray[np.uint8]) -> str:
    return str(tuple(color.tolist()))


def _rgb(labels: _Labels, name: str) -> Files:
    height, width, _ = labels.frame.rgb.shape
    opaque = np.full((height, width, 4), 255, np.uint8)
    opaque[..., :3] = labels.frame.rgb
    return {f"{name}.png": png(opaque)}


def _distance_to_image_plane(labels: _Labels, name: str) -> Files:
    return {f"{name}.npy": npy(distance_to_image_plane(labels.distance, labels.frame.directions))}


def _distance_to_camera(labels: _Labels, name: str) -> Files:
    return {f"{name}.npy": npy(labels.distance)}


def _normals(labels: _Labels, name: str) -> Files:
    image = np.full((*labels.entity.shape, 4), 255, np.uint8)
    image[..., :3] = (labels.normal * np.float32(127.5) + np.float32(127.5)).astype(np.uint8)
    return {f"{name}.png": png(image)}


def _semantic_segmentation(labels: _Labels, name: str) -> Files:
    ids = semantic_ids(labels.entity, labels.frame.entities, labels.frame.classes)
    present = _present(ids)
    names = [_NAMES.get(k) or labels.frame.classes[k - FIRST_ID] for k in present]
    table = {_key(c): {"class": n} for c, n in zip(colors(present), names, strict=True)}
    return {f"{name}.png": png(colored(ids)), f"{name}_labels.json": _json(table)}


def _instance_segmentation(labels: _Labels, name: str) -> Files:
    entities = labels.frame.entities
    ids = instance_ids(labels.entity, entities, labels.frame.classes)
    present = _present(ids)
    keys = [_key(c) for c in colors(present)]
    paths = [_NAMES.get(k) or entities[k - FIRST_ID].path for k in present]
    classes = [_NAMES.get(k) or entities[k - FIRST_ID].label for k in present]
    return {
        f"{name}.png": png(colored(ids)),
        f"{name}_mapping.json": _json(dict(zip(keys, paths, strict=True))),
        f"{name}_semantics_mapping.json": _json(
            {k: {"class": c} for k, c in zip(keys, classes, strict=True)}
        ),
    }


def _present(ids: npt.NDArray[np.uint32]) -> list[int]:
    return [int(k) for k in np.flatnonzero(np.bincount(ids.ravel()))]


def _boxes(labels: _Labels, name: str, indices: Sequence[int], rows: npt.NDArray[Any]) -> Files:
    # Replicator counts the classes of boxes from 0 on.
    rows["semanticId"] = [labels.semantic_of[k] - FIRST_ID for k in indices]
    rows["occlusionRatio"] = labels.occlusion(indices)
    classes = sorted({labels.semantic_of[k] - FIRST_ID for k in indices})
    return {
        f"{name}.npy": npy(rows),
        f"{name}_labels.json": _json({str(k): {"class": labels.frame.classes[k]} for k in classes}),
        f"{name}_prim_paths.json": _json([labels.frame.entities[k].path for k in indices]),
    }


def _boxes_2d(labels: _Labels, name: str, boxes: npt.NDArray[np.int32]) -> Files:
    indices = [int(k) for k in np.flatnonzero(labels.counted & (boxes[:, 0] >= 0))]
    rows = np.zeros(len(indices), BOX_2D)
    for column, field in enumerate(("x_min", "y_min", "x_max", "y_max")):
        rows[field] = boxes[indices, column]
    return _boxes(labels, name, indices, rows)


def _bounding_box_2d_tight(labels: _Labels, name: str) -> Files:
    return _boxes_2d(labels, name, labels.frame.tight)


def _bounding_box_2d_loose(labels: _Labels, name: str) -> Files:
    return _boxes_2d(labels, name, labels.loose())


def _bounding_box_3d(labels: _Labels, name: str) -> Files:
    indices = labels.in_view()
    rows = np.zeros(len(indices), BOX_3D)
    for row, k in zip(rows, indices, strict=True):
        entity = labels.frame.entities[k]
        assert entity.shape is not None
        low, high = entity.shape.extent
        row["x_min"], row["y_min"], row["z_min"] = low
        row["x_max"], row["y_max"], row["z_max"] = high
        row["transform"] = entity.pose.T
    return _boxes(labels, name, indices, rows)


def _occlusion(labels: _Labels, name: str) -> Files:
    indices = labels.in_view()
    rows = np.zeros(len(indices), OCCLUSION)
    rows["instanceId"] = [FIRST_ID + k for k in indices]
    rows["semanticId"] = [labels.semantic_of[k] for k in indices]
    rows["occlusionRatio"] = labels.occlusion(indices)
    return {f"{name}.npy": npy(rows)}


def _tracks(labels: _Labels, name: str) -> Files:
    indices = labels.in_view()
    rows = np.zeros(len(indices), TRACKS)
    for row, k in zip(rows, indices, strict=True):
        entity = labels.frame.entities[k]
        row["trackId"], row["semanticId"] = FIRST_ID + k, labels.semantic_of[k]
        row["velocity"], row["angularVelocity"] = entity.velocity, entity.angular_velocity
    return {f"{name}.npy": npy(rows)}


def _motion_vectors(labels: _Labels, name: str) -> Files:
    frame = labels.frame
    vectors = np.zeros((*labels.entity.shape, 4), np.float32)
    if frame.previous_view is not None:
        vectors[..., :2] = motion_vectors(
            labels.distance, frame.directions, labels.entity, frame.entities, frame.view, frame.previous_view
        )
    return {f"{name}.npy": npy(vectors)}


def _pointcloud(labels: _Labels, name: str) -> Files:
    cloud = point_cloud(labels.frame)
    count = len(cloud.points)
    rgba, normals = np.full((count, 4), 255, np.uint8), np.ones((count, 4), np.float32)
    rgba[:, :3], normals[:, :3] = cloud.colors, cloud.normals
    return {
        f"{name}.npy": npy(cloud.points),
        f"{name}_rgb.npy": npy(rgba),
        f"{name}_normals.npy": npy(normals),
        f"{name}_semantic.npy": npy(cloud.semantic),
        f"{name}_instance.npy": npy(cloud.instance),
    }


def _camera_params(labels: _Labels, name: str) -> Files:
    return {f"{name}.json": _json(camera_parameters(labels.frame.view))}


_WRITERS: Mapping[str, Any] = {
    "rgb": _rgb,
    "distance_to_image_plane": _distance_to_image_plane,
    "distance_to_camera": _distance_to_camera,
    "normals": _normals,
    "semantic_segmentation": _semantic_segmentation,
    "instance_segmentation": _instance_segmentation,
    "bounding_box_2d_tight": _bounding_box_2d_tight,
    "bounding_box_2d_loose": _bounding_box_2d_loose,
    "bounding_box_3d": _bounding_box_3d,
    "occlusion": _occlusion,
    "tracks": _tracks,
    "motion_vectors": _motion_vectors,
    "pointcloud": _pointcloud,
    "camera_params": _camera_params,
}
