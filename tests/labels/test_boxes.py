"""Tests of loose boxes, 3D boxes and their shapes."""

import numpy as np
import pytest
from analytic_scenes import AnalyticRenderer, Solid, box_corners, looking, pose, seen_at, turn

from pegasus.contracts.renderer import RenderObject
from pegasus.dataset import EntityTable, loose_boxes, tight_boxes
from pegasus.labels.boxes import rectilinear
from pegasus.labels.entities import entity_shapes, hull_candidates
from pegasus.optics.lens import KannalaBrandt, Pinhole

TURNED = turn((1, 2, 3), 0.7)


def test_loose_box_of_a_hidden_box_bounds_its_corners():
    """An occluder would change an entity's loose box, or the box miss a corner."""
    box = Solid("/World/box", "box", (0.3, 0.4, 0.5), pose((5, -0.3, 0.2), TURNED))
    wall = Solid("/World/wall", "wall", (0.1, 9, 9), pose((3, 0, 0)))
    view = looking((0, 0, 0), 0.05, -0.02)
    frame = AnalyticRenderer(box, wall).frame(view)
    assert tight_boxes(frame.images.entity, 2)[0].tolist() == [-1] * 4
    found = loose_boxes(frame.entities, view)
    corners = seen_at(view, box_corners(box))
    np.testing.assert_allclose(found.extent[0], [*corners.min(0), *corners.max(0)], atol=1e-4)
    assert abs(found.box[0] + [0, 0, 1, 1] - found.extent[0]).max() <= 0.5 + 1e-6


def test_loose_and_tight_box_agree_where_nothing_hides():
    """The two boxes of a fully visible entity would differ by more than rounding of pixel centres."""
    box = Solid("/World/box", "box", (0.3, 0.4, 0.5), pose((4, -0.3, 0.2), TURNED))
    ball = Solid("/World/ball", "ball", 0.4, pose((4, 1.0, 0.5)))
    view = looking((0, 0, 0))
    frame = AnalyticRenderer(box, ball).frame(view)
    apart = loose_boxes(frame.entities, view).box - tight_boxes(frame.images.entity, 2)
    assert abs(apart).max() <= 1
    assert (apart[0] * [1, 1, -1, -1] <= 0).all()


def test_loose_box_is_cut_to_the_image_and_minus_one_outside():
    """A box would extend beyond the image, or an object outside have one."""
    half = Solid("/World/half", "box", (0.5, 0.5, 0.5), pose((4, 2.2, 0)))
    outside = Solid("/World/outside", "box", (0.5, 0.5, 0.5), pose((4, 5.0, 0)))
    behind = Solid("/World/behind", "box", (0.5, 0.5, 0.5), pose((-4, 0, 0)))
    view = looking((0, 0, 0))
    found = loose_boxes(AnalyticRenderer(half, outside, behind).labelled(), view)
    assert found.box[0, 0] == 0
    assert found.extent[0, 0] < -5
    assert (found.box[1:] == -1).all()


def test_loose_box_of_what_passes_the_camera_is_cut_at_the_near_plane():
    """Points behind the camera would be mirrored into the box."""
    beam = Solid("/World/beam", "box", (9, 0.1, 0.1), pose((0, 0, -1)))
    view = looking((0, 0, 0))
    found = loose_boxes(AnalyticRenderer(beam).labelled(), view)
    end = seen_at(view, [(9, 0, -0.9)])[0]
    assert found.extent[0, 1] == pytest.approx(end[1], abs=1e-4)
    assert found.box[0].tolist() == [0, round(end[1]), 159, 119]


def test_loose_box_under_a_fisheye_follows_the_bent_edges():
    """A straight edge, bent by the lens, would leave the box; the image is the reference."""
    lens = KannalaBrandt(
        focal_length=(60.0, 60.0),
    )
    view = looking((0, 0, 0), lens=lens)
    box = Solid("/World/box", "box", (0.1, 2.0, 0.1), pose((1.5, 0.1, 0.9)))
    frame = AnalyticRenderer(box).frame(view)
    assert not rectilinear(view)
    apart = loose_boxes(frame.entities, view).box[0] - tight_boxes(frame.images.entity, 1)[0]
    assert abs(apart).max() <= 1


