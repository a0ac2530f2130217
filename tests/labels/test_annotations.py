"""Tests of depth, points, motion and camera parameters against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from analytic_scenes import (
    FOCAL,
    AnalyticRenderer,
    Solid,
    in_camera,
    looking,
    pose,
    seen_at,
    turn,
)

from pegasus.contracts.renderer import View
from pegasus.dataset import (
    camera_parameters,
    distance_to_image_plane,
    motion_vectors,
    point_cloud,
    world_points,
)
from pegasus.labels.entities import MovingPart
from pegasus.optics.lens import BrownConrady, KannalaBrandt, Pinhole


def room(**moves):
    return AnalyticRenderer(
        Solid("/World/wall", "wall", (0.1, 20, 20), pose((8, 0, 0))),
        Solid("/World/box", "box", (0.3, 0.4, 0.5), pose((4, -0.5, 0.2), turn((1, 2, 3), 0.7)), **moves),
        Solid("/World/ball", "ball", 0.5, pose((4, 0.7, -0.2))),
        Solid("/World/rock", None, 0.4, pose((5, -1.6, -1.0))),
    )


def test_depth_of_a_wall_square_to_the_axis_is_constant():
    """Depth would be the distance along the ray, or its float32 lose digits."""
    view = looking((0, 0, 0))
    frame = AnalyticRenderer(Solid("/World/wall", "wall", (0.1, 20, 20), pose((8, 0, 0)))).frame(view)
    depth = distance_to_image_plane(frame.images.distance, frame.directions)
    assert depth.dtype == np.float32
    np.testing.assert_allclose(depth, 7.9, rtol=1e-6)


def test_depth_of_nothing_is_infinite():
    """Background would have a depth of NaN or of a far surface."""
    lens = KannalaBrandt(horizontal_fov=3.9)
    view = looking((0, 0, 0), lens=lens, resolution=(64, 48))
    frame = AnalyticRenderer(Solid("/World/ball", "ball", 0.5, pose((0, 1.0, 0)))).frame(view)
    depth = distance_to_image_plane(frame.images.distance, frame.directions)
    nothing = frame.images.entity < 0
    assert nothing.any()
    assert np.isposinf(depth[nothing]).all()
    # A fisheye also sees sideways and backwards: there the depth is negative, yet correct.
    points = world_points(frame.images.distance, frame.directions, view)[~nothing]
    np.testing.assert_allclose(depth[~nothing], in_camera(view, points)[:, 2], atol=1e-6)


def test_points_lie_on_the_surfaces():
    """Points would be off the surfaces, or have another's label, normal or colour."""
    view = looking((0.3, -0.2, 0.1), 0.1, -0.05)
    frame = room().frame(view)
    cloud = point_cloud(frame)
    labelled = (frame.images.entity >= 0) & (frame.images.entity != 3)
    assert len(cloud.points) == labelled.sum() < labelled.size
    np.testing.assert_array_equal(np.unique(cloud.instance), [2, 3, 4])
    np.testing.assert_array_equal(np.unique(cloud.semantic), [2, 3, 4])
    wall, box, ball = (cloud.instance == k for k in (2, 3, 4))
    np.testing.assert_allclose(cloud.points[wall, 0], 7.9, atol=1e-5)
    np.testing.assert_array_equal(cloud.normals[wall], np.tile([-1, 0, 0], (wall.sum(), 1)))
    center = np.array([4, 0.7, -0.2])
    np.testing.assert_allclose(np.linalg.norm(cloud.points[ball] - center, axis=1), 0.5, atol=1e-5)
    np.testing.assert_allclose(cloud.normals[ball], (cloud.points[ball] - center) / 0.5, atol=2e-5)
    local = (cloud.points[box] - [4, -0.5, 0.2]) @ turn((1, 2, 3), 0.7)
    np.testing.assert_allclose(np.abs(local / [0.3, 0.4, 0.5]).max(axis=1), 1, atol=2e-5)
    # The picture of the test is grey by entity: 200, 160, 120 for the wall, the box and the ball.
    np.testing.assert_array_equal(cloud.colors[:, 0], 280 - 40 * cloud.instance.astype(int))


