"""The layout of COCO: pictures, and one JSON file of instances with boxes and masks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from pegasus.dataset.frame import LabelledFrame
from pegasus.dataset.frame_folder import FrameFolder, checked_cameras, png
from pegasus.dataset.masks import encoded
from pegasus.dataset.segmentation import tight_boxes, visible_pixels

INSTANCES = "annotations/instances.json"
"""Where the labels go."""


class CocoWriter:
    """Writes `images/*.png` and, at the end, `annotations/instances.json`.

    Boxes and masks are those of the visible pixels, masks as compressed run lengths. What a frame adds to the
    JSON file waits in the frame's record; `finish` merges the records in the order of their frames, so that
    the file does not depend on the order in which frames came.

    Args:
        folder: Where the dataset goes.
        cameras: Names of the cameras.
        least_area: Entities that fewer pixels show are left out.
        resume: Go on with the dataset that is there.

    Raises:
        ConfigError: If the folder is not empty or cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        cameras: Sequence[str] = ("camera",),
        least_area: int = 1,
        resume: bool = False,
    ) -> None:
        self.cameras = checked_cameras(cameras, most=1000)
        self.least_area = least_area
        self._folder = FrameFolder(folder, resume=resume)

    def written(self) -> frozenset[int]:
        """Return the indices of the frames whose files are all there."""
        return self._folder.written()

    def write(self, index: int, frames: Sequence[LabelledFrame]) -> None:
        """Write the pictures that the cameras took at one instant.

        Args:
            index: Index of the frame in the dataset.
            frames: One for each camera.

        Raises:
            ConfigError: If a file cannot be written; the frame is not counted.
        """
        files, images = {}, []
        for frame in frames:
            name = f"{index:06d}.png" if len(self.cameras) == 1 else f"{frame.camera}_{index:06d}.png"
            files[f"images/{name}"] = png(frame.rgb)
            width, height = frame.view.resolution
            images.append(
                {
                    "file_name": name,
                    "width": width,
                    "height": height,
                    "camera": frame.camera,
                    "stamp": frame.stamp,
                    "annotations": list(self._annotations(frame)),
                }
            )
        record = {
            "stamp": frames[0].stamp,
            "seed": frames[0].seed,
            "classes": list(frames[0].classes),
            "images": images,
        }
        self._folder.commit(index, files, record)

    def finish(self) -> None:
        """Merge the records of all frames into `annotations/instances.json`."""
        records = self._folder.records()
        classes = sorted({name for record in records for name in record["classes"]})
        category = {name: k for k, name in enumerate(classes, start=1)}
        images: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        for record in records:
            for camera, image in enumerate(record["images"]):
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
        self._folder.write(INSTANCES, orjson.dumps(content))

    def _annotations(self, frame: LabelledFrame) -> Sequence[dict[str, Any]]:
        entity = frame.images.entity
        assert entity is not None
        count = len(frame.entities)
        width, height = frame.view.resolution
        areas, boxes = visible_pixels(entity, count), tight_boxes(entity, count)
        parts: list[dict[str, Any]] = []
        for k in np.flatnonzero(areas >= max(1, self.least_area)).tolist():
            thing = frame.entities[k]
            if thing.label not in frame.classes:
                continue
            x_min, y_min, x_max, y_max = boxes[k].tolist()
            mask = entity[y_min : y_max + 1, x_min : x_max + 1] == k
            occlusion = None if frame.occlusion is None else float(frame.occlusion[k])
            parts.append(
                {
                    "class": thing.label,
                    "bbox": [x_min, y_min, x_max - x_min + 1, y_max - y_min + 1],
                    "area": int(areas[k]),
                    "segmentation": encoded(mask, (x_min, y_min, width, height)),
                    "iscrowd": 0,
                    "attributes": {"path": thing.path, "occlusion": occlusion},
                }
            )
        return parts
