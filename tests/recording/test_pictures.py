"""Tests of recorded images and point clouds, and of rendering only what is recorded or read."""

import io

import numpy as np
import pytest
from analytic_renderer import GROUND, AnalyticRenderer, Plane
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from PIL import Image

from pegasus import McapRecorder, Multirotor, Simulation, read_log
from pegasus.base.frames import matrix_from_quaternion
from pegasus.cameras import BrownConrady, Camera, KannalaBrandt, Lidar, Pinhole, Raster, StereoCamera
from pegasus.optics.lens import distortion_model
from tests.flyers import PLAIN_IRIS

MORE = ("motion_vectors", "point_cloud")
WALL = Plane((1.0, 0.0, 0.0), 5.0, "/World/wall", "wall")


def flown(path, sensors, *, images=True, count=1, steps=26):
    renderer = AnalyticRenderer(planes=(GROUND, WALL))
    with Simulation("flat", renderer=renderer, observers=[McapRecorder(path, images=images)]) as sim:
        iris = sim.add(Multirotor(PLAIN_IRIS, position=(0, 0, 2.0), sensors=sensors, count=count))
        renderer.materials = (next(iter(sim.scene.materials.values())).path,)
        kept = []
        for _ in range(steps):
            sim.step()
            new = iris.new_readings.items()
            kept += [(name, reading, getattr(reading, "cameras", {})) for name, reading in new]
            for *_, cameras in kept:
                for camera in cameras.values():
                    _ = [camera.images(output) for output in camera.outputs if images]
    with path.open("rb") as file:
        messages = [
            (schema.name, channel.topic, message.log_time, content)
            for schema, channel, message, content in make_reader(
                file, validate_crcs=True, decoder_factories=[DecoderFactory()]
            ).iter_decoded_messages()
        ]
    return kept, messages, renderer


def test_pictures_come_back(tmp_path):
    """A recorded image would differ from the captured one, or have a wrong time or pose."""
    lens = BrownConrady(horizontal_fov=1.2, k1=-0.2, k2=0.1, p1=0.01, p2=0.02, k3=0.03)
    camera = Camera(
        lens=lens,
        resolution=(32, 24),
        rate_hz=50.0,
        outputs=("rgb", "depth", "semantic", "normals", *MORE),
        far=5.5,
    )
    kept, messages, _ = flown(tmp_path / "a.mcap", {"front": camera})
    assert len(kept) == 6
    by_topic = {}
    for schema, topic, time, content in messages:
        by_topic.setdefault(topic.removeprefix("/iris/sensors/front/"), []).append((schema, time, content))
    assert {"tf", "calibration", "rgb", "distance_to_image_plane", "semantic_segmentation"} <= by_topic.keys()
    for k, (_, reading, _) in enumerate(kept):
        for topic, kind in (("rgb", "CompressedImage"), ("distance_to_image_plane", "RawImage")):
            schema, time, content = by_topic[topic][k]
            assert schema == f"foxglove_msgs/msg/{kind}"
            assert time == round(reading.stamp * 1e9)
            assert (content.timestamp.sec, content.timestamp.nanosec) == (0, time)
            assert content.frame_id == "iris/front"
        data = by_topic["rgb"][k][2].data
        picture = np.asarray(Image.open(io.BytesIO(data))).astype(int)
        assert np.abs(picture - reading.rgb[0]).mean() < 4
        depth = by_topic["distance_to_image_plane"][k][2]
        assert (depth.encoding, depth.step) == ("32FC1", 128)
        read = np.frombuffer(depth.data, "<f4").reshape(24, 32)
        assert np.array_equal(read, reading.depth[0])
        ids = by_topic["semantic_segmentation"][k][2]
        assert ids.encoding == "16UC1"
        read = np.frombuffer(ids.data, "<u2").reshape(24, 32)
        assert np.array_equal(read, reading.semantic[0])
        normals = Image.open(io.BytesIO(by_topic["normals"][k][2].data))
        assert by_topic["normals"][k][2].format == "png"
        assert np.abs(np.asarray(normals) / 127.5 - 1.0 - reading.normals[0]).max() <= 1 / 255 + 1e-6
        for axis, name in enumerate("xy"):
            flow = by_topic[f"motion_vectors/{name}"][k][2]
            read = np.frombuffer(flow.data, "<f4").reshape(24, 32)
            assert np.array_equal(read, reading.motion_vectors[0, ..., axis], equal_nan=True)
        assert by_topic["point_cloud"][k][0] == "foxglove_msgs/msg/PointCloud"
        points = unpacked(by_topic["point_cloud"][k][2])
        seen = np.isfinite(reading.depth[0])
        assert 0 < seen.sum() < seen.size
        assert np.array_equal(xyz(points), reading.point_cloud[0][seen])
        colors = np.stack([points[name] for name in ("red", "green", "blue", "alpha")], axis=1)
        assert np.array_equal(colors, np.insert(reading.rgb[0][seen], 3, 255, axis=1))
        transform = by_topic["tf"][k][2].transforms[0]
        assert (transform.parent_frame_id, transform.child_frame_id) == ("world", "iris/front")
        assert [getattr(transform.translation, axis) for axis in "xyz"] == reading.position[0].tolist()
        assert [getattr(transform.rotation, axis) for axis in "xyzw"] == reading.orientation[0].tolist()
    calibration = by_topic["calibration"][0][2]
    focal = lens.matrix((32, 24))[0, 0]
    assert calibration.k == [focal, 0, 15.5, 0, focal, 11.5, 0, 0, 1]
    assert calibration.p == [focal, 0, 15.5, 0, 0, focal, 11.5, 0, 0, 0, 1, 0]
    assert calibration.d == [-0.2, 0.1, 0.01, 0.02, 0.03]
    assert calibration.distortion_model == "plumb_bob"
    # The reading itself is recorded without its images, and can be read back.
    log = read_log(tmp_path / "a.mcap")["iris/sensors/front"]
    assert set(log.fields) == {"stamp", "position", "orientation", "intrinsic_matrix"}
    assert log.intrinsic_matrix.shape == (6, 3, 3)


