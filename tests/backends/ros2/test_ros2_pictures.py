"""Tests of images, calibrations and point clouds on ROS 2, which are rendered only for subscribers."""

import math
from importlib.util import find_spec

import numpy as np
import pytest
from analytic_renderer import GROUND, AnalyticRenderer, Plane
from ros2_types import Header

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import ROS2
from pegasus.backends.ros2.images import camera_info, image
from pegasus.cameras import BrownConrady, Camera, KannalaBrandt, Lidar, Pinhole, PointCloud, StereoCamera
from pegasus.cameras.lidar_scan import ScanCapture
from pegasus.core.visuals import Visuals
from tests.waits import wait_until

pytest.importorskip("cyclonedds")
# The same tests run over rclpy where ROS 2 is installed.
TRANSPORT = "rclpy" if find_spec("rclpy") else "cyclonedds"
pytestmark = pytest.mark.usefixtures("domain")

WIDTH, HEIGHT = 16, 12
WALL = Plane((-1.0, 0.0, 0.0), -5.0, "/World/wall", "wall")


class Witness:
    """A backend that keeps the readings by sensor and stamp."""

    def __init__(self):
        self.readings = {}

    def start(self, simulation):
        """Do nothing."""

    def record(self, simulation):
        for vehicle in simulation.vehicles:
            for name, reading in vehicle.new_readings.items():
                self.readings[name, round(simulation.time * 1e9)] = reading

    def stop(self):
        """Do nothing."""


def newest(sim, peer, topic, kind, qos="best_effort"):
    """Step until a message comes on a topic, and return it with its stamp [ns]."""
    peer.ask("listen", topic=topic, kind=kind, qos=qos)
    found = []
    wait_until(lambda: sim.step(10) and (found.extend(peer.ask("take", topic=topic)) or found))
    peer.ask("ignore", topic=topic)
    stamp = found[-1]["header"]["stamp"]
    return found[-1], stamp["sec"] * 10**9 + stamp["nanosec"]


def test_readers_choose_whether_lost_pictures_are_sent_again(peer):
    """Subscribers could not choose between reliable and best-effort images."""
    eye = Camera(resolution=(4, 4), outputs=("rgb", "depth", "point_cloud"), rate_hz=25.0)
    topics = {"eye/depth/image_raw": {"reliable": False}}
    backend = ROS2("p0", control=False, transport=TRANSPORT, topics=topics)
    names = {
        "/p0/eye/color/image_raw": True,
        "/p0/eye/points": True,
        "/p0/top/points": True,
        "/p0/eye/depth/image_raw": False,
    }
    with Simulation("flat", renderer=AnalyticRenderer()) as sim:
        sim.add(Multirotor("iris", sensors={"eye": eye, "top": Lidar()}, backends=[backend]))
        wait_until(
            lambda: (
                {f"rt{name}" for name in names}
                <= set(peer.ask("nodes").get("/p0/pegasus", {"writes": ()})["writes"])
            )
        )
        assert {name: peer.ask("endpoint", topic=name)["reliable"] for name in names} == names
        for qos in "reliable", "best_effort":
            picture, _ = newest(sim, peer, "/p0/eye/color/image_raw", "Image", qos)
            assert picture["width"] == 4


