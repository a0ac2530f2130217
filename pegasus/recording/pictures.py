"""Pictures as messages that Foxglove shows: compressed and raw images, calibrations, frames of cameras."""

import io
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from pegasus.cameras import BrownConrady, CameraReading, KannalaBrandt, Lens, Pinhole
from pegasus.recording.schemas import (
    camera_calibration_schema,
    compressed_image_schema,
    frame_transforms_schema,
    raw_image_schema,
)

_JPEG_QUALITY = 90
_MOST_IDS = 2**16 - 1


class PictureMessage(NamedTuple):
    """A message beside the reading that it comes from."""

    topic: str
    """Topic below that of the sensor, such as `left/rgb`."""
    schema: dict[str, Any]
    content: dict[str, Any]


def picture_messages(reading: CameraReading, frame: str, stamp: int) -> Iterator[PictureMessage]:
    """Give the pictures of a reading, which are drawn now, with what viewers need to place them.

    Colours are JPEG, distances 32-bit floats [m], classes and things 16-bit ids. Normals, motion and points
    are left out: viewers have no image type for them.

    Args:
        reading: The reading of a camera or a stereo pair.
        frame: Frame of the sensor, such as `iris/front`.
        stamp: Time of the messages [ns].
    """
    time = dict(zip(("sec", "nsec"), divmod(stamp, 1_000_000_000), strict=True))
    for name, camera in reading.cameras.items():
        for copy in range(camera.shot.count):
            place = [name, str(copy) if camera.shot.count > 1 else ""]
            below = "".join(f"{part}/" for part in place if part)
            head = {"timestamp": time, "frame_id": "/".join([frame, *(part for part in place if part)])}
            yield PictureMessage(f"{below}tf", frame_transforms_schema(), _transform(camera, copy, head))
            calibration = {**head, **_calibration(camera)}
            yield PictureMessage(f"{below}calibration", camera_calibration_schema(), calibration)
            for output in camera.outputs:
                if output == "rgb":
                    content = {**head, "data": _jpeg(camera.image("rgb", copy)), "format": "jpeg"}
                    yield PictureMessage(f"{below}rgb", compressed_image_schema(), content)
                elif output.startswith("distance") or output.endswith("segmentation"):
                    content = {**head, **_raw(camera.image(output, copy))}
                    yield PictureMessage(f"{below}{output}", raw_image_schema(), content)


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


def _transform(camera: CameraReading, copy: int, head: dict[str, Any]) -> dict[str, Any]:
    translation = dict(zip("xyz", camera.position[copy].tolist(), strict=True))
    rotation = dict(zip("xyzw", camera.orientation[copy].tolist(), strict=True))
    transform = {
        "timestamp": head["timestamp"],
        "parent_frame_id": "world",
        "child_frame_id": head["frame_id"],
        "translation": translation,
        "rotation": rotation,
    }
    return {"transforms": [transform]}


def _jpeg(picture: npt.NDArray[np.uint8]) -> str:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=_JPEG_QUALITY)
    return b64encode(file.getvalue()).decode()


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
