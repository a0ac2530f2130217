"""Images, calibrations and point clouds of cameras and lidars as ROS 2 messages."""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.backends.ros2.frames import FrameNames, optical_frame
from pegasus.backends.ros2.graph import IMAGES, LATCHED, Publisher, QoS
from pegasus.backends.ros2.messages import Message, encode, message
from pegasus.backends.ros2.topics import Topics
from pegasus.base.errors import ConfigError
from pegasus.base.registry import ClassTable
from pegasus.cameras import (
    Camera,
    CameraReading,
    ImageQueue,
    Lidar,
    LidarReading,
    PointCloud,
    StereoCamera,
)
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import Sensor
from pegasus.core.schedule import Schedule
from pegasus.optics.lens import distortion_model

_log = logging.getLogger(__name__)

_MAX_ID = 2**16 - 1
_LEAVES = {
    "rgb": "color",
    "distance_to_image_plane": "depth",
    "distance_to_camera": "distance",
    "normals": "normals",
    "semantic_segmentation": "semantic",
    "instance_segmentation": "instance",
    "motion_vectors": "motion",
}
"""Names of image topics by output of the camera."""
_IMAGE, _CAMERA_INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"
_CLOUD = "sensor_msgs/msg/PointCloud2"

_DATATYPES = {"f4": 7, "u2": 4}
"""FLOAT32 and UINT16 of sensor_msgs/PointField."""
_RAW_POINT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4")])
_LIDAR_POINT = np.dtype([*_RAW_POINT.descr, ("intensity", "<f4"), ("ring", "<u2"), ("time", "<f4")])

Header = Mapping[str, Any]
"""Fields of std_msgs/Header."""
_Make = Callable[[Any, int, Header], Message]
_Encoded = list[tuple[Publisher, bytes]]


class ImageStream:
    """Topic of the images or point clouds of N copies.

    Args:
        topic: Default name.
        publishers: Writer of each copy.
        frames: Frame of each copy's images.
        schedule: Schedule of the topic; None for every new reading.
        make: Function from reading, copy and header to the message.
        always: Whether to publish without subscriptions, for late readers.
        beside: Whether images are rendered beside the next steps.
    """

    def __init__(
        self,
        topic: str,
        publishers: Sequence[Publisher],
        frames: Sequence[str],
        schedule: Schedule | None,
        make: _Make,
        *,
        always: bool = False,
        beside: bool = True,
    ) -> None:
        self._topic, self._schedule, self._make, self._always = topic, schedule, make, always
        self._beside = beside and not always
        self._copies = list(zip(publishers, frames, strict=True))
        self._queue = ImageQueue(self._publish)

    def send(self, step: int, reading: Reading, seconds: int, nanoseconds: int) -> None:
        """Publish the messages that are due and subscribed to.

        Args:
            step: Number of the physics step.
            reading: The reading, whose images are rendered beside the next steps.
            seconds: Whole seconds of the stamp [s].
            nanoseconds: Remainder of the stamp [ns].
        """
        if self._schedule is not None and not self._schedule.due(step):
            return
        stamp = {"sec": seconds, "nanosec": nanoseconds}
        copies = [
            (copy, publisher, {"stamp": stamp, "frame_id": frame})
            for copy, (publisher, frame) in enumerate(self._copies)
            if self._always or publisher.matched
        ]

        def messages() -> _Encoded:
            return [(to, encode(self._make(reading, copy, header))) for copy, to, header in copies]

        if not copies:
            return
        if self._beside:
            self._attempt(lambda: self._queue.add(reading, messages))
        else:
            self._attempt(lambda: self._publish(messages()))

    def collect(self) -> None:
        """Publish the messages whose images are ready."""
        self._attempt(self._queue.collect)

    def finish(self) -> None:
        """Wait for the images that are being rendered, and publish their messages."""
        self._attempt(self._queue.finish)

    def _publish(self, messages: _Encoded) -> None:
        for publisher, data in messages:
            publisher.publish(data)

    def _attempt(self, publish: Callable[[], None]) -> None:
        try:
            publish()
        except ConfigError as error:
            # A subscriber to an image that cannot be rendered must not end the flight.
            if self._copies:
                _log.warning("topic %s is no longer published: %s", self._topic, error)
            self._copies = []


class ImageTopic(NamedTuple):
    """Topic of images or point clouds, encoded only while a subscriber listens."""

    topic: str
    """Default name of the topic."""
    kind: str
    """Type of its messages, such as "sensor_msgs/msg/Image"."""
    make: _Make
    """Function from reading, copy and header to a message."""
    frame: str
    """Frame of the messages, below that of the copy."""
    qos: QoS = IMAGES
    """Default quality of service."""


def image_streams(
    name: str, sensor: Sensor, topics: Topics, frames: Sequence[FrameNames], *, beside: bool
) -> list[ImageStream]:
    """Return the topics of a camera or a lidar; none for other sensors.

    Args:
        name: Name of the sensor.
        sensor: The sensor.
        topics: Topics of the vehicle.
        frames: Frame names of each copy.
        beside: Whether images are rendered beside the next steps.

    Raises:
        ConfigError: If an option of a topic is not allowed.
    """
    streams: list[ImageStream] = []
    entry = IMAGE_TOPICS.find(sensor)
    for topic, kind, make, frame, qos in entry(name, sensor) if entry is not None else ():
        opened = topics.publishers(topic, kind, qos)
        if opened is not None:
            own = [names.own(frame) for names in frames]
            streams.append(
                ImageStream(topic, opened[0], own, opened[1], make, always=qos.latched, beside=beside)
            )
    return streams


