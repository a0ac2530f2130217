"""Foxglove messages of camera images, calibrations and point clouds."""

import io
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from pegasus.base.arrays import Array
from pegasus.base.registry import ClassTable
from pegasus.cameras import CameraReading, LidarReading
from pegasus.optics.lens import distortion_model
from pegasus.recording.schemas import (
    CAMERA_CALIBRATION,
    COMPRESSED_IMAGE,
    FRAME_TRANSFORMS,
    POINT_CLOUD,
    RAW_IMAGE,
    MessageType,
)

# Type numbers of foxglove.PackedElementField.
_TYPES = {"u1": 1, "i1": 2, "u2": 3, "i2": 4, "u4": 5, "i4": 6, "f4": 7, "f8": 8}
_POSITION = [("x", "<f4"), ("y", "<f4"), ("z", "<f4")]
_COLOR = [("red", "u1"), ("green", "u1"), ("blue", "u1"), ("alpha", "u1")]
_ECHO = [("intensity", "<f4"), ("time_offset", "<f4"), ("ring", "<u2")]

_JPEG_QUALITY = 90
_MAX_ID = 2**16 - 1


class ImageMessage(NamedTuple):
    """Message of a camera or lidar reading."""

    topic: str
    """Topic below that of the sensor, such as `left/rgb`."""
    kind: MessageType
    """Type of the message."""
    content: dict[str, Any]
    """Values by field name."""


def time_of(stamp: int) -> dict[str, int]:
    """Return a time of ROS 2.

    Args:
        stamp: Time [ns].
    """
    return dict(zip(("sec", "nanosec"), divmod(stamp, 1_000_000_000), strict=True))


def frame_of(frame: str, part: str, copy: int, count: int) -> tuple[str, str]:
    """Return the topic prefix and the frame name of one lens and copy.

    Args:
        frame: Frame of the sensor, such as `iris/front`.
        part: Name within the sensor: `left`, `right` or empty.
        copy: Index of the copy.
        count: Number of copies.
    """
    path = [item for item in (part, str(copy) if count > 1 else "") if item]
    return "".join(f"{item}/" for item in path), "/".join([frame, *path])


def pose_message(head: dict[str, Any], position: Array, orientation: Array) -> dict[str, Any]:
    """Return the transform message of a frame.

    Args:
        head: Timestamp and name of the frame.
        position: Origin of the frame in the world [m], shape (3,).
        orientation: Unit quaternion xyzw, frame to world, shape (4,).
    """
    transform = {
        "timestamp": head["timestamp"],
        "parent_frame_id": "world",
        "child_frame_id": head["frame_id"],
        "translation": dict(zip("xyz", position.tolist(), strict=True)),
        "rotation": dict(zip("xyzw", orientation.tolist(), strict=True)),
    }
    return {"transforms": [transform]}


def lidar_messages(reading: LidarReading, frame: str, stamp: int) -> Iterator[ImageMessage]:
    """Yield the messages of a lidar reading, whose points are cast now.

    Points are in the sensor's frame at the time of each measurement.

    Args:
        reading: The reading of a lidar.
        frame: Frame of the sensor, such as `iris/top`.
        stamp: Time of the messages [ns].
    """
    for copy in range(reading.capture.count):
        below, name = frame_of(frame, "", copy, reading.capture.count)
        head = {"timestamp": time_of(stamp), "frame_id": name}
        position, orientation = reading.position[copy], reading.orientation[copy]
        yield ImageMessage(f"{below}tf", FRAME_TRANSFORMS, pose_message(head, position, orientation))
        cloud = reading.cloud(copy)
        points: Any = _packed(cloud.points, _ECHO)
        for field in ("intensity", "time_offset", "ring"):
            points[field] = getattr(cloud, field)
        yield ImageMessage(f"{below}points", POINT_CLOUD, {**head, **_content(points)})


def camera_cloud(camera: CameraReading, copy: int) -> dict[str, Any]:
    """Return the point cloud of a camera, with colours if `rgb` is among its outputs.

    Args:
        camera: The reading, with `point_cloud` among its outputs.
        copy: Index of the copy.
    """
    points = camera.image("point_cloud", copy).reshape(-1, 3)
    valid = np.flatnonzero(np.isfinite(points[:, 0]))
    if "rgb" not in camera.outputs:
        return _content(_packed(points[valid], []))
    packed: Any = _packed(points[valid], _COLOR)
    packed["alpha"] = 255
    for name, values in zip(
        ("red", "green", "blue"), camera.image("rgb", copy).reshape(-1, 3).T, strict=True
    ):
        packed[name] = values[valid]
    return _content(packed)


