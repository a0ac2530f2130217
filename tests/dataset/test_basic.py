"""Tests of the layout of Replicator's BasicWriter, read by its documentation alone."""

import dataclasses
import json
import re

import numpy as np
import pytest
from analytic_scenes import (
    CLASSES,
    AnalyticRenderer,
    Solid,
    box_corners,
    looking,
    pose,
    seen_at,
    turn,
)
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.dataset import ANNOTATORS, BasicWriter, motion_vectors, occlusion_ratios

BOX = Solid(
    "/World/box", "box", (0.3, 0.4, 0.5), pose((4, -0.5, 0.2), turn((1, 2, 3), 0.7)), before=pose((4, 0, 0))
)
WALL = Solid("/World/wall", "wall", (0.1, 3, 3), pose((8, 0, 0)))
ROCK = Solid("/World/rock", None, 0.4, pose((5, -1.6, -1.0)))
PIXEL = np.array([0, 0, 1, 1])
SCREEN = Solid("/World/ball", "ball", 0.2, pose((2, -0.1, 0.1)))


@pytest.fixture(scope="module")
def scene():
    renderer = AnalyticRenderer(BOX, WALL, ROCK, SCREEN)
    view = looking((0, 0, 0), 0.05, -0.02)
    frame = renderer.frame(view, previous_view=looking((-0.1, 0, 0)))
    frame.occlusion = occlusion_ratios(renderer.cast, frame)
    return frame


@pytest.fixture(scope="module")
def folder(scene, tmp_path_factory):
    out = tmp_path_factory.mktemp("basic")
    writer = BasicWriter(out)
    writer.write(12, [scene])
    writer.finish()
    return out


def text(folder, name):
    return json.loads((folder / f"{name}_0012.json").read_text())


def array(folder, name):
    return np.load(folder / f"{name}_0012.npy", allow_pickle=False)


def picture(folder, name):
    image = Image.open(folder / f"{name}_0012.png")
    assert image.mode == "RGBA"
    return np.asarray(image)


def by_color(image, table):
    """Return an image of names, from an image of colours and its legend."""
    found = np.full(image.shape[:2], None, object)
    for key, name in table.items():
        color = [int(v) for v in re.fullmatch(r"\((\d+), (\d+), (\d+), (\d+)\)", key).groups()]
        found[(image == color).all(axis=-1)] = name["class"] if isinstance(name, dict) else name
    return found


def test_the_files_are_those_of_replicator(folder):
    """A reader of Replicator's folders would miss a file."""
    golden = """
        .frames/000012.jpg
        .frames/000012.json
        README.md frames.jsonl samples.jpg
        bounding_box_2d_loose_0012.npy bounding_box_2d_loose_labels_0012.json
        bounding_box_2d_loose_prim_paths_0012.json
        bounding_box_2d_tight_0012.npy bounding_box_2d_tight_labels_0012.json
        bounding_box_2d_tight_prim_paths_0012.json
        bounding_box_3d_0012.npy bounding_box_3d_labels_0012.json bounding_box_3d_prim_paths_0012.json
        camera_params_0012.json distance_to_camera_0012.npy distance_to_image_plane_0012.npy
        instance_segmentation_0012.png instance_segmentation_mapping_0012.json
        instance_segmentation_semantics_mapping_0012.json motion_vectors_0012.npy normals_0012.png
        occlusion_0012.npy pointcloud_0012.npy pointcloud_instance_0012.npy pointcloud_normals_0012.npy
        pointcloud_rgb_0012.npy pointcloud_semantic_0012.npy rgb_0012.png semantic_segmentation_0012.png
        semantic_segmentation_labels_0012.json
        tracks_0012.npy
    """
    found = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert found == sorted(golden.split())


def test_several_cameras_have_folders_of_their_own(scene, tmp_path):
    """Two cameras would overwrite each other, or be in a wrong folder."""
    writer = BasicWriter(tmp_path, cameras=("left", "right"), annotators=("rgb", "bounding_box_2d_tight"))
    fields = {"previous_view": None}
    renderer = AnalyticRenderer(BOX)
    writer.write(0, [renderer.frame(scene.view, camera=name, **fields) for name in ("left", "right")])
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    parts = ("_0000.npy", "_labels_0000.json", "_prim_paths_0000.json")
    expected = [
        f"{c}/bounding_box_2d_tight/bounding_box_2d_tight{p}" for c in ("left", "right") for p in parts
    ]
    assert found == sorted(
        [
            ".frames/000000.jpg",
            ".frames/000000.json",
            "left/rgb/rgb_0000.png",
            "right/rgb/rgb_0000.png",
            *expected,
        ]
    )


