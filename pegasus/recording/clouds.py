"""Points as messages that Foxglove shows: what cameras measure with each pixel, and what lidars hear."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.cameras import CameraReading, LidarReading
from pegasus.recording.messages import PictureMessage, frame_of, pose_message, time_of
from pegasus.recording.schemas import frame_transforms_schema, point_cloud_schema

# Foxglove's numbers of types, PackedElementField.
_TYPES = {"u1": 1, "i1": 2, "u2": 3, "i2": 4, "u4": 5, "i4": 6, "f4": 7, "f8": 8}
_PLACE = [("x", "<f4"), ("y", "<f4"), ("z", "<f4")]
_COLOR = [("red", "u1"), ("green", "u1"), ("blue", "u1"), ("alpha", "u1")]
_ECHO = [("intensity", "<f4"), ("time_offset", "<f4"), ("ring", "<u2")]


def lidar_messages(reading: LidarReading, frame: str, stamp: int) -> Iterator[PictureMessage]:
    """Give the points of a reading, which are cast now, in the frame of the sensor when each was measured.

    Args:
        reading: The reading of a lidar.
        frame: Frame of the sensor, such as `iris/top`.
        stamp: Time of the messages [ns].
    """
    for copy in range(reading.sweep.count):
        below, name = frame_of(frame, "", copy, reading.sweep.count)
        head = {"timestamp": time_of(stamp), "frame_id": name}
        position, orientation = reading.position[copy], reading.orientation[copy]
        yield PictureMessage(
            f"{below}tf", frame_transforms_schema(), pose_message(head, position, orientation)
        )
        cloud = reading.cloud(copy)
        points: Any = _packed(cloud.points, _ECHO)
        for field in ("intensity", "time_offset", "ring"):
            points[field] = getattr(cloud, field)
        yield PictureMessage(f"{below}points", point_cloud_schema(), {**head, **_content(points)})


def camera_cloud(camera: CameraReading, copy: int) -> dict[str, Any]:
    """Return the points that the pixels of a camera show, in its colours where it gives some.

    Args:
        camera: The reading, with `point_cloud` among its outputs.
        copy: The copy of the vehicle.
    """
    points = camera.image("point_cloud", copy).reshape(-1, 3)
    seen = np.flatnonzero(np.isfinite(points[:, 0]))
    if "rgb" not in camera.outputs:
        return _content(_packed(points[seen], []))
    packed: Any = _packed(points[seen], _COLOR)
    packed["alpha"] = 255
    for name, values in zip(
        ("red", "green", "blue"), camera.image("rgb", copy).reshape(-1, 3).T, strict=True
    ):
        packed[name] = values[seen]
    return _content(packed)


def _packed(points: Array | npt.NDArray[np.float32], further: list[tuple[str, str]]) -> Any:
    packed: Any = np.zeros(len(points), np.dtype([*_PLACE, *further]))
    for name, values in zip("xyz", points.T, strict=True):
        packed[name] = values
    return packed


def _content(points: Any) -> dict[str, Any]:
    fields = points.dtype.fields.items()
    return {
        "pose": {
            "position": {"x": 0.0, "y": 0.0, "z": 0.0},
            "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
        },
        "point_stride": points.dtype.itemsize,
        "fields": [
            {"name": name, "offset": offset, "type": _TYPES[kind.str[1:]]} for name, (kind, offset) in fields
        ],
        "data": b64encode(points.tobytes()).decode(),
    }
