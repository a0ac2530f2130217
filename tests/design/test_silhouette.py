"""Tests of the silhouettes of vehicles."""

import numpy as np
import pytest

from pegasus import Multirotor
from pegasus.design.silhouette import _areas, silhouette_areas
from pegasus.scene.scene import Geometry, Instance, Scene


def sphere(radius, count=60):
    azimuth, height = np.meshgrid(np.linspace(0, 2 * np.pi, count), np.linspace(0, np.pi, count))
    points = np.stack(
        [np.cos(azimuth) * np.sin(height), np.sin(azimuth) * np.sin(height), np.cos(height)], -1
    )
    number = np.arange(count * count).reshape(count, count)
    a, b, c, d = (x.ravel() for x in (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]))
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return Geometry((radius * points.reshape(-1, 3)).astype(np.float32), faces.astype(np.uint32), None)


def test_two_spheres_one_behind_the_other():
    """Areas of parts that hide each other would be counted twice, or transforms ignored."""
    placed = np.eye(4)
    placed[0, 3] = 3.0
    scene = Scene(
        source="spheres",
        geometries={"ball": sphere(0.2)},
        materials={},
        instances=[
            Instance("/a", "ball", None, np.eye(4), {}, "/a"),
            Instance("/b", "ball", None, placed, {}, "/b"),
        ],
        entities={},
        lights=[],
    )
    disc = np.pi * 0.2**2
    assert _areas(scene) == pytest.approx([disc, 2 * disc, 2 * disc], rel=0.015)


def test_a_shipped_vehicle():
    """The silhouette of the Iris would miss its body, or contain the discs of its propellers."""
    areas = silhouette_areas(Multirotor("iris"))
    body = Multirotor("iris").spec.body.size
    assert areas[2] > 0.5 * body[0] * body[1]
    assert areas[2] < 0.1
    assert areas[0] > 0.5 * body[1] * body[2]
