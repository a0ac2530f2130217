"""Pictures as messages that Foxglove shows: compressed and raw images, calibrations, frames of cameras."""

import io
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from pegasus.cameras import BrownConrady, CameraReading, KannalaBrandt, Lens, Pinhole
from pegasus.recording.clouds import camera_cloud
from pegasus.recording.messages import PictureMessage, frame_of, pose_message, time_of
from pegasus.recording.schemas import (
    camera_calibration_schema,
    compressed_image_schema,
    frame_transforms_schema,
    point_cloud_schema,
    raw_image_schema,
)

_JPEG_QUALITY = 90
_MOST_IDS = 2**16 - 1


def picture_messages(reading: CameraReading, frame: str, stamp: int) -> Iterator[PictureMessage]:
    """Give the pictures of a reading, which are drawn now, with what viewers need to place them.

    Colours are JPEG, normals PNG of (n / 2 + 1/2) 255, distances and both components of motion 32-bit
    floats, classes and things 16-bit ids, points packed as floats.

    Args:
        reading: The reading of a camera or a stereo pair.
        frame: Frame of the sensor, such as `iris/front`.
        stamp: Time of the messages [ns].
    """
    for name, camera in reading.cameras.items():
        count = camera.shot.count
        for copy in range(count):
            below, full = frame_of(frame, name, copy, count)
            head = {"timestamp": time_of(stamp), "frame_id": full}
            yield PictureMessage(
                f"{below}tf",
                frame_transforms_schema(),
                pose_message(head, camera.position[copy], camera.orientation[copy]),
            )
            calibration = {**head, **_calibration(camera)}
            yield PictureMessage(f"{below}calibration", camera_calibration_schema(), calibration)
            for output in camera.outputs:
                for leaf, schema, content in _contents(camera, output, copy):
                    yield PictureMessage(below + leaf, schema, {**head, **content})


def _contents(camera: CameraReading, output: str, copy: int) -> Iterator[PictureMessage]:
    if output == "point_cloud":
        yield PictureMessage(output, point_cloud_schema(), camera_cloud(camera, copy))
        return
    picture = camera.image(output, copy)
    if output == "rgb":
        yield PictureMessage(output, compressed_image_schema(), _compressed(picture, "jpeg"))
    elif output == "normals":
        levels = np.rint((picture * 0.5 + 0.5) * 255).astype(np.uint8)
        yield PictureMessage(output, compressed_image_schema(), _compressed(levels, "png"))
    elif output == "motion_vectors":
        for axis, name in enumerate("xy"):
            yield PictureMessage(f"{output}/{name}", raw_image_schema(), _raw(picture[..., axis]))
    else:
        yield PictureMessage(output, raw_image_schema(), _raw(picture))


def distortion(lens: Lens) -> tuple[str, list[float]]:
    """Return model and coefficients of a lens as camera calibrations name them; nothing for others.

    Source: ROS REP 104 and OpenCV's order of coefficients, k1, k2, p1, p2, k3, k4, k5, k6.

    Args:
        lens: The lens.
    """
    if isinstance(lens, KannalaBrandt):
        return "kannala_brandt", [lens.k1, lens.k2, lens.k3, lens.k4]
    if isinstance(lens, BrownConrady):
        plumb_bob = [lens.k1, lens.k2, lens.p1, lens.p2, lens.k3]
        rational = [lens.k4, lens.k5, lens.k6]
        return ("rational_polynomial", plumb_bob + rational) if any(rational) else ("plumb_bob", plumb_bob)
    return ("plumb_bob", [0.0] * 5) if isinstance(lens, Pinhole) else ("", [])


def _calibration(camera: CameraReading) -> dict[str, Any]:
    matrix = camera.intrinsic_matrix.copy()
    # There the centre of the first pixel is (0, 0).
    matrix[:2, 2] -= 0.5
    model, coefficients = distortion(camera.lens)
    width, height = camera.resolution
    return {
        "width": width,
        "height": height,
        "distortion_model": model,
        "D": coefficients,
        "K": matrix.ravel().tolist(),
        "R": np.eye(3).ravel().tolist(),
        "P": np.column_stack([matrix, np.zeros(3)]).ravel().tolist(),
    }


def _compressed(picture: npt.NDArray[np.uint8], kind: str) -> dict[str, Any]:
    file = io.BytesIO()
    options = {"quality": _JPEG_QUALITY} if kind == "jpeg" else {"compress_level": 1}
    Image.fromarray(picture).save(file, kind, **options)
    return {"data": b64encode(file.getvalue()).decode(), "format": kind}


def _raw(picture: npt.NDArray[Any]) -> dict[str, Any]:
    distances = picture.dtype.kind == "f"
    data = picture.astype("<f4") if distances else np.minimum(picture, _MOST_IDS).astype("<u2")
    height, width = data.shape
    return {
        "width": width,
        "height": height,
        "encoding": "32FC1" if distances else "16UC1",
        "step": width * data.itemsize,
        "data": b64encode(data.tobytes()).decode(),
    }
