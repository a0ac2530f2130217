"""Tests of dataset generation: independence of frames, resuming, and rejected scenarios."""

import copy
import sys

import numpy as np
import orjson
import pytest
from dataset_runs import SCENARIO, contents, write_scenario

from pegasus.base.errors import ConfigError
from pegasus.config.files import load_scenario
from pegasus.dataset import CocoWriter
from pegasus.dataset.episode import Episode, plan_of
from pegasus.dataset.generation import make_dataset, open_jobs
from pegasus.dataset.recipe import MANIFEST, Plan, Recipe, manifest_of, write_manifest
from pegasus.dataset.writer import FrameFolder


def recipe_of(file, **changes) -> Recipe:
    spec, path = load_scenario(file)
    parts = {"seed": 3, "frame_count": 8, "writer": "basic", "renderer": "embree"}
    return Recipe(scenario=spec, file=path, **(parts | changes))


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return recipe_of(write_scenario(tmp_path_factory.mktemp("scenario")))


def test_frames_are_shared_out_by_scenes(recipe):
    """Frames would be made twice or never, or a finished scene be started again."""
    assert [(job.number, job.indices) for job in open_jobs(recipe, frozenset())] == [
        (0, (0, 1, 2, 3)),
        (1, (4, 5, 6, 7)),
    ]
    assert [(job.number, job.indices) for job in open_jobs(recipe, frozenset({0, 1, 2, 3, 5}))] == [
        (1, (4, 6, 7))
    ]
    assert open_jobs(recipe, frozenset(range(8))) == []


def test_a_frame_does_not_depend_on_the_others(recipe):
    """A resumed dataset would differ from one that was made in a single run."""
    pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
    pytest.importorskip("warp", reason="needs warp-lang: pip install pegasus-multirotor[render]")
    plan = plan_of(recipe)
    assert plan.cameras == ("observer_front",)
    assert "multirotor" in plan.classes
    with Episode(recipe, 1) as episode:
        every = {index: frames[0] for index, frames in episode.frames(range(4, 8), plan.classes)}
    with Episode(recipe, 1) as episode:
        ((index, (alone,)),) = episode.frames([6], plan.classes)
    assert index == 6
    stamps = [every[k].stamp for k in range(4, 8)]
    np.testing.assert_allclose(stamps, [0.0, 0.3, 0.6, 0.9], atol=1e-12)
    for frame in (alone,):
        twin = every[6]
        assert frame.stamp == twin.stamp
        np.testing.assert_array_equal(frame.rgb, twin.rgb)
        np.testing.assert_array_equal(frame.images.entity, twin.images.entity)
        np.testing.assert_array_equal(frame.occlusion, twin.occlusion)
        assert [e.path for e in frame.entities] == [e.path for e in twin.entities]
    # The target is in view, the camera's own vehicle is not, and no two frames are alike.
    paths = [entity.path for entity in alone.entities]
    target, own = paths.index("/World/target"), paths.index("/World/observer")
    shown = [(frame.images.entity == target).sum() for frame in every.values()]
    assert sum(count > 20 for count in shown) >= 3
    assert not any((frame.images.entity == own).any() for frame in every.values())
    assert (every[4].rgb != every[5].rgb).mean() > 0.2
    # The drawn pose is the labelled one: the target's centre is where its pixels are.
    frame = every[4 + int(np.argmax(shown))]
    rows, columns = np.nonzero(frame.images.entity == target)
    seen = frame.view.rotation.T @ (frame.entities[target].pose[:3, 3] - frame.view.position)
    x, y = frame.view.lens.project(seen, frame.view.resolution)
    assert columns.min() - 1 < x < columns.max() + 2
    assert rows.min() - 1 < y < rows.max() + 2