def unpacked(content):
    """Return the points of a cloud, decoded by its own field descriptions."""
    kinds = {1: "u1", 3: "<u2", 7: "<f4"}
    names, kinds, offsets = zip(*[(f.name, kinds[f.type], f.offset) for f in content.fields], strict=True)
    layout = {"names": names, "formats": kinds, "offsets": offsets, "itemsize": content.point_stride}
    return np.frombuffer(content.data, np.dtype(layout))


def xyz(points):
    return np.stack([points[name] for name in "xyz"], axis=1)


def test_points_of_lidars_come_back(tmp_path):
    """A recorded scan would differ from the captured one, or have a wrong pose."""
    lidar = Lidar(pattern=Raster(0.5, 0.5, 7, 5), rate_hz=50.0, motion_distortion=False)
    kept, messages, _ = flown(tmp_path / "a.mcap", {"top": lidar}, count=2, steps=6)
    assert len(kept) == 2
    by_topic = {}
    for schema, topic, time, content in messages:
        by_topic.setdefault(topic, []).append((schema, time, content))
    for copy in (0, 1):
        clouds, frames = (by_topic[f"/iris/sensors/top/{copy}/{leaf}"] for leaf in ("points", "tf"))
        assert len(clouds) == len(kept)
        for (_, reading, _), (schema, time, content), (_, _, transforms) in zip(
            kept, clouds, frames, strict=True
        ):
            assert schema == "foxglove_msgs/msg/PointCloud"
            assert time == round(reading.stamp * 1e9)
            cloud, points = reading.cloud(copy), unpacked(content)
            assert len(points) > 20
            np.testing.assert_array_equal(xyz(points), cloud.points.astype(np.float32))
            for name in ("intensity", "time_offset", "ring"):
                np.testing.assert_array_equal(points[name], getattr(cloud, name).astype(points[name].dtype))
            (transform,) = transforms.transforms
            assert transform.child_frame_id == content.frame_id == f"iris/top/{copy}"
            turn = matrix_from_quaternion(np.array([getattr(transform.rotation, axis) for axis in "xyzw"]))
            place = [getattr(transform.translation, axis) for axis in "xyz"]
            np.testing.assert_allclose(cloud.points @ turn.T + place, cloud.world_points, atol=1e-9)
    log = read_log(tmp_path / "a.mcap")["iris/sensors/top"]
    assert set(log.fields) == {"stamp", "position", "orientation"}


def test_nothing_is_drawn_unless_asked_for(tmp_path):
    """Recording without images would render the cameras and slow the run down."""
    _, messages, renderer = flown(tmp_path / "a.mcap", {"front": Camera(resolution=(32, 24))}, images=False)
    assert renderer.render_count == 0
    assert not any("foxglove_msgs/msg/CompressedImage" in schema for schema, *_ in messages)


def test_copies_and_pairs_have_topics_of_their_own(tmp_path):
    """Images of two copies or of a stereo pair would share one topic."""
    eyes = StereoCamera(resolution=(16, 12), rate_hz=10.0)
    _, messages, _ = flown(tmp_path / "a.mcap", {"eyes": eyes}, count=2, steps=1)
    topics = {topic for _, topic, *_ in messages if topic.endswith("rgb")}
    names = [f"{side}/{copy}" for side in ("left", "right") for copy in (0, 1)]
    assert topics == {f"/iris/sensors/eyes/{name}/rgb" for name in names}
    frames = {content.frame_id for _, topic, _, content in messages if topic.endswith("rgb")}
    assert frames == {f"iris/eyes/{name}" for name in names}


@pytest.mark.parametrize(
    ("lens", "expected"),
    [
        (Pinhole(horizontal_fov=1.0), ("plumb_bob", [0.0] * 5)),
        (BrownConrady(horizontal_fov=1.0, k1=1, k2=2, k3=3, p1=4, p2=5), ("plumb_bob", [1, 2, 4, 5, 3])),
        (
            BrownConrady(horizontal_fov=1.0, k1=1, k2=2, k3=3, k4=6, k5=7, k6=8, p1=4, p2=5),
            ("rational_polynomial", [1, 2, 4, 5, 3, 6, 7, 8]),
        ),
        (
            KannalaBrandt(horizontal_fov=1.0, k1=0.1, k2=0.2, k3=0.3, k4=0.4),
            ("kannala_brandt", [0.1, 0.2, 0.3, 0.4]),
        ),
    ],
)
def test_coefficients_are_in_their_published_order(lens, expected):
    """A viewer would apply the distortion coefficients in a wrong order."""
    assert distortion_model(lens) == expected
