"""Tests that moving objects are hit and cast shadows as the same geometry of the world does."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from embree_scenes import at, ball, cube, look, quad, scene, sun
from scipy.spatial.transform import Rotation

from pegasus.base.arrays import Array
from pegasus.render import RenderObject
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.scene.scene import Entity, Geometry

GRAY: dict[str, Any] = {"diffuse_color": (0.5, 0.5, 0.5)}
PLACES = [(0.0, 0.0, 2.0), (0.4, 0.3, 2.1), (3.0, -1.0, 1.5), (-2.0, 2.5, 3.0)]


@pytest.fixture(scope="module")
def renderers() -> Iterator[tuple[EmbreeRenderer, EmbreeRenderer, list[Array]]]:
    """Return a renderer with moving spiders above the ground, one with them in its world, and their poses."""
    ground = ("ground", quad(40.0), GRAY, np.eye(4))
    turns = Rotation.random(len(PLACES), random_state=3).as_matrix()
    poses = [at(place, turn) for place, turn in zip(PLACES, turns, strict=True)]
    moving, fixed = EmbreeRenderer(threads=1, bounces=0), EmbreeRenderer(threads=1, bounces=0)
    moving.load(scene(ground, lights=[sun((0.3, 0.2, 1.0))]))
    body = scene(("body", spider(), GRAY, np.eye(4)))
    objects = [
        RenderObject(f"/World/s{k}/body", body, Entity(f"/World/s{k}", {}, np.eye(4))) for k in range(4)
    ]
    moving.add(objects)
    moving.move([item.path for item in objects], np.array(poses))
    items = [(f"s{k}", spider(), GRAY, pose) for k, pose in enumerate(poses)]
    fixed.load(scene(ground, *items, lights=[sun((0.3, 0.2, 1.0))]))
    yield moving, fixed, poses
    moving.close()
    fixed.close()


def spider() -> Geometry:
    """Return balls and cubes at the ends of arms, with gaps between them."""
    parts = [(ball(0.05, 24), (0.3 * np.cos(a), 0.3 * np.sin(a), 0.0)) for a in np.arange(6) * np.pi / 3]
    parts += [(cube(0.02), (0.1 * np.cos(a), 0.1 * np.sin(a), 0.05)) for a in np.arange(24) * np.pi / 12]
    firsts = np.cumsum([0, *[len(part.vertices) for part, _ in parts]])
    vertices = np.concatenate([part.vertices + np.array(place) for part, place in parts])
    faces = np.concatenate([part.faces + first for (part, _), first in zip(parts, firsts[:-1], strict=True)])
    normals = np.concatenate([part.normals for part, _ in parts])
    return Geometry(vertices.astype(np.float32), faces.astype(np.uint32), normals)


def test_rays_meet_moving_objects_as_fixed_ones(
    renderers: tuple[EmbreeRenderer, EmbreeRenderer, list[Array]],
) -> None:
    """A group of rays would pass by an object that one of them hits."""
    moving, fixed, poses = renderers
    random = np.random.default_rng(5)
    starts, ways = [], []
    for spread in (0.0, 0.02, 0.3, 3.0):
        for length in (64, 100, 7):
            # A bundle near an object, or far from all, whose rays differ more or less.
            middle = poses[random.integers(4)][:3, 3] + random.normal(size=3) * random.choice([0.1, 0.5, 3.0])
            way = random.normal(size=3)
            starts.append(middle + 0.3 * spread * random.normal(size=(length, 3)))
            ways.append(way / np.linalg.norm(way) + spread * random.normal(size=(length, 3)))
    starts, ways = starts * 12, [way @ Rotation.random(random_state=random).as_matrix() for way in ways * 12]
    origins, directions = np.concatenate(starts), np.concatenate(ways)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for max_range in (0.4, 50.0):
        one = moving.cast(origins, directions, max_range).distance
        two = fixed.cast(origins, directions, max_range).distance
        met = np.isfinite(two)
        assert (np.isfinite(one) == met).mean() > 0.9995
        both = met & np.isfinite(one)
        assert (np.abs(one[both] - two[both]) < 1e-4).mean() > 0.9995


@pytest.mark.parametrize("index", range(4))
def test_images_show_moving_objects_and_shadows_as_fixed_ones(
    renderers: tuple[EmbreeRenderer, EmbreeRenderer, list[Array]], index: int
) -> None:
    """An image from within the bounding sphere of an object would lack parts of it, or of its shadow."""
    moving, fixed, poses = renderers
    eye = poses[index] @ np.array([0.12, 0.05, 0.02, 1.0])
    for target in ((0.0, 0.0, 0.0), (3.0, -1.0, 1.5)):
        view = look(eye[:3], target, (160, 120), 80.0, near=0.001)
        one = moving.render(view, ["distance", "radiance"])
        two = fixed.render(view, ["distance", "radiance"])
        seen = np.isfinite(two.distance)
        near = np.abs(one.distance[seen] - two.distance[seen]) < 1e-4 * two.distance[seen] + 1e-5
        assert near.mean() > 0.999
        # Lamps are chosen per point, and penumbras are one pixel wide.
        alike = np.abs(one.radiance - two.radiance).max(axis=-1) < 0.02 * two.radiance.max()
        assert alike.mean() > 0.995


def test_images_that_are_begun_keep_their_objects() -> None:
    """An image would show an object where the next image has it, or without it."""
    renderer = EmbreeRenderer(threads=2, bounces=0)
    ground = ("ground", quad(40.0), GRAY, np.eye(4))
    renderer.load(scene(ground, lights=[sun((0.3, 0.2, 1.0))]))
    body, other = (scene(("body", shape, GRAY, np.eye(4))) for shape in (ball(0.5, 24), cube(0.4)))
    renderer.add([RenderObject("/World/a", body, Entity("/World/a", {}, np.eye(4)))])
    view = look((0.0, -6.0, 3.0), (0.0, 0.0, 0.5), (640, 480), 60.0)
    channels = ["radiance", "distance", "entity"]
    places = [at((x, 0.0, 0.5)) for x in np.linspace(-2.0, 2.0, 6)]
    alone = []
    for place in places:
        renderer.move(["/World/a"], place[None])
        alone.append(renderer.render(view, channels))
    begun = []
    for k, place in enumerate(places):
        renderer.move(["/World/a"], place[None])
        begun.append(renderer.begin(view, channels))
        if k == 3:
            # Meanwhile other objects come and go.
            renderer.add([RenderObject("/World/b", other, Entity("/World/b", {}, np.eye(4)))])
            renderer.remove(["/World/b"])
    for one, finish in zip(alone, begun, strict=True):
        two = finish()
        for name in channels:
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert not np.array_equal(alone[0].entity, alone[1].entity)
    renderer.close()
