"""Summary of a dataset's folder: metadata of all frames, a README with statistics, and a sheet of samples."""

import dataclasses
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from PIL import Image, ImageDraw

from pegasus.labels.annotations import ImuTrack, LabelledFrame, Motion, camera_pose
from pegasus.labels.segmentation import FIRST_ID, colors

FRAMES, README, SAMPLES = "frames.jsonl", "README.md", "samples.jpg"
"""Names of the files."""

_THUMBNAIL = (320, 240)
_COLUMNS, _ROWS = 4, 3
_BAR = 40
# Bounds of the histograms: visible area [pixels], and occluded part.
_AREAS = (1, 16, 64, 256, 1024, 4096, 16384)
_OCCLUSION = (0.0, 0.05, 0.25, 0.5, 0.75, 1.0)

_FIELDS = """`frames.jsonl` has one line per frame; poses are in the world (ENU), quaternions xyzw:

- `frame`, `scene`, `stamp`, `seed`: index, number of the scene, simulated time [s], seed of the scene
- `cameras`: by name intrinsic matrix, distortion, `position` [m], `orientation` (optical frame to world) and
  `objects`: path, class, visible `box` (x_min, y_min, x_max, y_max, inclusive), `pixels`, `occlusion`
- `body`: `position` [m], `orientation` and `velocity` [m/s] of the vehicle of the first camera
- `imu`: readings of its IMU since the frame before: `time` [s], `angular_velocity` [rad/s], `specific_force`
  [m/s^2], the true `position`, `orientation` and `velocity` of the body then, `mount` (IMU to body), and
  `noise`: rate [Hz], noise density and random walk of the bias of gyroscope and accelerometer
- `randomizers`: values that each randomizer drew

Calibrations, here and in the files of the format, put the centre of the first pixel at (0, 0), as OpenCV.
"""


def frame_metadata(frames: Sequence[LabelledFrame]) -> dict[str, Any]:
    """Return the metadata of a frame that all formats keep.

    Args:
        frames: Images of all cameras at one instant.
    """
    first = frames[0]
    motion = first.motion
    return {
        "scene": first.scene,
        "stamp": first.stamp,
        "seed": first.seed,
        "cameras": {
            frame.camera: {**camera_pose(frame.view), "objects": _objects(frame)} for frame in frames
        },
        "body": _columns(motion, ("position", "orientation", "velocity")),
        "imu": _columns(motion and motion.imu, [item.name for item in dataclasses.fields(ImuTrack)]),
        "randomizers": {name: values for name, values in first.randomized.items() if values},
    }


def _columns(item: Motion | ImuTrack | None, names: Sequence[str]) -> dict[str, Any] | None:
    return None if item is None else {name: getattr(item, name).tolist() for name in names}


def _objects(frame: LabelledFrame) -> list[dict[str, Any]]:
    return [
        {
            "path": frame.entities[k].path,
            "class": frame.entities[k].label,
            "box": frame.tight[k].tolist(),
            "pixels": int(frame.pixels[k]),
            "occlusion": None if frame.occlusion is None else float(frame.occlusion[k]),
        }
        for k in np.flatnonzero(frame.countable & (frame.pixels > 0)).tolist()
    ]


def thumbnail(frame: LabelledFrame) -> bytes:
    """Return a small JPEG of a frame, with boxes of its objects in the colours of their classes."""
    image = Image.fromarray(frame.rgb)
    width, height = image.size
    scale = min(_THUMBNAIL[0] / width, _THUMBNAIL[1] / height)
    small = image.resize((max(round(width * scale), 1), max(round(height * scale), 1)))
    draw = ImageDraw.Draw(small)
    for item in _objects(frame):
        x_min, y_min, x_max, y_max = (scale * bound for bound in item["box"])
        color = colors(FIRST_ID + list(frame.classes).index(item["class"]))[:3]
        draw.rectangle((x_min - 1, y_min - 1, x_max + scale, y_max + scale), outline=tuple(color.tolist()))
    return _jpeg(small)