def test_pictures_and_points(peer):
    """Pixels, depths or calibrations would differ from the sensors, or be rendered without subscribers."""
    renderer, witness = AnalyticRenderer(planes=(GROUND, WALL)), Witness()
    front = StereoCamera(
        resolution=(WIDTH, HEIGHT), outputs=("rgb", "depth", "semantic"), rate_hz=25.0, baseline=0.2
    )
    down = Camera(
        resolution=(4, 4),
        outputs=("point_cloud", "normals"),
        rate_hz=25.0,
        orientation=(0.0, math.pi / 2, 0.0),
    )
    sensors = {"front": front, "down": down}
    backend = ROS2("d0", control=False, transport=TRANSPORT)
    with Simulation("flat", renderer=renderer, observers=[witness]) as sim:
        sim.add(Multirotor("iris", position=(0, 0, 40), sensors=sensors, backends=[backend]))
        sim.step(60)
        assert (renderer.render_count, renderer.cast_count) == (0, 0)
        late, _ = newest(sim, peer, "/d0/front/right/color/camera_info", "CameraInfo", "latched")
        assert renderer.render_count == 0
        picture, stamp = newest(sim, peer, "/d0/front/left/color/image_raw", "Image")
        assert picture["header"]["frame_id"] == "d0/front_left_optical"
        assert (picture["encoding"], picture["width"], picture["height"]) == ("rgb8", WIDTH, HEIGHT)
        assert picture["step"] == 3 * WIDTH
        truth = witness.readings["front", stamp].rgb[0]
        assert bytes(picture["data"]) == truth.tobytes()
        depth, stamp = newest(sim, peer, "/d0/front/right/depth/image_raw", "Image")
        assert (depth["encoding"], depth["step"]) == ("32FC1", 4 * WIDTH)
        truth = witness.readings["front", stamp].right.depth[0]
        np.testing.assert_array_equal(
            np.frombuffer(bytes(depth["data"]), "<f4").reshape(HEIGHT, WIDTH), truth
        )
        assert np.isfinite(truth).any()
        ids, stamp = newest(sim, peer, "/d0/front/left/semantic/image_raw", "Image")
        assert ids["encoding"] == "16UC1"
        truth = witness.readings["front", stamp].semantic[0]
        assert np.frombuffer(bytes(ids["data"]), "<u2").tolist() == truth.ravel().tolist()
        points, stamp = newest(sim, peer, "/d0/down/points", "PointCloud2")
        assert (points["header"]["frame_id"], points["height"], points["width"]) == ("d0/down_optical", 4, 4)
        truth = witness.readings["down", stamp].point_cloud[0]
        np.testing.assert_array_equal(np.frombuffer(bytes(points["data"]), "<f4"), truth.ravel())
        normals, _ = newest(sim, peer, "/d0/down/normals/image_raw", "Image")
        assert normals["encoding"] == "32FC3"
    focal = WIDTH / 2 / math.tan(math.radians(35.0))
    # The centre of the first pixel is (0, 0); that of the image is at 7.5 and 5.5.
    np.testing.assert_allclose(late["k"], [focal, 0, 7.5, 0, focal, 5.5, 0, 0, 1], rtol=1e-12)
    np.testing.assert_allclose(late["p"], [focal, 0, 7.5, -0.2 * focal, 0, focal, 5.5, 0, 0, 0, 1, 0])
    assert (late["distortion_model"], late["d"], late["r"]) == (
        "plumb_bob",
        [0.0] * 5,
        [1, 0, 0, 0, 1, 0, 0, 0, 1],
    )
    assert late["header"]["frame_id"] == "d0/front_right_optical"


def test_points_of_a_lidar(peer, monkeypatch):
    """Points would have fields that viewers do not read, or another frame than stated."""
    count = 20
    numbers = np.random.default_rng(1)
    points = numbers.normal(size=(count, 3))
    truth = PointCloud(
        points=points,
        world_points=points + 100.0,
        range=np.sqrt((points**2).sum(axis=1)),
        intensity=numbers.uniform(size=count),
        ring=numbers.integers(16, size=count).astype(np.int32),
        column=np.arange(count, dtype=np.int32),
        time_offset=np.linspace(-0.1, 0.0, count),
        entity=np.zeros(count, np.int32),
    )
    # Tests of the renderers cover ray casting; this one covers the message.
    monkeypatch.setattr(ScanCapture, "cloud", lambda self, copy: truth)  # noqa: ARG005
    backend = ROS2("d2", control=False, transport=TRANSPORT)
    with Simulation("flat", renderer=AnalyticRenderer()) as sim:
        sim.add(Multirotor("iris", sensors={"top": Lidar()}, backends=[backend]))
        scan, _ = newest(sim, peer, "/d2/top/points", "PointCloud2")
        check_scan(scan, truth)