def test_pictures_hold_the_channels(folder, scene):
    """Colours, normals or distances would not be those of the renderer."""
    rgb = picture(folder, "rgb")
    np.testing.assert_array_equal(rgb[..., :3], scene.rgb)
    assert (rgb[..., 3] == 255).all()
    back = picture(folder, "normals")[..., :3] / 127.5 - 1
    np.testing.assert_allclose(back, scene.images.normal, atol=1 / 127)
    distance, depth = array(folder, "distance_to_camera"), array(folder, "distance_to_image_plane")
    assert distance.dtype == depth.dtype == np.float32
    np.testing.assert_array_equal(distance, scene.images.distance)
    u, v = np.meshgrid(np.arange(160) + 0.5 - 80, np.arange(120) + 0.5 - 60)
    np.testing.assert_allclose(depth, distance / np.sqrt(1 + (u**2 + v**2) / 150**2), rtol=1e-6)
    assert np.isinf(depth).any()


def test_segmentation_pictures_and_legends_name_every_pixel(folder, scene):
    """A pixel's colour would have no name in the legend, or a wrong one."""
    entity = scene.images.entity
    names = np.array(["box", "wall", "UNLABELLED", "ball", "BACKGROUND"], object)
    paths = np.array(["/World/box", "/World/wall", "UNLABELLED", "/World/ball", "BACKGROUND"], object)
    image = picture(folder, "semantic_segmentation")
    assert (by_color(image, text(folder, "semantic_segmentation_labels")) == names[entity]).all()
    image = picture(folder, "instance_segmentation")
    assert (by_color(image, text(folder, "instance_segmentation_mapping")) == paths[entity]).all()
    assert (by_color(image, text(folder, "instance_segmentation_semantics_mapping")) == names[entity]).all()
    assert text(folder, "semantic_segmentation_labels")["(0, 0, 0, 0)"] == {"class": "BACKGROUND"}
    assert text(folder, "semantic_segmentation_labels")["(0, 0, 0, 255)"] == {"class": "UNLABELLED"}


def test_boxes_have_the_types_and_rows_of_replicator(folder, scene):
    """np.load would give other fields, or rows that do not match their paths and labels."""
    two = [
        ("semanticId", "<u4"), ("x_min", "<i4"), ("y_min", "<i4"), ("x_max", "<i4"), ("y_max", "<i4"),
        ("occlusionRatio", "<f4"),
    ]  # fmt: skip
    three = [
        ("semanticId", "<u4"), ("x_min", "<f4"), ("y_min", "<f4"), ("z_min", "<f4"), ("x_max", "<f4"),
        ("y_max", "<f4"), ("z_max", "<f4"), ("transform", "<f4", (4, 4)), ("occlusionRatio", "<f4"),
    ]  # fmt: skip
    for name, fields in (("2d_tight", two), ("2d_loose", two), ("3d", three)):
        rows = array(folder, f"bounding_box_{name}")
        assert rows.dtype == np.dtype(fields)
        labels = text(folder, f"bounding_box_{name}_labels")
        paths = text(folder, f"bounding_box_{name}_prim_paths")
        assert paths == ["/World/box", "/World/wall", "/World/ball"]
        assert [labels[str(i)] for i in rows["semanticId"]] == [{"class": c} for c in ("box", "wall", "ball")]
        assert 0 < rows["occlusionRatio"][0] < 0.5
        assert rows["occlusionRatio"][2] == 0
    tight = array(folder, "bounding_box_2d_tight")
    entity = scene.images.entity
    for row, k in zip(tight, (0, 1, 3), strict=True):
        y, x = np.nonzero(entity == k)
        assert row.tolist()[1:5] == (x.min(), y.min(), x.max(), y.max())


def test_3d_boxes_project_onto_the_loose_boxes(folder, scene):
    """Extents, transform and camera parameters would not fit together."""
    parameters = text(folder, "camera_params")
    to_clip = np.array(parameters["cameraViewTransform"]).reshape(4, 4) @ np.array(
        parameters["cameraProjection"]
    ).reshape(4, 4)
    boxes, loose = array(folder, "bounding_box_3d"), array(folder, "bounding_box_2d_loose")
    for row, flat, solid in zip(boxes[:2], loose[:2], (BOX, WALL), strict=True):
        x, y, z = np.meshgrid(*((row[f"{a}_min"], row[f"{a}_max"]) for a in "xyz"), indexing="ij")
        corners = np.stack([x, y, z, np.ones_like(x)], -1).reshape(8, 4) @ row["transform"]
        np.testing.assert_allclose(corners[:, :3], box_corners(solid), atol=1e-5)
        clip = corners @ to_clip
        u = (clip[:, 0] / clip[:, 3] + 1) / 2 * 160
        v = (1 - clip[:, 1] / clip[:, 3]) / 2 * 120
        np.testing.assert_allclose(np.stack([u, v], -1), seen_at(scene.view, box_corners(solid)), atol=1e-3)
        bounds = [max(u.min(), 0), max(v.min(), 0), min(u.max(), 160), min(v.max(), 120)]
        assert abs(np.array(flat.tolist()[1:5]) + PIXEL - bounds).max() <= 0.51