def test_motion_of_a_moving_camera_and_object_is_the_difference_of_projections():
    """Flow would differ from the motion of the visible points."""
    before = pose((4.2, -0.6, 0.1), turn((1, 2, 3), 0.7) @ turn((0, 1, 0), 0.2))
    renderer = room(before=before)
    view, previous = looking((0, 0, 0)), looking((-0.2, 0.1, 0.05), 0.03, 0.02)
    frame = renderer.frame(view)
    found = motion_vectors(
        frame.images.distance, frame.directions, frame.images.entity, frame.entities, view, previous
    )
    points = world_points(frame.images.distance, frame.directions, view)
    moved = points.copy()
    box = frame.images.entity == 1
    carried = before @ np.linalg.inv(renderer.solids[1].pose)
    moved[box] = points[box] @ carried[:3, :3].T + carried[:3, 3]
    expected = seen_at(previous, moved) - seen_at(view, points)
    assert box.sum() > 100
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_what_turns_on_its_own_moves_on_its_own():
    """A rotor would have its vehicle's motion, or pass its own to its surroundings."""
    pivot, angle = np.array([4.0, -0.5, 0.2]), 0.3
    renderer = room()
    box = renderer.solids[1].pose
    spun = pose(pivot, turn((0, 0, 1), angle)) @ pose(-pivot)
    view = looking((0, 0, 0))
    frame = renderer.frame(view)
    # The part is the half of the box at positive z in the box's frame; the box itself stays.
    half = np.array([[-0.3, -0.4, 0.0], [0.3, 0.4, 0.5]])
    entities = list(frame.entities)
    entities[1] = replace(entities[1], parts=(MovingPart(half, box, spun @ box),))
    arguments = (frame.images.distance, frame.directions, frame.images.entity)
    found = motion_vectors(*arguments, entities, view, view)
    points = world_points(frame.images.distance, frame.directions, view)
    local = (points - box[:3, 3]) @ box[:3, :3]
    part = (frame.images.entity == 1) & (local[..., 2] > 1e-3)
    rest = (frame.images.entity == 1) & (local[..., 2] < -1e-3)
    assert part.sum() > 50
    assert rest.sum() > 50
    expected = seen_at(view, points[part] @ spun[:3, :3].T + spun[:3, 3]) - seen_at(view, points[part])
    np.testing.assert_allclose(found[part], expected, atol=1e-3)
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(found[rest], 0, atol=1e-3)


def test_motion_has_the_sign_of_replicator():
    """Motion to the left and upwards would be negative."""
    box = Solid("/World/box", "box", (0.3, 0.3, 0.3), pose((4.3, 0, 0)), before=pose((4.3, -0.2, -0.1)))
    view = looking((0, 0, 0))
    frame = AnalyticRenderer(box).frame(view)
    found = motion_vectors(
        frame.images.distance, frame.directions, frame.images.entity, frame.entities, view, view
    )
    front = frame.images.entity == 0
    np.testing.assert_allclose(
        found[front], np.tile([FOCAL * 0.2 / 4, FOCAL * 0.1 / 4], (front.sum(), 1)), rtol=1e-4
    )
    np.testing.assert_allclose(found[~front], 0, atol=1e-4)


def test_motion_of_the_sky_is_the_turn_of_the_camera():
    """The sky would move with the camera's translation, or ignore its rotation."""
    view, moved = looking((0, 0, 0)), looking((3, 1, 0))
    frame = AnalyticRenderer(Solid("/World/ball", "ball", 0.1, pose((-5, 0, 0)))).frame(view)
    images = frame.images
    arguments = (images.distance, frame.directions, images.entity, frame.entities, view)
    np.testing.assert_allclose(motion_vectors(*arguments, moved), 0, atol=1e-4)
    angle = 0.01
    turned = motion_vectors(*arguments, looking((0, 0, 0), -angle))
    # After a turn to the left, the sky has moved to the right.
    assert turned[60, 80, 0] == pytest.approx(-FOCAL * np.tan(angle), rel=1e-2)


