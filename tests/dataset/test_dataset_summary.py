"""Tests of the metadata of frames, and of the README and samples of a dataset."""

import io
import itertools

import numpy as np
import orjson
import pytest
from analytic_scenes import AnalyticRenderer, Solid, looking, pose
from dataset_runs import write_scenario
from PIL import Image
from scipy.spatial.transform import Rotation

from pegasus.config.files import load_scenario
from pegasus.dataset import CocoWriter
from pegasus.dataset.episode import Episode, plan_of
from pegasus.dataset.recipe import Recipe

BOX = Solid("/World/box", "box", (0.3, 0.4, 0.5), pose((4, -0.5, 0.2)))
BALL = Solid("/World/ball", "ball", 0.2, pose((2, -0.1, 0.1)))

pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
pytest.importorskip("warp", reason="needs warp-lang: pip install pegasus-multirotor[render]")


@pytest.fixture(scope="module")
def sequence(tmp_path_factory):
    """Frames of a sequence of a falling and flying observer, and its recipe."""
    randomizers = {
        "sun": {"model": "sun"},
        "tour": {"model": "flights", "vehicles": ["observer"], "speed": [3.0, 4.0]},
        "mount": {"model": "camera_jitter", "orientation": 0.05},
    }
    settings = {"frames_per_scene": None, "frame_rate": 10.0, "start": 0.2, "randomizers": randomizers}
    file = write_scenario(tmp_path_factory.mktemp("scenario"), duration=0.8, dataset=settings)
    spec, path = load_scenario(file)
    recipe = Recipe(spec, path, seed=3, frame_count=12, writer="coco", renderer="embree")
    plan = plan_of(recipe)
    with Episode(recipe, 1) as episode:
        return recipe, plan, [frame for _, (frame,) in episode.frames(range(6, 12), plan.classes)]


def test_imu_readings_between_frames_lead_from_one_to_the_next(sequence):
    """Readings would be missing or counted twice, or poses be those of other instants."""
    _, _, frames = sequence
    np.testing.assert_allclose([frame.stamp for frame in frames], 0.2 + 0.1 * np.arange(6), atol=1e-12)
    for before, after in itertools.pairwise(frames):
        imu = after.motion.imu
        np.testing.assert_allclose(imu.time, before.stamp + 0.004 * np.arange(1, 26), atol=1e-9)
        np.testing.assert_array_equal(imu.position[-1], after.motion.position)
        turned, fell = Rotation.from_quat(before.motion.orientation), before.motion.velocity
        rates, forces = imu.angular_velocity - imu.gyroscope_bias, imu.specific_force - imu.accelerometer_bias
        for rate, force in zip(rates, forces, strict=True):
            half = turned * Rotation.from_rotvec(0.002 * rate)
            fell = fell + 0.004 * (half.apply(force) - [0, 0, 9.81])
            turned = turned * Rotation.from_rotvec(0.004 * rate)
        # White noise of the shipped IMU over 0.1 s has sigmas of 1.1e-4 rad and 1.3e-3 m/s; biases are gone.
        assert (Rotation.from_quat(after.motion.orientation) * turned.inv()).magnitude() < 6e-4
        np.testing.assert_allclose(fell, after.motion.velocity, atol=7e-3)


def test_values_of_randomizers_are_those_of_the_scene(sequence):
    """A frame's values of light, flight or camera would not be those with which it was made."""
    recipe, _, frames = sequence
    sun = frames[0].randomized["sun"]
    with Episode(recipe, 1) as episode:
        (light,) = [item for item in episode.simulation.scene.lights if item.kind == "DistantLight"]
    east, north, up = light.transform[:3, 2]
    assert np.arctan2(east, north) % (2 * np.pi) == pytest.approx(sun["azimuth"])
    assert np.arcsin(up) == pytest.approx(sun["elevation"])
    turns = [frame.randomized["mount"]["observer_front"]["orientation"] for frame in frames]
    assert all(turn == turns[0] for turn in turns)
    mount = np.array([frame.view.rotation.T for frame in frames]) @ np.array(
        [Rotation.from_quat(frame.motion.orientation).as_matrix() for frame in frames]
    )
    # The camera of a sequence is one rigid body with the vehicle, turned by what was drawn.
    np.testing.assert_allclose(mount, mount[:1].repeat(6, axis=0), atol=1e-9)
    assert 3.0 <= frames[0].randomized["tour"]["observer"]["speed"] <= 4.0


def test_the_readme_counts_what_is_there(tmp_path):
    """The README would state other counts than the labels, or have no samples."""
    writer = CocoWriter(tmp_path)
    solids = (BOX, BALL), (BOX,), (BALL,)
    for index, shown in enumerate(solids):
        writer.write(index, [AnalyticRenderer(*shown).frame(looking((0, 0, 0)), scene=index // 2)])
    writer.finish()
    text = (tmp_path / "README.md").read_text()
    assert "3 frames of 2 scenes, 3 images, 4 visible objects of 2 classes." in text
    lines = [orjson.loads(line) for line in (tmp_path / "frames.jsonl").read_text().splitlines()]
    for name in ("ball", "box"):
        found = [o for f in lines for o in f["cameras"]["camera"]["objects"] if o["class"] == name]
        area = np.median([item["pixels"] for item in found])
        assert f"| {name} | 2 | 2 | {area:g} |" in text
    assert [line["scene"] for line in lines] == [0, 0, 1]
    sheet = Image.open(io.BytesIO((tmp_path / "samples.jpg").read_bytes()))
    assert sheet.size == (3 * 320, 240)