def test_stereo_pairs_and_lidars_are_in_the_frame(tmp_path):
    """A jittered stereo pair would separate, or lidar points miss the surfaces."""
    pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
    pytest.importorskip("warp", reason="needs warp-lang: pip install pegasus-multirotor[render]")
    pair = {"model": "stereo_camera", "rate_hz": 20.0, "resolution": [48, 32], "baseline": 0.2}
    beams = {"model": "spinning", "elevations": [k * 0.02 for k in range(-45, 46)], "column_count": 720}
    lidar = {"model": "lidar", "pattern": beams, "noise_sigma": 0.0}
    file = write_scenario(tmp_path, **changed(eyes=pair, scanner=lidar))
    recipe = recipe_of(file, writer="kitti", frame_count=1)
    plan = plan_of(recipe)
    assert plan.cameras == ("observer_eyes_left", "observer_eyes_right")
    with Episode(recipe, 0) as episode:
        ((_, (left, right)),) = episode.frames([0], plan.classes)
    apart = right.view.position - left.view.position
    np.testing.assert_allclose(left.view.rotation.T @ apart, [0.2, 0, 0], atol=1e-12)
    np.testing.assert_array_equal(left.view.rotation, right.view.rotation)
    cloud = left.lidar
    assert right.lidar is None
    points = cloud.points @ cloud.rotation.T + cloud.position
    ground = points[np.abs(points[:, :2] - left.view.position[:2]).max(axis=1) > 6.0]
    assert len(ground) > 1000
    np.testing.assert_allclose(ground[:, 2], 0.0, atol=1e-3)
    target = next(e for e in left.entities if e.path == "/World/target").pose[:3, 3]
    assert np.sqrt(((points - target) ** 2).sum(axis=1)).min() < 0.3
    recipe.make_writer(tmp_path / "out", plan.cameras, resume=False).write(0, [left, right])
    rows = np.fromfile(tmp_path / "out" / "velodyne" / "000000.bin", np.float32).reshape(-1, 4)
    np.testing.assert_array_equal(rows[:, :3], cloud.points)


def test_scenes_differ_with_their_number_and_the_seed(recipe):
    """Scenes would not depend on their number or the seed."""
    lights = set()
    for seed, number in ((3, 0), (3, 1), (4, 0)):
        with Episode(recipe_of(recipe.file, seed=seed), number) as episode:
            lights.add((episode.seed, episode.simulation.scene.lights[0].color))
    assert len(lights) == 3


def test_resume_goes_on_with_the_same_dataset_only(recipe, tmp_path):
    """Frames of two different datasets would be mixed in one folder."""
    plan, folder = plan_of(recipe), tmp_path / "out"
    write_manifest(folder, manifest_of(recipe, plan))
    first = (folder / MANIFEST).read_bytes()
    write_manifest(folder, manifest_of(recipe, plan))
    assert (folder / MANIFEST).read_bytes() == first
    content = orjson.loads(first)
    assert content["scenario"]["name"] == "tiny"
    assert {"pegasus", "numpy", "usd-core", "embreex"} <= content["versions"].keys()
    for change, message in (
        ({"seed": 4}, "seed = 4: the dataset in .* was begun with 3"),
        ({"writer": "coco"}, "writer = 'coco': .* was begun with 'basic'"),
    ):
        with pytest.raises(ConfigError, match=message) as caught:
            write_manifest(folder, manifest_of(recipe_of(recipe.file, **change), plan))
        assert "\n" not in str(caught.value)
    (folder / MANIFEST).write_bytes(b"[]")
    with pytest.raises(ConfigError, match="cannot be read; give a new folder"):
        write_manifest(folder, manifest_of(recipe, plan))
    (folder / MANIFEST).write_bytes(first)
    older = manifest_of(recipe, plan)
    older["versions"]["numpy"] = "1.0"
    with pytest.raises(ConfigError, match=r"versions\.numpy"):
        write_manifest(folder, older)


def test_a_dataset_may_grow(recipe, tmp_path):
    """Adding a frame would require all frames to be made again, or leave the manifest's count."""
    plan, folder = plan_of(recipe), tmp_path / "out"
    write_manifest(folder, manifest_of(recipe, plan))
    more = manifest_of(recipe_of(recipe.file, frame_count=20), plan)
    write_manifest(folder, more)
    assert orjson.loads((folder / MANIFEST).read_bytes()) == more


def test_a_dataset_may_be_closed_sooner(recipe, tmp_path):
    """A dataset begun too long could not be ended, or frames that are there would not be counted."""
    plan, folder = plan_of(recipe), tmp_path / "out"
    write_manifest(folder, manifest_of(recipe, plan))
    FrameFolder(folder, resume=True).commit(4, {"4.txt": b"4"}, {})
    with pytest.raises(ConfigError, match=r"frames = 4: .* has 5 already; give 5 or more"):
        write_manifest(folder, manifest_of(recipe_of(recipe.file, frame_count=4), plan))
    fewer = manifest_of(recipe_of(recipe.file, frame_count=5), plan)
    write_manifest(folder, fewer)
    assert orjson.loads((folder / MANIFEST).read_bytes()) == fewer


