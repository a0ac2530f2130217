"""Tests of the KITTI layout, read by the description of its development kit alone."""

import math

import numpy as np
import pytest
from analytic_scenes import AnalyticRenderer, Solid, box_corners, in_camera, looking, pose, seen_at, turn
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.cameras import KannalaBrandt, Pinhole
from pegasus.dataset import KittiWriter, LidarCloud
from pegasus.dataset.kitti import occlusion_level, truncation

YAW = 0.6
BOX = Solid("/World/box", "box", (0.6, 0.3, 0.25), pose((6, -0.5, 0.2), turn((0, 0, 1), YAW)))
EDGE = Solid("/World/edge", "delivery box", (0.4, 0.4, 0.4), pose((4, 2.2, 0)))
ROCK = Solid("/World/rock", None, 0.4, pose((5, -1.6, -1.0)))
HIDDEN = Solid("/World/hidden", "box", (0.1, 0.1, 0.1), pose((8, -0.66, 0.27)))
CLASSES = ("box", "delivery box")
# The development kit draws what it projects one pixel further on in MATLAB, whose first pixel has its centre
# at 1: by its matrices that of the first pixel is at 0.
KIT = 0.5


def read_labels(path):
    """Rows of a label file: 15 columns of text."""
    rows = []
    for line in path.read_text().splitlines():
        kind, *numbers = line.split(" ")
        assert len(numbers) == 14
        rows.append((kind, np.array([float(n) for n in numbers])))
    return rows


def read_calibration(path):
    """Matrices by name; 12 numbers are 3 x 4, 9 are 3 x 3."""
    found = {}
    for line in path.read_text().splitlines():
        name, numbers = line.split(": ")
        found[name] = np.array([float(n) for n in numbers.split()]).reshape(3, -1)
    return found


def corners_of(numbers):
    """Corners in the camera's frame, from height, width, length, bottom centre and rotation_y."""
    h, w, l, x, y, z, ry = numbers[7:14]  # noqa: E741
    box = np.array([[a * l / 2, b, c * w / 2] for a in (-1, 1) for b in (0, -h) for c in (-1, 1)])
    about_y = [[math.cos(ry), 0, math.sin(ry)], [0, 1, 0], [-math.sin(ry), 0, math.cos(ry)]]
    return box @ np.array(about_y).T + [x, y, z]


def same_corners(found, expected, atol):
    apart = np.linalg.norm(found[:, None] - expected[None], axis=-1)
    assert apart.min(axis=1).max() < atol
    assert apart.min(axis=0).max() < atol


@pytest.fixture(scope="module")
def view():
    return looking((0.3, -0.2, 0.1), 0.1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, view):
    out = tmp_path_factory.mktemp("kitti")
    renderer = AnalyticRenderer(BOX, EDGE, ROCK, HIDDEN)
    lidar = LidarCloud(
        points=np.array([[5.0, 0.5, -0.2], [3.0, 0.0, 0.1]], np.float32),
        intensity=np.array([0.25, 1.0], np.float32),
        position=np.array([0.1, -0.3, 0.4]),
        rotation=turn((0, 0, 1), 0.2),
    )
    ratios = np.array([0.02, 0.3, np.nan, 1.0], np.float32)
    writer = KittiWriter(out)
    writer.write(7, [renderer.frame(view, classes=CLASSES, occlusion=ratios, lidar=lidar)])
    writer.finish()
    return out


def test_the_files_are_those_of_kitti(folder):
    """A reader of the benchmark would not find a file."""
    found = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    names = ["calib/000007.txt", "image_2/000007.png", "label_2/000007.txt", "velodyne/000007.bin"]
    summary = [".frames/000007.jpg", ".frames/000007.json", "README.md", "frames.jsonl", "samples.jpg"]
    assert found == sorted([*summary, *names])
    assert Image.open(folder / "image_2/000007.png").mode == "RGB"


