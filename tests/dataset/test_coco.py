"""Tests of the COCO layout with the COCO API."""

import contextlib
import io
import json

import numpy as np
import pytest
from analytic_scenes import AnalyticRenderer, Solid, looking, pose, seen_at, turn
from PIL import Image
from pycocotools.coco import COCO
from scipy.spatial.transform import Rotation

from pegasus.dataset import CocoWriter

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

BOX = Solid("/World/box", "box", (0.3, 0.4, 0.5), pose((4, -0.5, 0.2), turn((1, 2, 3), 0.7)))
BALL = Solid("/World/ball", "ball", 0.2, pose((2, -0.1, 0.1)))
ROCK = Solid("/World/rock", None, 0.4, pose((5, -1.6, -1.0)))
SPECK = Solid("/World/speck", "box", (0.02, 0.02, 0.02), pose((4, 0.7, 0.2)))


def frames():
    renderer = AnalyticRenderer(BOX, BALL, ROCK, SPECK)
    ratios = np.array([0.25, 0, np.nan, 0], np.float32)
    return [renderer.frame(looking((0, 0, 0), 0.02 * k), stamp=0.1 * k, occlusion=ratios) for k in range(4)]


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("coco")
    writer = CocoWriter(out)
    for k, frame in enumerate(frames()):
        writer.write(k, [frame])
    writer.finish()
    return out


@pytest.fixture(scope="module")
def coco(folder):
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(folder / "annotations/instances.json")


def test_the_coco_api_decodes_every_mask(coco, folder):
    """Masks, boxes or areas would not be those of the pixels."""
    expected = frames()
    assert len(coco.imgs) == 4
    for number, image in coco.imgs.items():
        entity = expected[number].images.entity
        picture = np.asarray(Image.open(folder / "images" / image["file_name"]))
        np.testing.assert_array_equal(picture, expected[number].rgb)
        assert (image["width"], image["height"]) == (160, 120)
        found = coco.loadAnns(coco.getAnnIds(imgIds=number))
        paths = [a["attributes"]["path"] for a in found]
        assert paths == ["/World/box", "/World/ball", "/World/speck"]
        for annotation, k in zip(found, (0, 1, 3), strict=True):
            mask = entity == k
            np.testing.assert_array_equal(coco.annToMask(annotation), mask)
            assert annotation["area"] == mask.sum()
            y, x = np.nonzero(mask)
            size = [x.max() - x.min() + 1, y.max() - y.min() + 1]
            assert annotation["bbox"] == [x.min(), y.min(), *size]
            assert annotation["iscrowd"] == 0


def test_categories_are_the_classes(coco):
    """A detector would be trained on wrong names."""
    assert [(c["id"], c["name"]) for c in coco.loadCats(coco.getCatIds())] == [
        (1, "ball"),
        (2, "box"),
        (3, "wall"),
    ]
    assert {a["attributes"]["path"]: a["category_id"] for a in coco.anns.values()} == {
        "/World/box": 2,
        "/World/ball": 1,
        "/World/speck": 2,
    }
    assert sorted(coco.anns) == list(range(1, 13))


def test_the_file_has_the_sections_of_coco(folder):
    """A strict reader would reject the file."""
    content = json.loads((folder / "annotations/instances.json").read_text())
    assert list(content) == ["info", "licenses", "categories", "images", "annotations"]
    assert {image["license"] for image in content["images"]} == {lic["id"] for lic in content["licenses"]}
    assert content["annotations"][0]["attributes"]["occlusion"] == 0.25


def test_images_have_intrinsics_and_pose(coco):
    """Points could not be projected into the image, so poses could not be trained."""
    for number, image in coco.imgs.items():
        view = looking((0, 0, 0), 0.02 * number)
        rotation = Rotation.from_quat(image["orientation"]).as_matrix()
        np.testing.assert_allclose(rotation, view.rotation, atol=1e-12)
        point = np.array([4.0, -0.5, 0.2])
        x, y, z = np.array(image["intrinsic_matrix"]) @ rotation.T @ (point - image["position"])
        # The centre of the first pixel is at (0, 0).
        np.testing.assert_allclose([x / z + 0.5, y / z + 0.5], seen_at(view, point), atol=1e-9)
        assert (image["distortion_model"], image["distortion_coefficients"]) == ("plumb_bob", [0.0] * 5)


def test_regions_are_no_instances(tmp_path):
    """Ground and walls would be counted as objects, and a detector be trained to find them."""
    frame = AnalyticRenderer(BOX, BALL).frame(looking((0, 0, 0)), regions=("box",))
    writer = CocoWriter(tmp_path)
    writer.write(0, [frame])
    writer.finish()
    content = json.loads((tmp_path / "annotations/instances.json").read_text())
    assert [category["name"] for category in content["categories"]] == ["ball", "wall"]
    assert [a["attributes"]["path"] for a in content["annotations"]] == ["/World/ball"]


def test_the_order_of_frames_leaves_no_trace(folder, tmp_path):
    """Workers that finish in another order, or a resumed run, would give another dataset."""
    first = CocoWriter(tmp_path / "other")
    taken = frames()
    for k in (2, 0):
        first.write(k, [taken[k]])
    resumed = CocoWriter(tmp_path / "other", resume=True)
    assert resumed.written() == {0, 2}
    for k in (3, 1):
        resumed.write(k, [taken[k]])
    resumed.finish()
    assert files(tmp_path / "other") == files(folder)


def test_small_areas_are_left_out_on_demand(tmp_path):
    """Small areas would remain in a dataset with a minimum area."""
    writer = CocoWriter(tmp_path, least_area=50)
    writer.write(0, frames()[:1])
    writer.finish()
    content = json.loads((tmp_path / "annotations/instances.json").read_text())
    assert [a["attributes"]["path"] for a in content["annotations"]] == ["/World/box", "/World/ball"]


def test_pictures_of_several_cameras_keep_apart(tmp_path):
    """Two cameras would share a file or an id."""
    left, right = (
        AnalyticRenderer(BOX).frame(looking((0, y, 0)), camera=n) for n, y in (("l", 0), ("r", -0.1))
    )
    writer = CocoWriter(tmp_path, cameras=("l", "r"))
    for k in range(2):
        writer.write(k, [left, right])
    writer.finish()
    images = json.loads((tmp_path / "annotations/instances.json").read_text())["images"]
    names = ["l_000000.png", "r_000000.png", "l_000001.png", "r_000001.png"]
    assert [(i["id"], i["file_name"]) for i in images] == list(enumerate(names))