def _lidar_topics(name: str, _: Lidar) -> Iterator[ImageTopic]:
    yield ImageTopic(f"{name}/points", _CLOUD, _scan, name)


def _camera_topics(name: str, sensor: Camera) -> Iterator[ImageTopic]:
    for camera in ("left", "right") if isinstance(sensor, StereoCamera) else ("",):
        below = f"{name}/{camera}" if camera else name
        frame = optical_frame(name, camera)
        for output in sensor.outputs:
            if output == "point_cloud":
                yield ImageTopic(f"{below}/points", _CLOUD, partial(_camera_cloud, camera), frame)
                continue
            leaf = _LEAVES[output]
            make = partial(_camera_image, camera, output)
            yield ImageTopic(f"{below}/{leaf}/image_raw", _IMAGE, make, frame)
            if leaf in ("color", "depth"):
                info = f"{below}/{leaf}/camera_info"
                yield ImageTopic(info, _CAMERA_INFO, partial(_calibration, camera), frame, LATCHED)


def _camera_image(camera: str, output: str, reading: CameraReading, copy: int, header: Header) -> Message:
    return image(reading.cameras[camera].image(output, copy), header)


def _camera_cloud(camera: str, reading: CameraReading, copy: int, header: Header) -> Message:
    points = reading.cameras[camera].image("point_cloud", copy)
    packed = np.ascontiguousarray(points, dtype="<f4").view(_RAW_POINT)
    return cloud(packed.reshape(points.shape[:2]), header, dense=False)


def _calibration(camera: str, reading: CameraReading, copy: int, header: Header) -> Message:
    own, left = reading.cameras[camera], next(iter(reading.cameras.values()))
    return camera_info(own, header, baseline=math.dist(own.position[copy], left.position[copy]))


def _scan(reading: LidarReading, copy: int, header: Header) -> Message:
    return lidar_cloud(reading.cloud(copy), header)


def image(pixels: npt.NDArray[Any], header: Header) -> Message:
    """Return an image message: rgb8, 32FC1 to 32FC3, or 16UC1 for ids.

    Args:
        pixels: 8-bit colours (H, W, 3), 32-bit floats (H, W) or (H, W, C), or integers (H, W).
        header: Stamp and optical frame.
    """
    height, width = pixels.shape[:2]
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    if pixels.dtype == np.uint8:
        encoding = "rgb8"
    elif pixels.dtype.kind == "f":
        encoding, pixels = f"32FC{channels}", pixels.astype("<f4", copy=False)
    else:
        encoding, pixels = "16UC1", np.minimum(pixels, _MAX_ID).astype("<u2")
    return message(
        _IMAGE,
        header=header,
        height=height,
        width=width,
        encoding=encoding,
        step=width * channels * pixels.itemsize,
        data=pixels,
    )


def camera_info(camera: CameraReading, header: Header, *, baseline: float) -> Message:
    """Return the calibration of a camera; the centre of the first pixel is (0, 0), as in OpenCV.

    Args:
        camera: Reading of the camera.
        header: Stamp and optical frame.
        baseline: Distance to the left camera of the pair [m]; 0 for a single camera.
    """
    matrix = camera.intrinsic_matrix.copy()
    matrix[:2, 2] -= 0.5
    model, coefficients = distortion_model(camera.lens)
    width, height = camera.resolution
    projection = np.zeros((3, 4))
    projection[:, :3] = matrix
    # Tx of a right camera is -fx times the baseline (sensor_msgs/CameraInfo).
    projection[0, 3] = -matrix[0, 0] * baseline
    return message(
        _CAMERA_INFO,
        header=header,
        height=height,
        width=width,
        # Name of the four-parameter fisheye model in sensor_msgs/distortion_models.hpp; REP 104 has none.
        distortion_model="equidistant" if model == "kannala_brandt" else model,
        d=coefficients,
        k=matrix,
        r=np.eye(3),
        p=projection,
    )


def lidar_cloud(points: PointCloud, header: Header) -> Message:
    """Return the points of a scan with intensity, ring, and time relative to the stamp [s].

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


def cloud(packed: npt.NDArray[Any], header: Header, *, dense: bool) -> Message:
    """Return a point cloud message.

    Args:
        packed: Points with named fields, shape (H, W); H is 1 for unordered points.
        header: Stamp and frame.
        dense: Whether every point is finite.
    """
    layout = packed.dtype
    assert layout.names is not None
    assert layout.fields is not None
    fields = [
        {
            "name": name,
            "offset": layout.fields[name][1],
            "datatype": _DATATYPES[layout.fields[name][0].str[1:]],
            "count": 1,
        }
        for name in layout.names
    ]
    height, width = packed.shape
    return message(
        _CLOUD,
        header=header,
        height=height,
        width=width,
        fields=fields,
        point_step=layout.itemsize,
        row_step=width * layout.itemsize,
        data=packed.tobytes(),
        is_dense=dense,
    )


IMAGE_TOPICS: ClassTable[Callable[[str, Any], Iterable[ImageTopic]]] = ClassTable(
    {Lidar: _lidar_topics, Camera: _camera_topics}
)
"""Functions from name and sensor to its topics of images, by the sensor's class."""
