"""Writer of COCO: images, and one JSON file of instances with boxes and masks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from pegasus.dataset.writer import DatasetWriter, png
from pegasus.labels.annotations import LabelledFrame, camera_pose
from pegasus.labels.segmentation import encoded

INSTANCES = "annotations/instances.json"
"""Path of the labels."""


class CocoWriter(DatasetWriter):
    """Writer of `images/*.png` and, at the end, `annotations/instances.json`.

    Boxes and masks are those of the visible pixels, masks as compressed run lengths. The labels of a frame
    are kept in its record; `finish` merges the records in the order of the frames, so that the file does not
    depend on the order of writing.

    Args:
        folder: Folder of the dataset.
        cameras: Names of the cameras.
        least_area: Minimum visible area of an instance [pixels].
        resume: Continue the dataset in the folder.

    Raises:
        ConfigError: If the folder is not empty or cannot be written.
    """

    layout = (
        "COCO: `images/` and `annotations/instances.json`; boxes and masks are those of the visible pixels."
    )

    def __init__(
        self,
        folder: Path,
        *,
        cameras: Sequence[str] = ("camera",),
        least_area: int = 1,
        resume: bool = False,
    ) -> None:
        super().__init__(folder, cameras=cameras, resume=resume)
        self.least_area = least_area

    def files(self, index: int, frames: Sequence[LabelledFrame], own: dict[str, Any]) -> dict[str, bytes]:
        """Return the contents of a frame's files by path."""
        files, images = {}, []
        for frame in frames:
            name = f"{self.stem(index, frame)}.png"
            files[f"images/{name}"] = png(frame.rgb)
            width, height = frame.view.resolution
            images.append(
                {
                    "file_name": name,
                    "width": width,
                    "height": height,
                    "camera": frame.camera,
                    "stamp": frame.stamp,
                    **camera_pose(frame.view),
                    "annotations": list(self._annotations(frame)),
                }
            )
        own |= {"classes": list(frames[0].countable_classes), "images": images}
        return files

    def dataset_files(self, records: Sequence[dict[str, Any]]) -> dict[str, bytes]:
        """Return the merged records of all frames as `annotations/instances.json`."""
        classes = sorted({name for record in records for name in record["own"]["classes"]})
        category = {name: k for k, name in enumerate(classes, start=1)}
        images: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        for record in records:
            for camera, image in enumerate(record["own"]["images"]):
                number = record["frame"] * len(self.cameras) + camera
                parts = image.pop("annotations")
                images.append({"id": number, "license": 1, **image})
                for part in parts:
                    heading = {
                        "id": len(annotations) + 1,
                        "image_id": number,
                        "category_id": category[part.pop("class")],
                    }
                    annotations.append({**heading, **part})
        content = {
            "info": {"description": "Pegasus dataset", "version": "1.0", "contributor": "", "url": ""},
            "licenses": [{"id": 1, "name": "", "url": ""}],
            "categories": [{"id": k, "name": name, "supercategory": ""} for name, k in category.items()],
            "images": images,
            "annotations": annotations,
        }
        return {INSTANCES: orjson.dumps(content)}

    def _annotations(self, frame: LabelledFrame) -> Sequence[dict[str, Any]]:
        entity = frame.images.entity
        assert entity is not None
        width, height = frame.view.resolution
        parts: list[dict[str, Any]] = []
        for k in np.flatnonzero(frame.countable & (frame.pixels >= max(1, self.least_area))).tolist():
            item = frame.entities[k]
            x_min, y_min, x_max, y_max = frame.tight[k].tolist()
            mask = entity[y_min : y_max + 1, x_min : x_max + 1] == k
            occlusion = None if frame.occlusion is None else float(frame.occlusion[k])
            parts.append(
                {
                    "class": item.label,
                    "bbox": [x_min, y_min, x_max - x_min + 1, y_max - y_min + 1],
                    "area": int(frame.pixels[k]),
                    "segmentation": encoded(mask, (x_min, y_min, width, height)),
                    "iscrowd": 0,
                    "attributes": {"path": item.path, "occlusion": occlusion},
                }
            )
        return parts
