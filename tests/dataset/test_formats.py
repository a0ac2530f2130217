"""Tests of YOLO, EuRoC, TUM and WebDataset, read as their documented formats, and of custom writers."""

import io
import itertools
import tarfile

import numpy as np
import orjson
import pytest
import yaml
from analytic_scenes import AnalyticRenderer, Solid, looking, pose, turn
from dataset_runs import write_scenario
from PIL import Image
from scipy.spatial.transform import Rotation

from pegasus.base.errors import ConfigError
from pegasus.dataset import tight_boxes
from pegasus.dataset.generation import make_dataset
from pegasus.dataset.recipe import WRITERS
from pegasus.labels.annotations import ImuTrack, Motion

BOX = Solid("/World/box", "box", (0.3, 0.4, 0.5), pose((4, -0.5, 0.2), turn((1, 2, 3), 0.7)))
BALL = Solid("/World/ball", "ball", 0.2, pose((2, -0.1, 0.1)))
MOUNT = pose((0.01, 0.02, 0.03), turn((0, 0, 1), 0.1))
NOISE = np.array([200.0, 1.7e-4, 1.9e-5, 2e-3, 3e-3])
TO_BODY = pose((0.2, 0, -0.1), looking((0, 0, 0), 0.1, 0.2).rotation)


def frame_at(number, scene=0, **fields):
    """Return a frame of a body that flies along x, with five readings of its IMU since the frame before."""
    rng = np.random.default_rng(number)
    stamp = 0.1 * number
    body = pose((0.1 * number, 0, 0), turn((0, 0, 1), 0.02 * number))
    camera = body @ TO_BODY
    view = looking(camera[:3, 3])
    view = type(view)(view.lens, view.resolution, camera[:3, 3], camera[:3, :3])
    quaternion = Rotation.from_matrix(body[:3, :3]).as_quat()
    times = stamp + np.linspace(-0.08, 0.0, 5)
    track = ImuTrack(
        *(times, rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 3))),
        *(np.tile(quaternion, (5, 1)), rng.normal(size=(5, 3))),
        *(rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), MOUNT, NOISE),
    )
    motion = Motion(body[:3, 3], quaternion, np.array([1.0, 0, 0]), track)
    given = {"stamp": stamp, "scene": scene, "motion": motion, "regions": ("wall",), **fields}
    return AnalyticRenderer(BOX, BALL).frame(view, **given)


def written(name, folder, frames):
    writer = WRITERS[name](folder)
    for index, frame in frames:
        writer.write(index, [frame])
    writer.finish()
    return writer


def rows(file, separator=","):
    lines = file.read_text().splitlines()
    assert lines[0].startswith("#")
    return [line.split(separator) for line in lines[1:]]


def test_yolo_boxes_are_those_of_the_pixels(tmp_path):
    """A detector would be trained on shifted boxes, or on frames of a flight that it is validated on."""
    frames = [(k, frame_at(k, scene=8 + k)) for k in range(3)]
    written("yolo", tmp_path, frames)
    data = yaml.safe_load((tmp_path / "data.yaml").read_text())
    assert data["names"] == {0: "ball", 1: "box"}
    for index, frame in frames:
        split = "val" if index == 1 else "train"
        image = np.asarray(Image.open(tmp_path / data[split] / f"{index:06d}.png"))
        np.testing.assert_array_equal(image, frame.rgb)
        lines = (tmp_path / "labels" / split / f"{index:06d}.txt").read_text().splitlines()
        boxes = tight_boxes(frame.images.entity, 2)
        for line, k, number in zip(lines, (0, 1), (1, 0), strict=True):
            name, x, y, width, height = map(float, line.split())
            assert name == number
            x_min, y_min, x_max, y_max = boxes[k]
            sides = np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2])
            found = sides * ([160, 120] * 2)
            np.testing.assert_allclose(found, [x_min, y_min, x_max + 1, y_max + 1], atol=1e-3)


