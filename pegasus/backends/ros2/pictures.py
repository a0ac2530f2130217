"""Pictures, calibrations and clouds, drawn and encoded only where somebody listens."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.backends.ros2.cdr import encode
from pegasus.backends.ros2.description import Message
from pegasus.backends.ros2.frame_names import FrameNames
from pegasus.backends.ros2.frame_tree import optical_frame
from pegasus.backends.ros2.messages import CameraInfo, Header, Image, PointCloud2, PointField, Time
from pegasus.backends.ros2.qos import LATCHED, PICTURES, QoS
from pegasus.backends.ros2.topics import Topics
from pegasus.backends.ros2.transport import Publisher
from pegasus.cameras import Camera, CameraReading, Lidar, LidarReading, PointCloud, StereoCamera
from pegasus.errors import ConfigError
from pegasus.recording.pictures import distortion
from pegasus.sensors.sensor import Reading, Schedule, Sensor

_log = logging.getLogger(__name__)

_MOST_IDS = 2**16 - 1
_LEAVES = {
    "rgb": "color",
    "distance_to_image_plane": "depth",
    "distance_to_camera": "distance",
    "normals": "normals",
    "semantic_segmentation": "semantic",
    "instance_segmentation": "instance",
    "motion_vectors": "motion",
}
"""Names that topics of images have for the outputs of a camera."""

_DATATYPES = {"f4": PointField.FLOAT32, "u2": PointField.UINT16}
_RAW_POINT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4")])
_LIDAR_POINT = np.dtype([*_RAW_POINT.descr, ("intensity", "<f4"), ("ring", "<u2"), ("time", "<f4")])


class PictureStream:
    """One topic of N copies that is made of a reading with pictures or points.

    Args:
        topic: Its own name.
        publishers: Writer of each copy.
        frames: Frame of each copy's pictures.
        schedule: When it is due; None for whenever there is something new.
        message: From reading, copy and header to the message.
        always: Whether it is sent even where nobody listens, for those who come later.
    """

    def __init__(
        self,
        topic: str,
        publishers: Sequence[Publisher],
        frames: Sequence[str],
        schedule: Schedule | None,
        message: Callable[[Any, int, Header], Message],
        *,
        always: bool = False,
    ) -> None:
        self._topic, self._schedule, self._message, self._always = topic, schedule, message, always
        self._copies = list(zip(publishers, frames, strict=True))

    def send(self, step: int, reading: Reading, seconds: int, nanoseconds: int) -> None:
        """Send what is due to those who listen.

        Args:
            step: Number of the physics step.
            reading: The reading, whose pictures are drawn now.
            seconds: Stamp, whole seconds [s].
            nanoseconds: The rest of it [ns].
        """
        if self._schedule is not None and not self._schedule.due(step):
            return
        for copy, (publisher, frame) in enumerate(self._copies):
            if self._always or publisher.matched:
                header = Header(Time(seconds, nanoseconds), frame)
                try:
                    message = self._message(reading, copy, header)
                except ConfigError as error:
                    # Whoever listens to a picture that cannot be drawn does not end everybody's flight.
                    _log.warning("topic %s falls silent: %s", self._topic, error)
                    self._copies = []
                    return
                publisher.publish(encode(message))


def picture_streams(
    name: str, sensor: Sensor, topics: Topics, frames: Sequence[FrameNames]
) -> list[PictureStream]:
    """Return the topics of a camera or a lidar; none for other sensors.

    Args:
        name: Name of the sensor.
        sensor: The sensor.
        topics: Where its topics are opened.
        frames: Names of each copy's frames.

    Raises:
        ConfigError: If an option of a topic is not allowed.
    """
    streams: list[PictureStream] = []

    def add(topic: str, kind: type[Message], message: Any, frame: str, qos: QoS = PICTURES) -> None:
        opened = topics.publishers(topic, kind, qos)
        if opened is not None:
            own = [names.own(frame) for names in frames]
            streams.append(PictureStream(topic, opened[0], own, opened[1], message, always=qos.latched))

    if isinstance(sensor, Lidar):
        add(f"{name}/points", PointCloud2, _scan, name)
    elif isinstance(sensor, Camera):
        for camera in ("left", "right") if isinstance(sensor, StereoCamera) else ("",):
            below = f"{name}/{camera}" if camera else name
            frame = optical_frame(name, camera)
            for output in sensor.outputs:
                if output == "point_cloud":
                    add(f"{below}/points", PointCloud2, _Points(camera), frame)
                    continue
                leaf = _LEAVES[output]
                add(f"{below}/{leaf}/image_raw", Image, _Picture(camera, output), frame)
                if leaf in ("color", "depth"):
                    add(f"{below}/{leaf}/camera_info", CameraInfo, _Calibration(camera), frame, LATCHED)
    return streams


class _Picture(NamedTuple):
    camera: str
    output: str

    def __call__(self, reading: CameraReading, copy: int, header: Header) -> Image:
        return image(reading.cameras[self.camera].image(self.output, copy), header)


class _Points(NamedTuple):
    camera: str

    def __call__(self, reading: CameraReading, copy: int, header: Header) -> PointCloud2:
        points = reading.cameras[self.camera].image("point_cloud", copy)
        packed = np.ascontiguousarray(points, dtype="<f4").view(_RAW_POINT)
        return cloud(packed.reshape(points.shape[:2]), header, dense=False)


class _Calibration(NamedTuple):
    camera: str

    def __call__(self, reading: CameraReading, copy: int, header: Header) -> CameraInfo:
        found = reading.cameras[self.camera]
        left = next(iter(reading.cameras.values()))
        baseline = math.dist(found.position[copy], left.position[copy])
        return camera_info(found, header, baseline=baseline)


def _scan(reading: LidarReading, copy: int, header: Header) -> PointCloud2:
    return lidar_cloud(reading.cloud(copy), header)


def image(picture: npt.NDArray[Any], header: Header) -> Image:
    """Return a picture as ROS has it: rgb8, 32FC1 to 32FC3, or 16UC1 for ids.

    Args:
        picture: 8-bit colours (H, W, 3), 32-bit floats (H, W) or (H, W, C), or whole numbers (H, W).
        header: Stamp and optical frame.
    """
    height, width = picture.shape[:2]
    channels = 1 if picture.ndim == 2 else picture.shape[2]
    if picture.dtype == np.uint8:
        encoding = "rgb8"
    elif picture.dtype.kind == "f":
        encoding, picture = f"32FC{channels}", picture.astype("<f4", copy=False)
    else:
        encoding, picture = "16UC1", np.minimum(picture, _MOST_IDS).astype("<u2")
    return Image(
        header,
        height=height,
        width=width,
        encoding=encoding,
        step=width * channels * picture.itemsize,
        data=np.ascontiguousarray(picture).tobytes(),
    )


def camera_info(camera: CameraReading, header: Header, *, baseline: float) -> CameraInfo:
    """Return the calibration of a camera, whose first pixel has its centre at (0, 0) as in OpenCV.

    Args:
        camera: A reading of the camera.
        header: Stamp and optical frame.
        baseline: How far it stands to the right of the left camera of its pair [m]; 0 for no pair.
    """
    matrix = camera.intrinsic_matrix.copy()
    matrix[:2, 2] -= 0.5
    model, coefficients = distortion(camera.lens)
    width, height = camera.resolution
    projection = np.zeros((3, 4))
    projection[:, :3] = matrix
    # Tx of a right camera is -fx times the baseline (sensor_msgs/CameraInfo).
    projection[0, 3] = -matrix[0, 0] * baseline
    return CameraInfo(
        header,
        height=height,
        width=width,
        distortion_model=_model_name(model),
        d=coefficients,
        k=matrix.ravel().tolist(),
        r=np.eye(3).ravel().tolist(),
        p=projection.ravel().tolist(),
    )


def _model_name(model: str) -> str:
    # sensor_msgs/distortion_models.hpp names the four-parameter fisheye model so (REP 104 has no name).
    return "equidistant" if model == "kannala_brandt" else model


def lidar_cloud(points: PointCloud, header: Header) -> PointCloud2:
    """Return the points of a scan with intensity, ring, and time from the stamp on [s].

    Args:
        points: The points, each in the sensor's frame at its own time.
        header: Stamp, at the end of the scan, and frame of the sensor.
    """
    packed = np.empty(len(points.range), _LIDAR_POINT)
    for axis, name in enumerate("xyz"):
        packed[name] = points.points[:, axis]
    packed["intensity"], packed["ring"] = points.intensity, points.ring
    packed["time"] = points.time_offset
    return cloud(packed[None], header, dense=True)


def cloud(packed: npt.NDArray[Any], header: Header, *, dense: bool) -> PointCloud2:
    """Return points as ROS has them.

    Args:
        packed: Points with their named fields, shape (H, W); H is 1 for points in no order.
        header: Stamp and frame.
        dense: Whether every point is finite.
    """
    layout = packed.dtype
    assert layout.names is not None
    assert layout.fields is not None
    fields = [
        PointField(name, layout.fields[name][1], _DATATYPES[layout.fields[name][0].str[1:]], 1)
        for name in layout.names
    ]
    height, width = packed.shape
    return PointCloud2(
        header,
        height=height,
        width=width,
        fields=fields,
        point_step=layout.itemsize,
        row_step=width * layout.itemsize,
        data=packed.tobytes(),
        is_dense=dense,
    )