def check_scan(scan, cloud):
    """Compare a message with the points of its scan."""
    assert (scan["header"]["frame_id"], scan["height"], scan["is_dense"]) == ("d2/top", 1, True)
    layout = {item["name"]: (item["offset"], item["datatype"], item["count"]) for item in scan["fields"]}
    # Data types of sensor_msgs/PointField: 4 is uint16, 7 is float32.
    assert layout == {
        "x": (0, 7, 1),
        "y": (4, 7, 1),
        "z": (8, 7, 1),
        "intensity": (12, 7, 1),
        "ring": (16, 4, 1),
        "time": (18, 7, 1),
    }
    assert scan["row_step"] == scan["width"] * scan["point_step"] == len(scan["data"])
    forms = [("xyz", "<f4", 3), ("intensity", "<f4"), ("ring", "<u2"), ("time", "<f4")]
    rows = np.frombuffer(bytes(scan["data"]), forms)
    assert len(rows) == len(cloud.range) > 10
    np.testing.assert_allclose(rows["xyz"], cloud.points, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(rows["intensity"], cloud.intensity, rtol=1e-6)
    assert rows["ring"].tolist() == cloud.ring.tolist()
    np.testing.assert_allclose(rows["time"], cloud.time_offset, atol=1e-7)
    assert np.float32(-0.1) <= rows["time"].min() <= rows["time"].max() <= 0.0


def test_a_picture_that_cannot_be_drawn_ends_nobodys_flight(peer, caplog, monkeypatch):
    """A subscriber to a camera without a renderer would end the run."""
    camera = Camera(resolution=(8, 8), rate_hz=50.0)
    with Simulation("flat", renderer=AnalyticRenderer()) as sim:
        backend = ROS2("d1", control=False, transport=TRANSPORT)
        sim.add(Multirotor("iris", sensors={"front": camera}, backends=[backend]))

        def fail(*_, **__):
            raise ConfigError("needs the extra render", field="renderer")

        monkeypatch.setattr(AnalyticRenderer, "render", fail)
        peer.ask("listen", topic="/d1/front/color/image_raw", kind="Image")
        wait_until(lambda: sim.step(10) and caplog.records)
        sim.step(50)
        peer.ask("ignore", topic="/d1/front/color/image_raw")
    (line,) = [record.getMessage() for record in caplog.records]
    assert "front/color/image_raw is no longer published: renderer: needs the extra render" in line


def test_the_renderer_is_made_before_the_run(monkeypatch):
    """The first subscription would stop the simulation and its clock while kernels are compiled."""
    made = []

    def load(visuals):
        made.append(visuals)
        raise ConfigError("needs the extra render", field="renderer")

    monkeypatch.setattr(Visuals, "load", load)
    for sensors, expected in (({"front": Camera(resolution=(8, 8))}, 1), ({}, 0)):
        made.clear()
        with Simulation("flat") as sim:
            backend = ROS2("d2", control=False, transport=TRANSPORT)
            sim.add(Multirotor("iris", sensors=sensors, backends=[backend]))
            sim.step()
            assert made == [sim.visuals] * expected
            sim.step(10)
            assert len(made) == expected


@pytest.mark.parametrize(
    ("lens", "model", "coefficients"),
    [
        (Pinhole(horizontal_fov=1.0), "plumb_bob", [0.0] * 5),
        (BrownConrady(horizontal_fov=1, k1=0.1, p1=0.3, k3=0.5), "plumb_bob", [0.1, 0, 0.3, 0, 0.5]),
        (BrownConrady(horizontal_fov=1, k1=0.1, k4=0.2), "rational_polynomial", [0.1, 0, 0, 0, 0, 0.2, 0, 0]),
        (KannalaBrandt(horizontal_fov=1.0, k1=0.01, k2=0.02), "equidistant", [0.01, 0.02, 0, 0]),
    ],
)  # fmt: skip
def test_names_of_distortion(lens, model, coefficients):
    """A rectifier would use the wrong distortion model (sensor_msgs/distortion_models)."""
    witness = Witness()
    with Simulation("flat", renderer=AnalyticRenderer(), observers=[witness]) as sim:
        sim.add(Multirotor("iris", sensors={"eye": Camera(lens=lens, resolution=(8, 6))}))
        sim.step()
    info = camera_info(witness.readings["eye", 0], Header(), baseline=0.0)
    assert (info.distortion_model, info.d.tolist()) == (model, coefficients)
    assert (info.width, info.height) == (8, 6)


def test_ids_beyond_16_bits_are_the_largest():
    """An id above 65535 would wrap to the id of another object."""
    message = image(np.array([[1, 70000]], np.uint32), Header())
    assert np.frombuffer(message.data, "<u2").tolist() == [1, 65535]