def test_occlusion_rows_name_instances_as_the_pictures_do(folder, scene):
    """Ratios would be those of another entity."""
    rows = array(folder, "occlusion")
    assert rows.dtype == np.dtype([("instanceId", "<u4"), ("semanticId", "<u4"), ("occlusionRatio", "<f4")])
    assert rows["instanceId"].tolist() == [2, 3, 5]
    assert rows["semanticId"].tolist() == [2 + CLASSES.index(c) for c in ("box", "wall", "ball")]
    np.testing.assert_array_equal(rows["occlusionRatio"], scene.occlusion[[0, 1, 3]])


def test_tracks_name_instances_and_their_velocities(scene, tmp_path):
    """A tracker would get other ids than the images have, or the velocity of another object."""
    moving = dataclasses.replace(
        scene.entities[3], velocity=np.array([1.0, 2.0, 3.0]), angular_velocity=np.array([0.0, 0.0, 0.5])
    )
    frame = dataclasses.replace(scene, entities=[*scene.entities[:3], moving, *scene.entities[4:]])
    BasicWriter(tmp_path, annotators=("tracks",)).write(12, [frame])
    rows = array(tmp_path, "tracks")
    assert rows["trackId"].tolist() == [2, 3, 5]
    np.testing.assert_array_equal(rows["velocity"], [[0, 0, 0], [0, 0, 0], [1, 2, 3]])
    np.testing.assert_array_equal(rows["angularVelocity"][2], [0, 0, 0.5])


def test_motion_vectors_have_four_channels(folder, scene):
    """Motion arrays would lack Replicator's two unused channels."""
    vectors = array(folder, "motion_vectors")
    assert vectors.shape == (120, 160, 4)
    assert vectors.dtype == np.float32
    expected = motion_vectors(
        scene.images.distance,
        scene.directions,
        scene.images.entity,
        scene.entities,
        scene.view,
        scene.previous_view,
    )
    np.testing.assert_array_equal(vectors[..., :2], expected)
    assert (vectors[..., 2:] == 0).all()


def test_point_cloud_files_belong_together(folder, scene):
    """A point would have the colour, normal or label of another."""
    points, rgb, normals = (array(folder, f"pointcloud{n}") for n in ("", "_rgb", "_normals"))
    semantic, instance = array(folder, "pointcloud_semantic"), array(folder, "pointcloud_instance")
    entity = scene.images.entity
    labelled = (entity >= 0) & (entity != 2)
    count = labelled.sum()
    assert points.shape == (count, 3)
    assert points.dtype == np.float32
    np.testing.assert_array_equal(rgb, picture(folder, "rgb")[labelled])
    assert normals.shape == (count, 4)
    np.testing.assert_array_equal(normals[:, :3], scene.images.normal[labelled])
    np.testing.assert_array_equal(instance, entity[labelled] + 2)
    np.testing.assert_array_equal(semantic, np.array([3, 4, 1, 2])[entity[labelled]])
    reach = np.linalg.norm(points - scene.view.position, axis=1)
    np.testing.assert_allclose(reach, scene.images.distance[labelled], rtol=1e-5)


def test_camera_parameters_have_the_fields_of_replicator(folder):
    """A reader would not find a field."""
    fields = """
        cameraAperture cameraApertureOffset cameraFisheyeLensP cameraFisheyeLensS cameraFisheyeMaxFOV
        cameraFisheyeNominalHeight cameraFisheyeNominalWidth cameraFisheyeOpticalCentre
        cameraFisheyePolynomial cameraFocalLength cameraFocusDistance cameraFStop cameraModel cameraNearFar
        cameraProjection cameraViewTransform metersPerSceneUnit renderProductResolution
    """
    assert sorted(text(folder, "camera_params")) == sorted(fields.split())


def test_without_occlusion_and_motion_the_rows_say_so(scene, tmp_path):
    """Missing occlusion would be written as fully visible."""
    frame = AnalyticRenderer(BOX, WALL).frame(scene.view)
    writer = BasicWriter(tmp_path, annotators=("bounding_box_3d", "motion_vectors"))
    writer.write(0, [frame])
    assert (np.load(tmp_path / "bounding_box_3d_0000.npy")["occlusionRatio"] == -1).all()
    assert (np.load(tmp_path / "motion_vectors_0000.npy") == 0).all()


def test_a_view_of_nothing_is_written(tmp_path):
    """An empty frame would end the run."""
    frame = AnalyticRenderer(BOX).frame(looking((0, 0, 0), np.pi))
    BasicWriter(tmp_path).write(0, [frame])
    assert np.load(tmp_path / "bounding_box_3d_0000.npy").shape == (0,)
    assert np.load(tmp_path / "pointcloud_0000.npy").shape == (0, 3)
    assert json.loads((tmp_path / "bounding_box_2d_tight_prim_paths_0000.json").read_text()) == []


def test_unknown_annotators_are_refused(tmp_path):
    """A misspelt annotator would be ignored without an error."""
    with pytest.raises(ConfigError, match=r"annotators = \['depth'\]: must be among rgb, "):
        BasicWriter(tmp_path, annotators=("rgb", "depth"))
    assert len(set(ANNOTATORS)) == 14