@pytest.mark.parametrize(("writer", "computed"), [("euroc", False), ("tum", False), ("coco", True)])
def test_occlusion_is_computed_for_writers_that_hold_it(recipe, writer, computed):
    """Half of the time would go into ratios that no file holds, or a format would lack them."""
    pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
    plan = plan_of(recipe)
    with Episode(recipe_of(recipe.file, writer=writer), 0) as episode:
        ((_, (frame,)),) = episode.frames([0], plan.classes)
    assert (frame.occlusion is not None) == computed


def test_another_model_is_another_dataset(tmp_path):
    """A model changed between two runs would be in half of the frames."""
    cube = '#usda 1.0\n(\n metersPerUnit = 1\n upAxis = "Z"\n)\ndef Cube "cube" {\n}\n'
    (tmp_path / "cube.usda").write_text(cube)
    (tmp_path / "yard.yaml").write_text("name: yard\nusd: cube.usda\n")
    recipe = recipe_of(write_scenario(tmp_path, world="yard.yaml"))
    plan = Plan(("observer_front",), ())
    before = manifest_of(recipe, plan)["files_sha256"]
    assert {"worlds/yard.yaml", "worlds/cube.usda", "vehicles/iris.yaml"} <= before.keys()
    (tmp_path / "cube.usda").write_text(cube + "# taller\n")
    after = manifest_of(recipe, plan)["files_sha256"]
    assert {key for key in before if before[key] != after[key]} == {"worlds/cube.usda"}


def test_all_files_of_a_world_are_in_the_manifest(tmp_path):
    """A layer, a buffer or an image changed between two runs would be in half of the frames."""
    header = '#usda 1.0\n(\n metersPerUnit = 1\n upAxis = "Z"\n'
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "yard.usda").write_text(header + ')\ndef Cube "cube" {\n}\n')
    (tmp_path / "look.png").write_bytes(b"image")
    shader = 'def Shader "image" {\n asset inputs:file = @look.png@\n}\n'
    root = tmp_path / "yard.usda"
    root.write_text(header + f" subLayers = [@parts/yard.usda@]\n)\n{shader}")
    recipe, plan = recipe_of(write_scenario(tmp_path, world="yard.usda")), Plan(("observer_front",), ())
    hashes = manifest_of(recipe, plan)["files_sha256"]
    found = {key for key in hashes if key.startswith("worlds/")}
    assert found == {"worlds/yard.usda", "worlds/yard.usda#2", "worlds/look.png"}
    (tmp_path / "look.png").write_bytes(b"another")
    after = manifest_of(recipe, plan)["files_sha256"]
    assert {key for key in hashes if hashes[key] != after[key]} == {"worlds/look.png"}


