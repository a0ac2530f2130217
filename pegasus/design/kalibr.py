"""True calibration of a vehicle's IMU and cameras, in the format of Kalibr's `ConfigReader.py`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.cameras import Camera, StereoCamera
from pegasus.core.multirotor import Multirotor
from pegasus.optics.lens import BrownConrady, KannalaBrandt, Pinhole
from pegasus.sensors import IMU


def imu_parameters(vehicle: Multirotor) -> dict[str, Any]:
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


def camera_chain(vehicle: Multirotor) -> dict[str, Any]:
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
    chain: dict[str, Any] = {}
    before = None
    for number, (field, topic, camera, camera_to_body) in enumerate(_cameras(vehicle)):
        to_camera = np.linalg.inv(camera_to_body)
        model, coefficients = _distortion(field, camera)
        matrix = camera.lens.matrix(camera.resolution)
        content: dict[str, Any] = {
            "T_cam_imu": (to_camera @ imu_to_body).tolist(),
            "cam_overlaps": [],
            "camera_model": "pinhole",
            "distortion_coeffs": [float(value) for value in coefficients],
            "distortion_model": model,
            # The first pixel's centre is at (0, 0) here.
            "intrinsics": [
                float(matrix[0, 0]),
                float(matrix[1, 1]),
                float(matrix[0, 2]) - 0.5,
                float(matrix[1, 2]) - 0.5,
            ],
            "resolution": list(camera.resolution),
            "rostopic": f"/{vehicle.name}/{topic}/color/image_raw",
            "timeshift_cam_imu": 0.0,
        }
        if before is not None:
            content["T_cn_cnm1"] = (to_camera @ before).tolist()
        chain[f"cam{number}"] = content
        before = camera_to_body
    if not chain:
        raise ConfigError("has no camera", field="vehicle", value=vehicle.name, remedy="add one to sensors")
    for number in range(len(chain)):
        chain[f"cam{number}"]["cam_overlaps"] = [other for other in range(len(chain)) if other != number]
    return chain


def _first_imu(vehicle: Multirotor) -> tuple[str, IMU]:
    for name, sensor in vehicle.sensors.items():
        if isinstance(sensor, IMU):
            return name, sensor
    raise ConfigError("has no IMU", field="vehicle", value=vehicle.name, remedy="add one to sensors")


def _cameras(vehicle: Multirotor) -> Iterator[tuple[str, str, Camera, Array]]:
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


def _distortion(field: str, camera: Camera) -> tuple[str, tuple[float, ...]]:
    """Return Kalibr's name of a camera's distortion, and its coefficients."""
    lens = camera.lens
    if isinstance(lens, Pinhole):
        return "radtan", (0.0, 0.0, 0.0, 0.0)
    if isinstance(lens, BrownConrady) and not any((lens.k3, lens.k4, lens.k5, lens.k6)):
        return "radtan", (lens.k1, lens.k2, lens.p1, lens.p2)
    if isinstance(lens, KannalaBrandt):
        return "equidistant", (lens.k1, lens.k2, lens.k3, lens.k4)
    raise ConfigError(
        "must be pinhole, brown_conrady with k3 to k6 of 0, or kannala_brandt for Kalibr",
        field=f"{field}.lens",
        value=lens,
    )


def _transform(rotation: Array, position: Array) -> Array:
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = rotation, position
    return made