def test_labels_come_back_as_the_corners_of_the_box(folder, view):
    """Dimensions, location or rotation would follow another convention."""
    (kind, numbers), (other, _) = read_labels(folder / "label_2/000007.txt")
    assert (kind, other) == ("box", "delivery_box")
    np.testing.assert_allclose(numbers[7:10], [0.5, 0.6, 1.2], atol=1e-4)
    same_corners(corners_of(numbers), in_camera(view, box_corners(BOX)), 1e-3)
    # Heading 0 is the camera's x axis, to the right; the camera looks 0.1 rad to the left of the world's x.
    assert numbers[13] == pytest.approx(math.remainder(-math.pi / 2 - YAW + 0.1, 2 * math.pi), abs=1e-4)


def test_alpha_is_the_rotation_seen_from_the_camera(folder):
    """The observation angle would not be zero for an object facing perpendicular to the ray."""
    for _, numbers in read_labels(folder / "label_2/000007.txt"):
        x, z, ry = numbers[10], numbers[12], numbers[13]
        assert math.remainder(numbers[2] - (ry - math.atan2(x, z)), 2 * math.pi) == pytest.approx(0, abs=2e-4)
        assert -math.pi <= numbers[2] <= math.pi


def test_labels_project_through_the_calibration_onto_their_boxes(folder, view):
    """Boxes, P2 and locations would not fit together."""
    calibration = read_calibration(folder / "calib/000007.txt")
    np.testing.assert_array_equal(calibration["R0_rect"], np.eye(3))
    for (_, numbers), solid in zip(read_labels(folder / "label_2/000007.txt"), (BOX, EDGE), strict=True):
        corners = np.column_stack([corners_of(numbers), np.ones(8)]) @ calibration["P2"].T
        pixels = corners[:, :2] / corners[:, 2:]
        if solid is BOX:
            np.testing.assert_allclose(
                np.sort(pixels, axis=0), np.sort(seen_at(view, box_corners(BOX)) - KIT, axis=0), atol=0.05
            )
        # Pixels whose centres lie in the box, within the rounding of locations.
        low, high = np.maximum(pixels.min(0), 0), np.minimum(pixels.max(0), [159, 119])
        apart = np.array([*(numbers[3:5] - low), *(high - numbers[5:7])])
        assert apart.min() > -0.03
        assert apart.max() < 1.03


def test_a_lidar_point_is_projected_into_the_pixel_that_shows_it(folder, view):
    """Clouds would be half a pixel off the image."""
    calibration = read_calibration(folder / "calib/000007.txt")
    pixel, reach = np.array([41, 77]), 5.0
    ray = view.lens.directions(pixel + 0.5, view.resolution)
    lidar = (view.rotation @ (reach * ray) + view.position - [0.1, -0.3, 0.4]) @ turn((0, 0, 1), 0.2)
    seen = calibration["P2"] @ [*(calibration["Tr_velo_to_cam"] @ [*lidar, 1.0]), 1.0]
    np.testing.assert_allclose(seen[:2] / seen[2], pixel, atol=1e-9)


def test_truncation_and_occlusion_levels(folder):
    """Truncated or occluded objects would be labelled as fully visible."""
    (_, box), (_, edge) = read_labels(folder / "label_2/000007.txt")
    assert box[0] == 0
    assert 0.3 < edge[0] < 0.7
    assert (box[1], edge[1]) == (0, 1)
    assert [occlusion_level(r) for r in (0.0, 0.05, 0.06, 0.5, 0.51, 1.0, math.nan)] == [0, 0, 1, 1, 2, 2, 3]
    assert truncation(np.array([-50.0, 20.0, 150.0, 40.0]), (160, 120)) == pytest.approx(0.25)
    assert truncation(np.array([-50.0, -20.0, -10.0, 40.0]), (160, 120)) == 1.0