def test_rectilinear_is_the_pinhole_only():
    """Edges would be taken for straight under a lens that bends them."""
    assert rectilinear(looking((0, 0, 0)))
    assert rectilinear(looking((0, 0, 0), lens=Pinhole(focal_length=(90.0, 70.0), center=(70.0, 65.0))))


def test_extent_of_a_box_is_its_own():
    """The projected corners of the 3D box would not bound the loose box."""
    box = Solid("/World/box", "box", (0.3, 0.4, 0.5), pose((5, -0.3, 0.2), TURNED), before=np.eye(4))
    renderer = AnalyticRenderer(box)
    (entity,) = renderer.labelled()
    np.testing.assert_allclose(entity.shape.extent, [(-0.3, -0.4, -0.5), (0.3, 0.4, 0.5)], atol=1e-7)
    view = looking((0, 0, 0))
    corners = seen_at(view, entity.shape.corners @ entity.pose[:3, :3].T + entity.pose[:3, 3])
    extent = loose_boxes([entity], view).extent[0]
    np.testing.assert_allclose(extent, [*corners.min(0), *corners.max(0)], atol=1e-4)


def test_parts_of_an_entity_are_one_shape_in_the_frame_of_the_first():
    """A vehicle's rotors would be missing from its boxes, or misplaced."""
    body = Solid("/World/drone", "box", (0.2, 0.2, 0.1), pose((3, 0, 1), TURNED))
    rotor = Solid("/World/drone", "box", (0.3, 0.02, 0.01), np.eye(4))
    scenes = [solid.scene(np.eye(4)) for solid in (body, rotor)]
    entity = scenes[0].entities["/World/drone"]
    objects = [RenderObject(f"/World/drone/{k}", scene, entity) for k, scene in enumerate(scenes)]
    place = pose((0.2, 0.1, 0.15), turn((0, 0, 1), np.pi / 2))
    poses = np.stack([body.pose, body.pose @ place])
    table = EntityTable(AnalyticRenderer().scene)
    (found,) = table.entities([entity], objects, poses, np.stack([np.eye(4)] * 2))
    np.testing.assert_allclose(found.shape.extent, [(-0.2, -0.2, -0.1), (0.22, 0.4, 0.16)], atol=1e-7)
    np.testing.assert_array_equal(found.pose, body.pose)
    np.testing.assert_array_equal(found.previous_pose, np.eye(4))
    (gone,) = table.entities([entity])
    assert gone.shape is None


def test_shape_of_a_scaled_instance_is_in_metres_of_the_entity():
    """The scale of an instance would be lost, or its rotation taken twice."""
    solid = Solid("/World/a", "box", (1.0, 1.0, 1.0), pose((1, 2, 3), TURNED))
    scene = solid.scene(solid.pose)
    scaled = solid.pose @ np.diag([0.5, 2.0, 3.0, 1.0])
    scene.instances[0] = type(scene.instances[0])("/World/a", "mesh", "m", scaled, {}, "/World/a")
    extent = entity_shapes(scene)["/World/a"].extent
    np.testing.assert_allclose(extent, [(-0.5, -2, -3), (0.5, 2, 3)], atol=1e-6)


@pytest.mark.parametrize("flat", [False, True])
def test_hull_candidates_keep_every_extreme_point(flat):
    """A hull's corner would be dropped and boxes be too small."""
    rng = np.random.default_rng(5)
    points = rng.normal(size=(5000, 3)) * [1.0, 2.0, 0.0 if flat else 0.5]
    kept = hull_candidates(points)
    assert flat or len(kept) < 2500
    directions = rng.normal(size=(2000, 3))
    np.testing.assert_array_equal((kept @ directions.T).max(0), (points @ directions.T).max(0))
