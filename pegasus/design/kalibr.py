"""True calibration of a vehicle's IMU and cameras, in the format of Kalibr's `ConfigReader.py`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.cameras import Camera, StereoCamera
from pegasus.core.aircraft import Aircraft
from pegasus.optics.lens import distortion_model
from pegasus.sensors import IMU


def imu_parameters(vehicle: Aircraft) -> dict[str, Any]:
    """Return the content of `imu.yaml`: noise and rate of the first IMU.

    Args:
        vehicle: The vehicle.

    Raises:
        ConfigError: If it has no IMU, or noise of zero, which Kalibr rejects.
    """
    name, imu = _first_imu(vehicle)
    content: dict[str, Any] = {"rostopic": f"/{vehicle.name}/sensors/imu", "update_rate": float(imu.rate_hz)}
    for part in ("accelerometer", "gyroscope"):
        noise = getattr(imu, part)
        for field, label in (("noise_density", "noise_density"), ("bias_random_walk", "random_walk")):
            value = float(getattr(noise, field))
            if value <= 0:
                where = f"sensors.{name}.{part}.{field}"
                raise ConfigError("must be above 0 for Kalibr", field=where, value=value)
            content[f"{part}_{label}"] = value
    return content


def camera_chain(vehicle: Aircraft) -> dict[str, Any]:
    """Return the content of `camchain.yaml`: intrinsics and poses of all cameras, in the order of the file.

    `T_cam_imu` maps points of the frame of the first IMU to that of the camera (x right, y down, z forward),
    `T_cn_cnm1` those of the camera before. Images are stamped at their instant, so that `timeshift_cam_imu`
    is zero.

    Args:
        vehicle: The vehicle.

    Raises:
        ConfigError: If it has no IMU, no camera, or a lens that Kalibr does not have.
    """
    _, imu = _first_imu(vehicle)
    imu_to_body = _transform(matrix_from_quaternion(np.array(imu.orientation)), np.array(imu.position))
    cameras = []
    for field, topic, camera, to_body in _cameras(vehicle):
        model, coefficients = distortion_model(camera.lens)
        if kalibr_distortion(model, coefficients) is None:
            raise ConfigError(
                "must be pinhole, brown_conrady with k3 to k6 of 0, or kannala_brandt for Kalibr",
                field=f"{field}.lens",
                value=camera.lens,
            )
        matrix = camera.lens.matrix(camera.resolution).copy()
        matrix[:2, 2] -= 0.5  # The first pixel's centre is at (0, 0) here.
        name = f"/{vehicle.name}/{topic}/color/image_raw"
        cameras.append(ChainCamera(name, to_body, matrix, camera.resolution, model, coefficients))
    if not cameras:
        raise ConfigError("has no camera", field="vehicle", value=vehicle.name, remedy="add one to sensors")
    return chain(cameras, imu_to_body)


@dataclass(frozen=True, eq=False)
class ChainCamera:
    """Camera of a chain."""

    topic: str
    """Topic of its images."""
    to_body: Array
    """Optical frame to body, shape (4, 4)."""
    matrix: Array
    """Intrinsic matrix with the first pixel's centre at (0, 0) [pixels], shape (3, 3)."""
    resolution: Sequence[int]
    """Width and height [pixels]."""
    model: str
    """Distortion model; see `distortion_model`."""
    coefficients: Sequence[float]
    """Coefficients in OpenCV's order."""


def chain(cameras: Sequence[ChainCamera], imu_to_body: Array) -> dict[str, Any]:
    """Return the content of `camchain.yaml`.

    Args:
        cameras: The cameras, of models that Kalibr has; see `kalibr_distortion`.
        imu_to_body: Frame of the IMU to body, shape (4, 4).
    """
    content: dict[str, Any] = {}
    for number, camera in enumerate(cameras):
        to_camera, matrix = np.linalg.inv(camera.to_body), camera.matrix
        model, coefficients = kalibr_distortion(camera.model, camera.coefficients) or ("none", [])
        entry: dict[str, Any] = {
            "T_cam_imu": (to_camera @ imu_to_body).tolist(),
            "cam_overlaps": [other for other in range(len(cameras)) if other != number],
            "camera_model": "pinhole",
            "distortion_coeffs": coefficients,
            "distortion_model": model,
            "intrinsics": [matrix[0, 0].item(), matrix[1, 1].item(), *matrix[:2, 2].tolist()],
            "resolution": list(camera.resolution),
            "rostopic": camera.topic,
            "timeshift_cam_imu": 0.0,
        }
        if number:
            entry["T_cn_cnm1"] = (to_camera @ cameras[number - 1].to_body).tolist()
        content[f"cam{number}"] = entry
    return content


def kalibr_distortion(model: str, coefficients: Sequence[float]) -> tuple[str, list[float]] | None:
    """Return Kalibr's name and coefficients of a distortion, None if it has none.

    Args:
        model: Name; see `distortion_model`.
        coefficients: Coefficients in OpenCV's order.
    """
    values = [float(value) for value in coefficients]
    if model == "plumb_bob" and not any(values[4:]):
        return "radtan", values[:4]
    return ("equidistant", values) if model == "kannala_brandt" else None


def _first_imu(vehicle: Aircraft) -> tuple[str, IMU]:
    for name, sensor in vehicle.sensors.items():
        if isinstance(sensor, IMU):
            return name, sensor
    raise ConfigError("has no IMU", field="vehicle", value=vehicle.name, remedy="add one to sensors")


def _cameras(vehicle: Aircraft) -> Iterator[tuple[str, str, Camera, Array]]:
    """Yield field, topic, camera, and transform of the optical frame to the body frame of each camera."""
    for name, sensor in vehicle.sensors.items():
        if not isinstance(sensor, Camera):
            continue
        pose = _transform(*sensor.mount(vehicle))
        if isinstance(sensor, StereoCamera):
            right = pose.copy()
            right[:3, 3] += right[:3, 0] * sensor.baseline
            yield f"sensors.{name}", f"{name}/left", sensor, pose
            yield f"sensors.{name}", f"{name}/right", sensor, right
        else:
            yield f"sensors.{name}", name, sensor, pose


def _transform(rotation: Array, position: Array) -> Array:
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = rotation, position
    return made
