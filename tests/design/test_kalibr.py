"""Tests of calibration files for Kalibr, read back by YAML and applied as Kalibr applies them."""

import math

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from pegasus import Multirotor
from pegasus.base.errors import ConfigError
from pegasus.cameras import Camera, StereoCamera
from pegasus.design.kalibr import camera_chain, imu_parameters
from pegasus.optics.lens import BrownConrady, KannalaBrandt
from pegasus.sensors import IMU, Accelerometer, Gyroscope

TURN = Rotation.from_euler("ZYX", [0.5, -0.3, 0.2])
IMU_PLACE = (0.02, -0.01, 0.03)
LENSES = {
    "radtan": BrownConrady(horizontal_fov=1.2, center=(310.0, 250.0), k1=-0.2, k2=0.05, p1=1e-3, p2=-2e-3),
    "equidistant": KannalaBrandt(horizontal_fov=2.6, k1=-0.02, k2=0.01, k3=-3e-3, k4=1e-4),
}


def read_back(content):
    """Return a content as another program reads its file."""
    return yaml.safe_load(yaml.safe_dump(content))


def seen(camera, point):
    """Return the pixel of a point in the frame of the IMU, by Kalibr's formulas."""
    x, y, z = (np.array(camera["T_cam_imu"]) @ [*point, 1.0])[:3]
    a, b, c, d = camera["distortion_coeffs"]
    x, y = x / z, y / z
    if camera["distortion_model"] == "radtan":
        r2 = x * x + y * y
        radial = a * r2 + b * r2 * r2
        x, y = (
            x + x * radial + 2 * c * x * y + d * (r2 + 2 * x * x),
            y + y * radial + 2 * d * x * y + c * (r2 + 2 * y * y),
        )
    else:
        r = math.hypot(x, y)
        angle = math.atan(r)
        scale = angle * (1 + a * angle**2 + b * angle**4 + c * angle**6 + d * angle**8) / r
        x, y = x * scale, y * scale
    fu, fv, pu, pv = camera["intrinsics"]
    return fu * x + pu, fv * y + pv


@pytest.mark.parametrize("model", LENSES)
def test_kalibr_sees_points_where_the_camera_does(model):
    """A pose would be inverted or without the IMU's mounting, or the pixels counted from another corner."""
    camera = Camera(lens=LENSES[model], position=(0.1, 0.02, -0.03), orientation=(0.1, 0.2, -0.3))
    imu = IMU(position=IMU_PLACE, orientation=tuple(TURN.as_quat()))
    vehicle = Multirotor("iris", sensors={"imu": imu, "front": camera})
    chain = read_back(camera_chain(vehicle))
    assert list(chain) == ["cam0"]
    assert chain["cam0"]["distortion_model"] == model
    assert chain["cam0"]["resolution"] == [640, 480]
    # Euler angles of the camera are of its FLU frame; its optical axes are (-y, -z, x) of that.
    flu = Rotation.from_euler("ZYX", [-0.3, 0.2, 0.1])
    for direction in ([1.0, 0.05, 0.02], [1.0, 0.3, -0.2], [1.0, -0.4, 0.3]):
        body = flu.apply(np.array(direction) * 3.0) + np.array([0.1, 0.02, -0.03])
        x, y, z = direction
        own = LENSES[model].project(np.array([-y, -z, x]) * 3.0, (640, 480))
        point = TURN.inv().apply(body - IMU_PLACE)
        # Kalibr counts from the centre of the first pixel.
        np.testing.assert_allclose(seen(chain["cam0"], point), own - 0.5, atol=1e-9)


def test_stereo_cameras_form_a_chain():
    """The right camera would be on the left side, or the chain's transforms would not agree."""
    vehicle = Multirotor(
        "iris", sensors={"imu": IMU(), "pair": StereoCamera(baseline=0.12), "down": Camera()}
    )
    chain = read_back(camera_chain(vehicle))
    assert list(chain) == ["cam0", "cam1", "cam2"]
    assert "T_cn_cnm1" not in chain["cam0"]
    step = np.array(chain["cam1"]["T_cn_cnm1"])
    np.testing.assert_allclose(step, [[1, 0, 0, -0.12], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-12)
    for k in (1, 2):
        last, here = (np.array(chain[f"cam{n}"]["T_cam_imu"]) for n in (k - 1, k))
        np.testing.assert_allclose(np.array(chain[f"cam{k}"]["T_cn_cnm1"]) @ last, here, atol=1e-12)
    assert chain["cam1"]["rostopic"] == "/iris/pair/right/color/image_raw"
    assert chain["cam1"]["cam_overlaps"] == [0, 2]


def test_the_imu_has_its_rate_and_noise():
    """Gyroscope and accelerometer, or density and random walk, would be exchanged."""
    imu = IMU(
        rate_hz=200.0,
        gyroscope=Gyroscope(noise_density=1e-4, bias_random_walk=2e-5),
        accelerometer=Accelerometer(noise_density=3e-3, bias_random_walk=4e-4),
    )
    assert read_back(imu_parameters(Multirotor("iris", sensors={"first": imu, "second": IMU()}))) == {
        "rostopic": "/iris/sensors/imu",
        "update_rate": 200.0,
        "accelerometer_noise_density": 3e-3,
        "accelerometer_random_walk": 4e-4,
        "gyroscope_noise_density": 1e-4,
        "gyroscope_random_walk": 2e-5,
    }


def test_what_kalibr_does_not_have_is_named():
    """Kalibr would be given a file that it rejects or misreads."""
    with pytest.raises(ConfigError, match="has no IMU"):
        imu_parameters(Multirotor("iris", sensors={}))
    with pytest.raises(ConfigError, match="has no camera"):
        camera_chain(Multirotor("iris", sensors={"imu": IMU()}))
    quiet = IMU(gyroscope=Gyroscope(bias_random_walk=0.0))
    with pytest.raises(ConfigError, match=r"sensors\.imu\.gyroscope\.bias_random_walk"):
        imu_parameters(Multirotor("iris", sensors={"imu": quiet}))
    lens = BrownConrady(horizontal_fov=1.2, k3=0.1)
    with pytest.raises(ConfigError, match=r"sensors\.front\.lens"):
        camera_chain(Multirotor("iris", sensors={"imu": IMU(), "front": Camera(lens=lens)}))
