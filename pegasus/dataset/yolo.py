"""Writer of YOLO: images, and one text file of normalised boxes for each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml

from pegasus.dataset.writer import DatasetWriter, png
from pegasus.labels.annotations import LabelledFrame

# One scene in so many is for validation: frames of one flight are too alike to be divided.
_SCENES_PER_VALIDATION = 10


class YoloWriter(DatasetWriter):
    """Writer of `images/*/*.png`, `labels/*/*.txt` and, at the end, `data.yaml`.

    A line of labels is class, x and y of the middle, width and height of the box of the visible pixels,
    relative to the image. Each tenth scene is for validation.
    """

    layout = "YOLO: `images/train`, `labels/train`, the same for `val` (each tenth scene), and `data.yaml`."

    def files(self, index: int, frames: Sequence[LabelledFrame], own: dict[str, Any]) -> dict[str, bytes]:
        """Return the contents of a frame's files by path."""
        validation = frames[0].scene % _SCENES_PER_VALIDATION == _SCENES_PER_VALIDATION - 1
        split = "val" if validation else "train"
        own |= {"split": split, "classes": list(frames[0].countable_classes)}
        files = {}
        for frame in frames:
            stem = self.stem(index, frame)
            files[f"labels/{split}/{stem}.txt"] = _lines(frame).encode()
            files[f"images/{split}/{stem}.png"] = png(frame.rgb)
        return files

    def dataset_files(self, records: Sequence[dict[str, Any]]) -> dict[str, bytes]:
        """Return `data.yaml`; without a scene for validation, training images stand in for it."""
        names = records[0]["own"]["classes"] if records else []
        validates = any(record["own"]["split"] == "val" for record in records)
        content = {
            "path": ".",
            "train": "images/train",
            "val": "images/val" if validates else "images/train",
            "names": dict(enumerate(names)),
        }
        return {"data.yaml": yaml.safe_dump(content, sort_keys=False).encode()}


def _lines(frame: LabelledFrame) -> str:
    number = {name: k for k, name in enumerate(frame.countable_classes)}
    size = np.array(frame.view.resolution * 2, np.float64)
    lines = []
    for k in np.flatnonzero(frame.countable & (frame.tight[:, 0] >= 0)).tolist():
        low, high = frame.tight[k, :2], frame.tight[k, 2:] + 1
        values = np.concatenate([0.5 * (low + high), high - low]) / size
        lines.append(" ".join([str(number[frame.entities[k].label or ""]), *(f"{v:.6f}" for v in values)]))
    return "".join(line + "\n" for line in lines)