def summary(
    records: Sequence[dict[str, Any]], samples: Sequence[Path], layout: str, own: Sequence[str]
) -> dict[str, bytes]:
    """Return the contents of the summary's files by name.

    Args:
        records: Records of all frames.
        samples: Thumbnails of some frames.
        layout: Description of the format.
        own: Keys of the records that are not for readers.
    """
    shown = [{key: value for key, value in record.items() if key not in own} for record in records]
    files = {FRAMES: b"".join(orjson.dumps(line) + b"\n" for line in shown)}
    if samples:
        files[SAMPLES] = _jpeg(contact_sheet([Image.open(path) for path in samples], _COLUMNS))
    files[README] = _readme(records, layout).encode()
    return files


def sample_indices(count: int) -> list[int]:
    """Return the positions of up to twelve samples, spread over all frames."""
    return (
        np.unique(np.linspace(0, count - 1, _COLUMNS * _ROWS).round().astype(int)).tolist() if count else []
    )


def _readme(records: Sequence[dict[str, Any]], layout: str) -> str:
    images = [(record, camera) for record in records for camera in record["cameras"].values()]
    objects = [(number, item) for number, (_, camera) in enumerate(images) for item in camera["objects"]]
    classes = sorted({item["class"] for _, item in objects})
    scenes = len({record["scene"] for record in records})
    rows = []
    for name in classes:
        own = [(number, item["pixels"]) for number, item in objects if item["class"] == name]
        area = float(np.median([pixels for _, pixels in own]))
        rows.append(f"| {name} | {len(own)} | {len({number for number, _ in own})} | {area:g} |")
    hidden = [item["occlusion"] for _, item in objects if item["occlusion"] is not None]
    counts = (
        np.bincount([number for number, _ in objects], minlength=len(images)) if images else np.zeros(0, int)
    )
    return "\n".join(
        [
            "# Dataset",
            "",
            f"{len(records)} frames of {scenes} scenes, {len(images)} images, {len(objects)} visible objects "
            f"of {len(classes)} classes. Made by Pegasus; `manifest.json` says from what.",
            "",
            *([f"![Samples]({SAMPLES})", ""] if records else []),
            layout,
            "",
            _FIELDS,
            "## Classes",
            "",
            "| class | objects | images with it | median visible area [pixels] |",
            "|---|---|---|---|",
            *rows,
            "",
            *_histogram("Objects per image", counts.tolist(), (0, 1, 2, 3, 5, 10, 20, 50, 100)),
            *_histogram("Visible area of objects [pixels]", [item["pixels"] for _, item in objects], _AREAS),
            *_histogram("Occluded part of objects", hidden, _OCCLUSION),
        ]
    )


def _histogram(title: str, values: Sequence[float], bounds: Sequence[float]) -> list[str]:
    """Return the lines of a histogram; the last bin has no upper bound, or ends with the largest value."""
    which = np.searchsorted(np.array(bounds), np.array(values, float), side="right") - 1
    counts = np.bincount(which.clip(0), minlength=len(bounds))
    most = max(int(counts.max()), 1)
    lines = [f"## {title}", "", "| from | count | |", "|---|---|---|"]
    lines += [
        f"| {low:g} | {count} | {'█' * -(-_BAR * count // most)} |"
        for low, count in zip(bounds, counts.tolist(), strict=True)
    ]
    return [*lines, ""]


def contact_sheet(images: Sequence[Image.Image], columns: int) -> Image.Image:
    """Return images side by side, row by row.

    Args:
        images: The images, at least one.
        columns: Largest number of images in a row.
    """
    width, height = (max(image.size[axis] for image in images) for axis in (0, 1))
    rows = -(-len(images) // columns)
    sheet = Image.new("RGB", (min(columns, len(images)) * width, rows * height))
    for number, image in enumerate(images):
        sheet.paste(image, (number % columns * width, number // columns * height))
    return sheet


def _jpeg(image: Image.Image) -> bytes:
    stream = BytesIO()
    image.save(stream, format="JPEG", quality=90)
    return stream.getvalue()