def test_euroc_tables_and_calibration_agree_with_the_frames(tmp_path):
    """Odometry would be run with other times, poses or calibration than those of the images."""
    frames = [frame_at(k, scene=k // 3) for k in range(6)]
    written("euroc", tmp_path, reversed(list(enumerate(frames))))
    place = tmp_path / "sequence_0001" / "mav0"
    images = rows(place / "cam0" / "data.csv")
    assert [int(time) for time, _ in images] == [300_000_000, 400_000_000, 500_000_000]
    picture = np.asarray(Image.open(place / "cam0" / "data" / images[1][1]))
    np.testing.assert_array_equal(picture, frames[4].rgb)
    imu = np.array(rows(place / "imu0" / "data.csv"), float)
    tracks = [frame.motion.imu for frame in frames[3:]]
    np.testing.assert_allclose(imu[:, 0], 1e9 * np.concatenate([t.time for t in tracks]), atol=1)
    np.testing.assert_array_equal(imu[:, 1:4], np.concatenate([t.angular_velocity for t in tracks]))
    np.testing.assert_array_equal(imu[:, 4:], np.concatenate([t.specific_force for t in tracks]))
    truth = np.array(rows(place / "state_groundtruth_estimate0" / "data.csv"), float)
    np.testing.assert_array_equal(truth[:, 0], imu[:, 0])
    np.testing.assert_array_equal(truth[:, 1:4], np.concatenate([t.position for t in tracks]))
    turned = Rotation.from_quat(truth[:, [5, 6, 7, 4]])
    expected = Rotation.from_quat(np.concatenate([t.orientation for t in tracks]))
    np.testing.assert_allclose((turned * expected.inv()).magnitude(), 0.0, atol=1e-9)
    np.testing.assert_array_equal(truth[:, 8:11], np.concatenate([t.velocity for t in tracks]))
    np.testing.assert_array_equal(truth[:, 11:14], np.concatenate([t.gyroscope_bias for t in tracks]))
    np.testing.assert_array_equal(truth[:, 14:], np.concatenate([t.accelerometer_bias for t in tracks]))
    camera = yaml.safe_load((place / "cam0" / "sensor.yaml").read_text())
    np.testing.assert_allclose(np.reshape(camera["T_BS"]["data"], (4, 4)), TO_BODY, atol=1e-12)
    assert camera["intrinsics"] == [150.0, 150.0, 79.5, 59.5]
    assert camera["rate_hz"] == pytest.approx(10.0)
    imu_yaml = yaml.safe_load((place / "imu0" / "sensor.yaml").read_text())
    np.testing.assert_allclose(np.reshape(imu_yaml["T_BS"]["data"], (4, 4)), MOUNT)
    names = "rate_hz", "gyroscope_noise_density", "gyroscope_random_walk"
    assert [imu_yaml[name] for name in names] == NOISE[:3].tolist()
    names = "accelerometer_noise_density", "accelerometer_random_walk"
    assert [imu_yaml[name] for name in names] == NOISE[3:].tolist()
    kalibr = yaml.safe_load((place.parent / "imu.yaml").read_text())
    assert {name: kalibr[name] for name in names} == dict(zip(names, NOISE[3:].tolist(), strict=True))
    assert kalibr["update_rate"] == 200.0
    chain = yaml.safe_load((place.parent / "camchain.yaml").read_text())["cam0"]
    np.testing.assert_allclose(chain["T_cam_imu"], np.linalg.inv(TO_BODY) @ MOUNT, atol=1e-12)
    assert (chain["intrinsics"], chain["resolution"]) == ([150.0, 150.0, 79.5, 59.5], [160, 120])


def test_tum_lists_pair_images_and_poses(tmp_path):
    """Depth would have another scale, or the trajectory be that of the body and not of the camera."""
    frames = [frame_at(k) for k in range(3)]
    written("tum", tmp_path, enumerate(frames))
    place = tmp_path / "sequence_0000"
    truth = np.array(rows(place / "groundtruth.txt", " "), float)
    for frame, pair, pose7 in zip(frames, rows(place / "depth.txt", " "), truth, strict=True):
        assert float(pair[0]) == pose7[0] == pytest.approx(frame.stamp)
        np.testing.assert_allclose(pose7[1:4], frame.view.position)
        np.testing.assert_allclose(Rotation.from_quat(pose7[4:]).as_matrix(), frame.view.rotation, atol=1e-9)
        depth = np.asarray(Image.open(place / pair[1])) / 5000.0
        expected = frame.images.distance * frame.directions[..., 2]
        seen = np.isfinite(expected)
        np.testing.assert_allclose(depth[seen], expected[seen], atol=1.1e-4)
        assert (depth[~seen] == 0).all()
    assert len(rows(place / "accelerometer.txt", " ")) == 15


def test_trajectories_follow_the_rules_of_their_readers(tmp_path):
    """Programs that evaluate odometry (evo 1.38, by which this was tried) would refuse the files."""
    frames = [frame_at(k) for k in range(1, 6)]
    for name, file, separator, unit in (
        ("tum", "groundtruth.txt", " ", 1.0),
        ("euroc", "mav0/state_groundtruth_estimate0/data.csv", ",", 1e-9),
    ):
        written(name, tmp_path / name, enumerate(frames))
        text = (tmp_path / name / "sequence_0000" / file).read_text()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        fields = [line.split(separator) for line in lines]
        # evo: 8 fields for TUM, 8 or more for EuRoC, none of them empty; EuRoC's own files have 17.
        assert {len(row) for row in fields} == ({8} if name == "tum" else {17})
        values = np.array(fields, float)
        assert np.isfinite(values).all()
        stamps, quaternions = unit * values[:, 0], values[:, 4:8]
        assert (np.diff(stamps) > 0.0).all()
        assert stamps[-1] == pytest.approx(frames[-1].stamp)
        np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, atol=1e-9)
        if name == "euroc":
            assert all(row[0].lstrip("-").isdecimal() for row in fields)


def test_webdataset_groups_the_files_of_a_sample(tmp_path):
    """Files of a sample would not follow each other, or a shard that grows differ from one made at once."""
    frames = {index: frame_at(index % 5) for index in (0, 1, 2, 100)}
    written("webdataset", tmp_path / "whole", frames.items())
    written("webdataset", tmp_path / "grown", list(frames.items())[1::-1])
    again = WRITERS["webdataset"](tmp_path / "grown", resume=True)
    assert again.written() == {0, 1}
    for index in (100, 2):
        again.write(index, [frames[index]])
    again.finish()
    assert again.written() == set(frames)
    for name in ("shards/000000.tar", "shards/000001.tar"):
        assert (tmp_path / "grown" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    with tarfile.open(tmp_path / "whole" / "shards" / "000000.tar") as shard:
        names = shard.getnames()
        content = {name: shard.extractfile(name).read() for name in names}
    samples = [list(group) for _, group in itertools.groupby(names, key=lambda name: name.split(".", 1)[0])]
    assert [len(sample) for sample in samples] == [4, 4, 4]
    picture = np.asarray(Image.open(io.BytesIO(content["000001.png"])))
    np.testing.assert_array_equal(picture, frames[1].rgb)
    labels = orjson.loads(content["000001.json"])
    assert [item["class"] for item in labels["objects"]] == ["box", "ball"]
    depth = np.load(io.BytesIO(content["000001.depth.npy"]))
    np.testing.assert_allclose(depth, frames[1].images.distance * frames[1].directions[..., 2], rtol=1e-6)


CUSTOM = '''
from pegasus.dataset import DatasetWriter


class Stamps(DatasetWriter):
    """Writer of a text file for each frame, and of a list of all times."""

    def files(self, index, frames, own):
        own["stamp"] = frames[0].stamp
        return {f"{index}.txt": f"{frames[0].stamp:.3f}".encode()}

    def dataset_files(self, records):
        return {"all.txt": " ".join(f"{record['own']['stamp']:.3f}" for record in records).encode()}


class NoWriter:
    pass
'''


def test_a_writer_in_one_file_is_used_by_its_path(tmp_path, monkeypatch):
    """A format of user code would need changes of the package, or be lost in the workers."""
    pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
    pytest.importorskip("warp", reason="needs warp-lang: pip install pegasus-multirotor[render]")
    (tmp_path / "stamp_writer.py").write_text(CUSTOM)
    monkeypatch.syspath_prepend(str(tmp_path))
    file = write_scenario(
        tmp_path,
        dataset={
            "writer": "stamp_writer:Stamps",
            "frames_per_scene": 3,
            "frame_rate": 10.0,
            "start": 0.7,
            "randomizers": {},
        },
    )
    make_dataset(file, tmp_path / "out", frames=3, workers=1)
    assert (tmp_path / "out" / "all.txt").read_text() == "0.700 0.800 0.900"


@pytest.mark.parametrize(
    ("writer", "message"),
    [
        ("voc", "'voc': must be one of basic, coco, euroc, kitti, tum, webdataset, yolo; or package.module"),
        ("nowhere:Writer", "writer = 'nowhere:Writer': cannot be imported"),
        ("pathlib:Path", "must be a class derived from DatasetWriter"),
    ],
)
def test_unknown_writers_are_one_line(tmp_path, writer, message):
    """A mistyped writer would end in a traceback."""
    with pytest.raises(ConfigError, match=message) as caught:
        make_dataset(write_scenario(tmp_path), tmp_path / "out", frames=1, writer=writer)
    assert "\n" not in str(caught.value)
