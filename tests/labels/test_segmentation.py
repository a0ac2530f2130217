"""Tests of ids, colours and tight boxes."""

import numpy as np
from analytic_scenes import CLASSES, AnalyticRenderer, Solid, in_camera, looking, pose, seen_at

from pegasus.dataset import LabelledEntity, class_names, colors, instance_ids, semantic_ids, tight_boxes
from pegasus.labels.segmentation import colored, visible_pixels


def things(*labels):
    eye = np.eye(4)
    return [
        LabelledEntity(f"/World/{k}", {} if label is None else {"class": label}, eye, eye)
        for k, label in enumerate(labels)
    ]


def test_colors_are_those_of_replicator():
    """Tools with Replicator's colours built in would take one class for another."""
    published = [
        (0, 0, 0, 0),
        (0, 0, 0, 255),
        (140, 255, 25, 255),
        (140, 25, 255, 255),
        (255, 197, 25, 255),
        (25, 255, 82, 255),
        (25, 82, 255, 255),
        (255, 25, 197, 255),
        (255, 111, 25, 255),
        (226, 255, 25, 255),
        (54, 255, 25, 255),
    ]
    np.testing.assert_array_equal(colors(np.arange(11)), published)


def test_no_two_ids_share_a_color():
    """Two instances of one colour could not be told apart in the picture."""
    table = colors(np.arange(30_000))
    assert len(np.unique(table.view(np.uint32))) == 30_000


def test_ids_follow_entities_and_classes():
    """A pixel would have the id of another entity or class, or an unlabelled one have an id."""
    entities = things("box", None, "ball", "box", "tree")
    entity = np.array([[-1, 0, 1], [2, 3, 4]], np.int32)
    np.testing.assert_array_equal(instance_ids(entity, entities, ("ball", "box")), [[0, 2, 1], [4, 5, 1]])
    np.testing.assert_array_equal(semantic_ids(entity, entities, ("ball", "box")), [[0, 3, 1], [2, 3, 1]])
    assert class_names(entities) == ("ball", "box", "tree")


def test_a_picture_of_ids_has_their_colors():
    """The image's colours would not be those of the legend."""
    ids = np.array([[0, 1], [2, 9]], np.uint32)
    np.testing.assert_array_equal(colored(ids), colors(ids))


def test_masks_equal_the_analytic_ones_but_for_edges():
    """A pixel of a ball or a box would have a wrong label."""
    ball = Solid("/World/ball", "ball", 0.5, pose((4, 0.6, 0.2)))
    box = Solid("/World/box", "box", (0.3, 0.4, 0.5), pose((4, -0.8, 0)))
    view = looking((0, 0, 0))
    frame = AnalyticRenderer(ball, box).frame(view)
    ids = semantic_ids(frame.images.entity, frame.entities, CLASSES)
    u, v = np.meshgrid(np.arange(160) + 0.5, np.arange(120) + 0.5)
    rays = np.stack([(u - 80) / 150, (v - 60) / 150, np.ones_like(u)], -1)
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    center = in_camera(view, ball.pose[:3, 3])
    apart = np.arccos(np.minimum(rays @ center / np.linalg.norm(center), 1)) - np.arcsin(
        0.5 / np.linalg.norm(center)
    )
    pixel = 1 / 150
    assert (ids[apart < -pixel] == 2).all()
    assert not (ids[apart > pixel] == 2).any()
    # The near face of the box covers a rectangle of the image.
    (left, top), (right, bottom) = seen_at(view, [(3.7, -0.4, 0.5), (3.7, -1.2, -0.5)])
    inside = (u > left + 1) & (u < right - 1) & (v > top + 1) & (v < bottom - 1)
    assert inside.sum() > 500
    assert (ids[inside] == 3).all()


def test_tight_boxes_bound_the_visible_pixels():
    """Boxes would not be tight, or include hidden parts."""
    rng = np.random.default_rng(3)
    entity = rng.integers(-1, 6, (20, 30)).astype(np.int32)
    entity[entity == 4] = 0
    entity[entity == 5] = -1
    entity[7, 11] = 5
    boxes, areas = tight_boxes(entity, 7), visible_pixels(entity, 7)
    for k in range(7):
        rows, columns = np.nonzero(entity == k)
        expected = [columns.min(), rows.min(), columns.max(), rows.max()] if len(rows) else [-1] * 4
        assert boxes[k].tolist() == expected
        assert areas[k] == len(rows)


def test_tight_box_of_a_box_is_its_projection_to_a_pixel():
    """A fully visible object's box would be off by more than a pixel."""
    box = Solid("/World/box", "box", (0.3, 0.4, 0.5), pose((4, -0.3, 0.2)))
    view = looking((0, 0, 0))
    frame = AnalyticRenderer(box).frame(view)
    (x_min, y_min, x_max, y_max) = tight_boxes(frame.images.entity, 1)[0]
    (left, top), (right, bottom) = seen_at(view, [(3.7, 0.1, 0.7), (3.7, -0.7, -0.3)])
    assert abs(np.array([x_min - left, y_min - top, x_max + 1 - right, y_max + 1 - bottom])).max() <= 1