def _packed(points: Array | npt.NDArray[np.float32], further: list[tuple[str, str]]) -> Any:
    packed: Any = np.zeros(len(points), np.dtype([*_POSITION, *further]))
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
        "data": points.tobytes(),
    }


def camera_messages(reading: CameraReading, frame: str, stamp: int) -> Iterator[ImageMessage]:
    """Yield the messages of a camera reading, whose images are rendered now: frames, calibrations and images.

    Colours are JPEG, normals PNG of (n / 2 + 1/2) 255, distances and both motion components 32-bit floats,
    class and instance ids 16-bit integers, points packed floats.

    Args:
        reading: The reading of a camera or a stereo pair.
        frame: Frame of the sensor, such as `iris/front`.
        stamp: Time of the messages [ns].
    """
    for name, camera in reading.cameras.items():
        count = camera.capture.count
        for copy in range(count):
            below, full = frame_of(frame, name, copy, count)
            head = {"timestamp": time_of(stamp), "frame_id": full}
            yield ImageMessage(
                f"{below}tf",
                FRAME_TRANSFORMS,
                pose_message(head, camera.position[copy], camera.orientation[copy]),
            )
            calibration = {**head, **_calibration(camera)}
            yield ImageMessage(f"{below}calibration", CAMERA_CALIBRATION, calibration)
            for output in camera.outputs:
                for leaf, kind, content in _contents(camera, output, copy):
                    yield ImageMessage(below + leaf, kind, {**head, **content})


def _contents(camera: CameraReading, output: str, copy: int) -> Iterator[ImageMessage]:
    if output == "point_cloud":
        yield ImageMessage(output, POINT_CLOUD, camera_cloud(camera, copy))
        return
    image = camera.image(output, copy)
    if output == "rgb":
        yield ImageMessage(output, COMPRESSED_IMAGE, _compressed(image, "jpeg"))
    elif output == "normals":
        levels = np.rint((image * 0.5 + 0.5) * 255).astype(np.uint8)
        yield ImageMessage(output, COMPRESSED_IMAGE, _compressed(levels, "png"))
    elif output == "motion_vectors":
        for axis, name in enumerate("xy"):
            yield ImageMessage(f"{output}/{name}", RAW_IMAGE, _raw(image[..., axis]))
    else:
        yield ImageMessage(output, RAW_IMAGE, _raw(image))


def _calibration(camera: CameraReading) -> dict[str, Any]:
    matrix = camera.intrinsic_matrix.copy()
    # In ROS and Foxglove the centre of the first pixel is (0, 0).
    matrix[:2, 2] -= 0.5
    model, coefficients = distortion_model(camera.lens)
    width, height = camera.resolution
    return {
        "width": width,
        "height": height,
        "distortion_model": model,
        "d": coefficients,
        "k": matrix.ravel().tolist(),
        "r": np.eye(3).ravel().tolist(),
        "p": np.column_stack([matrix, np.zeros(3)]).ravel().tolist(),
    }


def _compressed(image: npt.NDArray[np.uint8], kind: str) -> dict[str, Any]:
    file = io.BytesIO()
    options = {"quality": _JPEG_QUALITY} if kind == "jpeg" else {"compress_level": 1}
    Image.fromarray(image).save(file, kind, **options)
    return {"data": file.getvalue(), "format": kind}


def _raw(image: npt.NDArray[Any]) -> dict[str, Any]:
    distances = image.dtype.kind == "f"
    data = image.astype("<f4") if distances else np.minimum(image, _MAX_ID).astype("<u2")
    height, width = data.shape
    return {
        "width": width,
        "height": height,
        "encoding": "32FC1" if distances else "16UC1",
        "step": width * data.itemsize,
        "data": data.tobytes(),
    }


IMAGE_MESSAGES: ClassTable[Callable[[Any, str, int], Iterator[ImageMessage]]] = ClassTable(
    {CameraReading: camera_messages, LidarReading: lidar_messages}
)
"""Functions from reading, frame and time [ns] to messages for viewers, by the reading's class."""