def test_motion_matches_finite_differences_under_distortion():
    """Flow would ignore the lens: a small motion must agree with the slope of the projection."""
    lens = BrownConrady(focal_length=(FOCAL, FOCAL), k1=-0.2, k2=0.05, p1=0.001, p2=-0.002)
    step = np.array([0.0, 2e-3, -1e-3])
    view, previous = looking((0, 0, 0), lens=lens), looking(-step, lens=lens)
    frame = room().frame(view)
    found = motion_vectors(
        frame.images.distance, frame.directions, frame.images.entity, frame.entities, view, previous
    )
    points = in_camera(view, world_points(frame.images.distance, frame.directions, view))
    h = 1e-4
    shift = (step @ view.rotation) * h
    project = lambda p: lens.project(p, view.resolution)  # noqa: E731
    slope = (project(points + shift) - project(points - shift)) / (2 * h)
    np.testing.assert_allclose(found, slope, atol=2e-3)


def project_by_parameters(parameters, points):
    """Project points by the published parameters alone: row vectors, view, projection, normalised."""
    view = np.array(parameters["cameraViewTransform"]).reshape(4, 4)
    projection = np.array(parameters["cameraProjection"]).reshape(4, 4)
    clip = np.column_stack([points, np.ones(len(points))]) @ view @ projection
    device = clip[:, :3] / clip[:, 3:]
    width, height = parameters["renderProductResolution"]
    return np.stack([(device[:, 0] + 1) / 2 * width, (1 - device[:, 1]) / 2 * height, device[:, 2]], -1)


def test_camera_parameters_project_as_the_lens_does():
    """A reader of camera_params would project points beside their pixels."""
    lens = Pinhole(focal_length=(140.0, 155.0), center=(83.0, 57.0))
    base = looking((1, 2, 3), 0.4, -0.3, lens=lens)
    view = View(lens, (160, 120), base.position, base.rotation, near=0.05, far=200.0)
    parameters = camera_parameters(view)
    points = view.position + np.array([[1, 0.3, -0.2], [0.1, 0.2, 5.0], [-2, 1, 9]]) @ view.rotation.T
    local = in_camera(view, points)
    local[:, 2] = np.abs(local[:, 2])
    points = view.position + local @ view.rotation.T
    expected = np.stack([140 * local[:, 0] / local[:, 2] + 83, 155 * local[:, 1] / local[:, 2] + 57], -1)
    np.testing.assert_allclose(project_by_parameters(parameters, points)[:, :2], expected, atol=1e-9)
    depths = project_by_parameters(parameters, view.position + np.outer([0.05, 200.0], view.rotation[:, 2]))
    np.testing.assert_allclose(depths[:, 2], [1, 0], atol=1e-9)
    # As USD defines a camera: focal length and aperture, and the window shifted by the aperture's offset.
    ax, ay = parameters["cameraAperture"]
    ox, oy = parameters["cameraApertureOffset"]
    focal = parameters["cameraFocalLength"]
    assert focal / ax * 160 == pytest.approx(140)
    assert focal / ay * 120 == pytest.approx(155)
    assert 80 - ox / ax * 160 == pytest.approx(83)
    assert 60 + oy / ay * 120 == pytest.approx(57)
    assert parameters["cameraModel"] == "pinhole"
    assert "lens" not in parameters


def test_camera_parameters_name_the_lens_that_distorts():
    """A distorted image would be described as one of a pinhole."""
    lens = BrownConrady(focal_length=(150.0, 150.0), k1=-0.2)
    parameters = camera_parameters(looking((0, 0, 0), lens=lens))
    assert parameters["cameraModel"] == "opencvPinhole"
    assert parameters["lens"]["k1"] == -0.2
    np.testing.assert_allclose(parameters["lens"]["matrix"], [[150, 0, 80], [0, 150, 60], [0, 0, 1]])
