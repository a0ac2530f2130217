"""Tests of the courtyard: free for flight, complete, and of the documented heights."""

from collections.abc import Callable

import numpy as np
import pytest

from pegasus.config.files import load_world
from pegasus.scene.colliders import bounds
from pegasus.scene.scene import Collider, ColliderShape, Scene, Texture
from pegasus.scene.translation import translate
from pegasus.worlds import made_world


@pytest.fixture(scope="module")
def courtyard() -> Scene:
    """The scene of the shipped world."""
    usd = made_world(load_world("courtyard")[0]).usd
    assert usd is not None
    return translate(usd)


def solids(scene: Scene) -> list[Collider]:
    return [collider for collider in scene.colliders if collider.shape is not ColliderShape.PLANE]


def test_the_courtyard_is_free_within_14_metres(courtyard: Scene) -> None:
    """The default mission (a square, a circle of 10 m, a lemniscate) would end in a wall."""
    for collider in solids(courtyard):
        low, high = bounds(collider)
        nearest = np.clip(0.0, low[:2], high[:2])
        assert np.hypot(*nearest) > 14.0, collider.path
    for instance in courtyard.instances:
        geometry = courtyard.geometries[instance.geometry]
        vertices = geometry.vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
        above = vertices[vertices[:, 2] > 1e-3]
        assert (np.hypot(above[:, 0], above[:, 1]) > 14.0).all(), instance.path


def test_the_courtyard_has_what_it_says(courtyard: Scene) -> None:
    """A part of the courtyard would be missing, or lack its collider."""
    labels = {instance.labels["class"] for instance in courtyard.instances}
    assert labels >= {"wall", "gate", "steps", "terrace", "ramp", "pillar", "tree", "bench", "lamp", "lawn"}
    paths = [collider.path for collider in courtyard.colliders]
    assert sum(path.endswith("/Trunk") for path in paths) == 14
    assert sum(path.endswith("/Shaft") for path in paths) == 18
    assert not any(path.endswith("/Foliage") for path in paths)
    # What repeats is instanced: one foliage of each kind of plant, however many there are.
    assert sum(name.endswith("/Foliage") for name in courtyard.geometries) == 3


def test_what_is_drawn_fits_what_collides(courtyard: Scene) -> None:
    """A vehicle would enter stone that its cameras see, by more than the eaves' 9 cm."""
    low, high = (np.array(ends) for ends in zip(*(bounds(c) for c in solids(courtyard)), strict=True))
    classes = {"wall", "gate", "steps", "terrace", "roof", "pillar"}
    for item in courtyard.instances:
        if item.labels["class"] in classes:
            vertices = courtyard.geometries[item.geometry].vertices
            points = np.unique(vertices @ item.transform[:3, :3].T + item.transform[:3, 3], axis=0)
            outside = np.maximum(np.maximum(low - points[:, None], points[:, None] - high), 0.0).max(axis=2)
            assert outside.min(axis=1).max() < 0.09, item.path


def test_paving_does_not_repeat(courtyard: Scene) -> None:
    """Neighbouring tiles would show the same stones."""
    paving = [g for name, g in courtyard.geometries.items() if "paving" in name]
    corners = np.concatenate([np.round(g.uvs[g.faces[::2, 0]] % 4.0, 3) for g in paving])
    assert len(corners) > 600
    assert len(np.unique(corners, axis=0)) > 0.95 * len(corners)


def test_steps_are_low_enough_to_climb_and_lead_to_the_terrace(courtyard: Scene) -> None:
    """The steps would end below or above the terrace."""
    tops = {c.path: bounds(c)[1][2] for c in courtyard.colliders if "/Step" in c.path or "Terrace" in c.path}
    heights = np.diff([0.0, *sorted(tops.values())])
    np.testing.assert_allclose(heights, 0.15, atol=1e-6)
    assert len(heights) == 6


def test_the_foliage_is_closed(courtyard: Scene, area_and_volume: Callable[..., tuple[float, float]]) -> None:
    """Crowns and hedges would be hollow."""
    for name, geometry in courtyard.geometries.items():
        if name.endswith("/Foliage"):
            assert area_and_volume(geometry.vertices, geometry.faces)[1] > 0.7


def test_neighbouring_tiles_are_weathered_alike(courtyard: Scene) -> None:
    """Tiles would look like a chequered carpet: shades would change at random from tile to tile."""
    shade: dict[tuple[int, int], int] = {}
    for name in ("light_paving", "dark_paving"):
        parts = [item for item in courtyard.instances if item.labels["class"] == name]
        tones = [courtyard.materials[part.material].diffuse_color for part in parts]
        order = np.argsort([tone.scale[0] for tone in tones if isinstance(tone, Texture)])
        assert len(order) == 3
        for rank, k in enumerate(order):
            geometry = courtyard.geometries[parts[k].geometry]
            middle = geometry.vertices[geometry.faces].mean(axis=1)[:, :2]
            shade |= dict.fromkeys(map(tuple, np.floor(middle / 2.0).astype(int).tolist()), rank)
    assert len(shade) > 700
    assert min(np.bincount(list(shade.values()))) > 0.1 * len(shade)
    steps = [abs(rank - shade[x + 1, y]) for (x, y), rank in shade.items() if (x + 1, y) in shade]
    # At random a third would be equal, and two ninths would differ by two shades.
    assert np.mean(np.array(steps) == 0) > 0.55
    assert np.mean(np.array(steps) == 2) < 0.05