def test_all_files_of_a_gltf_world_are_in_the_manifest(tmp_path):
    """A buffer of a glTF world changed between two runs would be in half of the frames."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1]], np.float32)
    view = {"buffer": 0, "byteLength": points.nbytes}
    accessor = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
    document = {
        "asset": {"version": "2.0"},
        "buffers": [{"uri": "yard.bin", "byteLength": points.nbytes}],
        "bufferViews": [view],
        "accessors": [accessor],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
    }
    (tmp_path / "yard.gltf").write_bytes(orjson.dumps(document))
    (tmp_path / "yard.bin").write_bytes(points.tobytes())
    recipe, plan = recipe_of(write_scenario(tmp_path, world="yard.gltf")), Plan(("observer_front",), ())
    before = manifest_of(recipe, plan)["files_sha256"]
    assert {key for key in before if key.startswith("worlds/")} == {"worlds/yard.gltf", "worlds/yard.bin"}
    (tmp_path / "yard.bin").write_bytes((2 * points).tobytes())
    after = manifest_of(recipe, plan)["files_sha256"]
    assert {key for key in before if before[key] != after[key]} == {"worlds/yard.bin"}


def test_a_class_that_nothing_has_is_told_of(tmp_path, caplog):
    """A misspelt class would give a dataset without labels and without a warning."""
    file = write_scenario(tmp_path, dataset={"classes": ["multirotor", "multirotr"]})
    assert plan_of(recipe_of(file)).classes == ("multirotor", "multirotr")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("dataset.classes: nothing in the first scene is of the class multirotr; it has ")
    assert "multirotor" in line


def changed(**changes):
    """Return changes of the scenario in which the camera or its vehicle is another."""
    vehicles = copy.deepcopy(SCENARIO["vehicles"])
    vehicles[0]["sensors"] = changes
    return {"vehicles": vehicles}


@pytest.mark.parametrize(
    ("rate", "settings", "instants"),
    [
        (250.0, {"frames_per_scene": 4}, [0, 6, 12, 18]),
        (250.0, {"frames_per_scene": 3, "start": 0.25}, [6, 12, 18]),
        (
            500.0,
            {"frames_per_scene": None, "frame_rate": 20.0, "start": 0.75, "randomizers": {}},
            [15, 16, 17, 18, 19],
        ),
        (
            250.0,
            {"frames_per_scene": None, "frame_rate": 10.0, "start": 0.5, "randomizers": {}},
            [10, 12, 14, 16, 18],
        ),
    ],
)
def test_frames_are_evenly_spaced_in_exact_time(tmp_path, rate, settings, instants):
    """Times between frames would differ by physics steps, or a sequence leave out images."""
    recipe = recipe_of(write_scenario(tmp_path, rate=rate, dataset=settings))
    assert recipe.frames_per_scene == len(instants)
    with Episode(recipe, 0) as episode:
        assert episode._instants == instants


CAMERA = {"model": "camera", "resolution": [8, 8]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (changed(), "no vehicle has a camera"),
        ({"dataset": {"cameras": ["observer/back"]}}, "must be among observer/front"),
        (
            changed(a={**CAMERA, "rate_hz": 10.0}, b={**CAMERA, "rate_hz": 20.0}),
            "at the same instants",
        ),
        ({"duration": None}, "duration: is needed for a dataset"),
        ({"duration": 0.1}, "take only 1 images at exact instants"),
        ({"dataset": {"annotators": ["depth"]}}, "must be among rgb"),
        ({"dataset": {"frames_per_scene": 0}}, "frames_per_scene = 0"),
        ({"dataset": {"samples": 0}}, "samples = 0"),
        ({"dataset": {"renderer": "blender"}}, "renderer = 'blender': must be one of embree, mitsuba"),
        (
            {"dataset": {"frame_rate": 20.0, "randomizers": {}}},
            "frame_rate = 20.0: has no even instants among images at 20 Hz",
        ),
        ({"dataset": {"frame_rate": 10.0}}, "tears a sequence apart"),
        (
            {"dataset": {"frame_rate": 10.0, "frames_per_scene": 11, "randomizers": {}}},
            "take only 10 images",
        ),
        ({"dataset": {"randomizers": {"a": {"model": "sunshine"}}}}, "dataset.randomizers.a.model"),
        (
            {"dataset": {"randomizers": {"a": {"model": "sun", "least_elevation": 1.5}}}},
            "dataset.randomizers.a.least_elevation = 1.5: the sun does not rise that high",
        ),
    ],
)
def test_a_scenario_that_cannot_become_a_dataset_is_refused(tmp_path, changes, message):
    """The error would only be found after an hour, or in the labels."""
    file = write_scenario(tmp_path, **changes)
    with pytest.raises(ConfigError, match=message) as caught:
        make_dataset(file, tmp_path / "out", frames=4)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_folders_and_options_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    """A dataset would be mixed with other files, or an option be ignored."""
    file, out = write_scenario(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("x")
    with pytest.raises(ConfigError, match="the folder is not empty"):
        make_dataset(file, out, frames=4)
    with pytest.raises(ConfigError, match=r"holds mine\.txt but no manifest\.json"):
        make_dataset(file, out, frames=4, resume=True)
    assert contents(out) == {"mine.txt": b"x"}
    for options, message in (
        ({"workers": 0}, "workers = 0: must be 1 or more"),
        ({"workers": 2, "ray": "local"}, "must not be given together with ray"),
        ({"writer": "voc"}, "must be one of basic, coco"),
        ({"frames": 0}, "frames = 0"),
        ({"seed": -1}, "seed = -1"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_dataset(file, tmp_path / "other", **({"frames": 4} | options))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install pegasus-multirotor\[cluster\]"):
        make_dataset(file, tmp_path / "third", frames=4, ray="local")


def test_nothing_is_made_twice(recipe, tmp_path, monkeypatch):
    """A complete dataset would be made again, or its last step be omitted."""
    folder = tmp_path / "out"
    coco = recipe_of(recipe.file, writer="coco", frame_count=1)
    plan = plan_of(coco)
    write_manifest(folder, manifest_of(coco, plan))
    writer = coco.make_writer(folder, plan.cameras, resume=True)
    assert isinstance(writer, CocoWriter)
    monkeypatch.setattr(CocoWriter, "written", lambda _: frozenset({0}))
    made = make_dataset(recipe.file, folder, frames=1, writer="coco", seed=3, resume=True)
    assert made.made == 0
    assert orjson.loads((folder / "annotations" / "instances.json").read_bytes())["images"] == []
