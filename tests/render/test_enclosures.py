"""Tests of the search for objects that enclose a point."""

import numpy as np
from embree_scenes import cube, scene

from pegasus.scene.enclosures import Enclosures


def test_boxes_at_any_pose() -> None:
    """A point in a turned, stretched or mirrored box would go unnoticed, or one beside it would not."""
    random = np.random.default_rng(4)
    found = 0
    for _ in range(60):
        axes = np.linalg.qr(random.normal(size=(3, 3)))[0]
        pose = np.eye(4)
        pose[:3, :3] = axes * random.uniform(0.2, 3.0, 3) * random.choice([-1.0, 1.0], 3)
        pose[:3, 3] = random.uniform(-5.0, 5.0, 3)
        enclosures = Enclosures(scene(("box", cube(1.0), {}, pose)))
        for local in random.uniform(-0.8, 0.8, (20, 3)):
            inside = bool((np.abs(local) < 0.5).all())
            assert (enclosures.around(pose[:3, :3] @ local + pose[:3, 3]) is not None) == inside
            found += inside
    assert 100 < found < 1100


def test_an_open_box_encloses_nothing() -> None:
    """A hood that is open below would count as an enclosure."""
    box = cube(1.0)
    centers = box.vertices[box.faces].mean(axis=1)
    hood = type(box)(box.vertices, box.faces[centers[:, 2] > -0.4], box.normals)
    assert Enclosures(scene(("hood", hood, {}, np.eye(4)))).around(np.zeros(3)) is None
    assert Enclosures(scene(("box", box, {}, np.eye(4)))).around(np.zeros(3)) is not None


def test_small_moves_find_what_a_new_search_finds() -> None:
    """A sensor that moves into a tree would not be reported, because it was beside it before."""
    random = np.random.default_rng(8)
    # Two boxes of one geometry, whose common bounding box holds the path between them.
    box = cube(0.6)
    shift = np.array([0.6, 0.5, 0.0], np.float32)
    pair = type(box)(
        np.concatenate([box.vertices - shift, box.vertices + shift]),
        np.concatenate([box.faces, box.faces + len(box.vertices)]),
        np.concatenate([box.normals, box.normals]),
    )
    drawn = scene(("pair", pair, {}, np.eye(4)))
    kept, found = Enclosures(drawn), 0
    point = np.zeros(3)
    for _ in range(2000):
        point = np.clip(point + random.normal(0.0, 0.04, 3), [-0.9, -0.8, -0.29], [0.9, 0.8, 0.29])
        inside = kept.around(point)
        assert inside == Enclosures(drawn).around(point)
        found += inside is not None
    assert 20 < found < 1000