def test_lidar_points_land_where_they_are(folder, view):
    """Tr_velo_to_cam would rotate or shift the cloud against the image."""
    cloud = np.fromfile(folder / "velodyne/000007.bin", "<f4").reshape(-1, 4)
    np.testing.assert_allclose(cloud[:, 3], [0.25, 1.0])
    calibration = read_calibration(folder / "calib/000007.txt")
    found = np.column_stack([cloud[:, :3], np.ones(2)]) @ calibration["Tr_velo_to_cam"].T
    world = cloud[:, :3] @ turn((0, 0, 1), 0.2).T + [0.1, -0.3, 0.4]
    np.testing.assert_allclose(found, in_camera(view, world), atol=1e-6)


def test_tilted_objects_are_held_by_an_upright_box(tmp_path):
    """The upright box of a tilted object would be too small."""
    tilted = Solid("/World/box", "box", (0.6, 0.3, 0.25), pose((6, 0, 0), turn((1, 2, 3), 0.7)))
    view = looking((0, 0, 0), 0.1, -0.2)
    KittiWriter(tmp_path).write(0, [AnalyticRenderer(tilted).frame(view, classes=CLASSES)])
    ((_, numbers),) = read_labels(tmp_path / "label_2/000000.txt")
    h, w, l, x, y, z, ry = numbers[7:14]  # noqa: E741
    c, s = math.cos(ry), math.sin(ry)
    local = (in_camera(view, box_corners(tilted)) - [x, y, z]) @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    np.testing.assert_allclose(local.min(0), [-l / 2, -h, -w / 2], atol=1e-3)
    np.testing.assert_allclose(local.max(0), [l / 2, 0, w / 2], atol=1e-3)
    assert numbers[1] == 3


def test_a_stereo_pair_has_a_second_picture_and_its_baseline(tmp_path):
    """Disparity could not be computed from P2 and P3."""
    left, right = looking((0, 0, 0)), looking((0, -0.54, 0))
    renderer = AnalyticRenderer(BOX)
    writer = KittiWriter(tmp_path, cameras=("left", "right"))
    writer.write(
        0, [renderer.frame(v, camera=n, classes=CLASSES) for n, v in (("left", left), ("right", right))]
    )
    calibration = read_calibration(tmp_path / "calib/000000.txt")
    point = in_camera(left, box_corners(BOX))
    for name, view in (("P2", left), ("P3", right)):
        projected = np.column_stack([point, np.ones(8)]) @ calibration[name].T
        np.testing.assert_allclose(
            projected[:, :2] / projected[:, 2:], seen_at(view, box_corners(BOX)) - KIT, atol=1e-9
        )
    assert -calibration["P3"][0, 3] / 150 == pytest.approx(0.54)
    assert (tmp_path / "image_3/000000.png").exists()


def test_only_wanted_classes_are_objects(tmp_path, view):
    """Ground and walls would be labelled as objects."""
    frame = AnalyticRenderer(BOX, EDGE).frame(view, classes=CLASSES)
    KittiWriter(tmp_path, classes=("delivery box",)).write(0, [frame])
    assert [kind for kind, _ in read_labels(tmp_path / "label_2/000000.txt")] == ["delivery_box"]


@pytest.mark.parametrize("straight", [True, False])
def test_a_lens_that_distorts_is_told_of(tmp_path, caplog, straight):
    """A distorting lens, which KITTI cannot describe, would cause no warning."""
    lens = Pinhole(focal_length=(90.0, 90.0)) if straight else KannalaBrandt(focal_length=(60.0, 60.0))
    frame = AnalyticRenderer(BOX).frame(looking((0, 0, 0), lens=lens), classes=CLASSES, camera="front")
    writer = KittiWriter(tmp_path, cameras=("front",))
    for index in range(2):
        writer.write(index, [frame])
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (not straight)
    assert all(line.startswith("front: its lens distorts, which KITTI's calibration") for line in told)


def test_three_cameras_are_too_many(tmp_path):
    """A third camera's images would be dropped without an error."""
    with pytest.raises(ConfigError, match="must be 1 to 2 names of cameras"):
        KittiWriter(tmp_path, cameras=("a", "b", "c"))
