"""Tests of the Embree renderer against closed forms: geometry, moving objects, rays, errors."""

import builtins
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from embree_scenes import DOWN, at, ball, cube, look, quad, scene, sun, world_rays
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.render import NOTHING, RenderObject
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.scene.scene import Entity, Scene, Texture

GRAY: dict[str, Any] = {"diffuse_color": (0.5, 0.5, 0.5)}


@pytest.fixture(scope="module")
def renderer() -> Iterator[EmbreeRenderer]:
    made = EmbreeRenderer(threads=2, bounces=0)
    yield made
    made.close()


def drone(name: str = "drone", size: float = 0.5) -> RenderObject:
    body = scene(("body", cube(size), GRAY, np.eye(4)))
    return RenderObject(f"/World/{name}/body", body, Entity(f"/World/{name}", {"class": "drone"}, np.eye(4)))


def test_depth_of_a_plane(renderer: EmbreeRenderer) -> None:
    """A pixel-centre, lens or unit error would show as distances to the ground that are off."""
    renderer.load(scene(("ground", quad(400.0), GRAY, np.eye(4))))
    view = look((0.3, -0.2, 2.0), (4.0, 1.0, 0.0))
    images = renderer.render(view, ["distance"])
    rays = world_rays(view)
    down = rays[..., 2] < -0.05
    expected = -2.0 / rays[down][:, 2]
    assert images.distance is not None
    np.testing.assert_allclose(images.distance[down], expected, rtol=1e-6)
    assert images.radiance is None
    assert images.entity is None


def test_depth_far_from_the_origin(renderer: EmbreeRenderer) -> None:
    """Single precision about the world's origin would cost 1e-5 of a distance where vehicles fly afar."""
    place = (1000.3, -1200.7, 55.1)
    renderer.load(
        scene(("far", cube(2.0), GRAY, at(place)), ("ground", quad(6000.0), GRAY, at((0, 0, 0)))),
    )
    view = look((1000.3, -1210.7, 55.1), place, fov=8.0)
    images = renderer.render(view, ["distance"])
    rays = world_rays(view)
    assert images.distance is not None
    np.testing.assert_allclose(images.distance, 9.0 / rays[..., 1], rtol=1e-6)


def test_depth_mask_and_normals_of_a_ball(renderer: EmbreeRenderer) -> None:
    """Distance, outline and normals of a ball follow from the quadratic; cut finely it comes within 1e-4."""
    renderer.load(scene(("ball", ball(1.0), GRAY, at((3.0, 0.0, 1.0)))))
    view = look((0.0, 0.0, 1.0), (3.0, 0.0, 1.0), (160, 120), 50.0)
    images = renderer.render(view, ["distance", "entity", "normal", "material"])
    rays = world_rays(view)
    along = 3.0 * rays[..., 0]
    rest = 1.0 - (9.0 - along**2)
    # The triangles cut off 3e-5 of the radius, which at a slant is more of the distance.
    inside, outside = rest > 0.05, rest < 0.0
    near = along - np.sqrt(np.maximum(rest, 0.0))
    assert images.distance is not None
    assert images.normal is not None
    np.testing.assert_allclose(images.distance[inside], near[inside], rtol=1e-4)
    normal = near[..., None] * rays - [3.0, 0.0, 0.0]
    np.testing.assert_allclose(images.normal[inside], normal[inside], atol=2e-3)
    np.testing.assert_array_equal(images.entity[inside], 0)
    np.testing.assert_array_equal(images.material[inside], 0)
    assert np.isinf(images.distance[outside]).all()
    assert (images.normal[outside] == 0).all()
    assert (images.entity[outside] == NOTHING).all()
    assert renderer.entities[0].path == "/World/ball"
    assert list(renderer.materials) == ["/Looks/ball"]


def test_masks_of_boxes(renderer: EmbreeRenderer) -> None:
    """Ids would be exchanged, or a box be displaced by a pixel from its projection."""
    left, right = at((-1.0, 0.0, 0.5)), at((1.2, 0.4, 0.25)) @ np.diag([0.5, 0.5, 0.5, 1.0])
    renderer.load(
        scene(
            ("ground", quad(40.0), GRAY, np.eye(4)),
            ("left", cube(1.0), GRAY, left),
            ("right", cube(1.0), {"diffuse_color": (1.0, 0.0, 0.0)}, right),
        )
    )
    images = renderer.render(DOWN, ["entity", "material", "normal"])
    rays = world_rays(DOWN)
    for number, (x, y), half, top in ((1, (-1.0, 0.0), 0.5, 1.0), (2, (1.2, 0.4), 0.25, 0.5)):
        reach = (5.0 - top) / -rays[..., 2]
        from_edge = np.maximum(abs(reach * rays[..., 0] - x), abs(reach * rays[..., 1] - y)) - half
        assert images.entity is not None
        on_top = from_edge < -1e-3
        assert (images.entity[on_top] == number).all()
        assert (images.material[on_top] == number).all()
        assert on_top.sum() > 8
    np.testing.assert_allclose(
        images.normal[images.entity == 0], [[0.0, 0.0, 1.0]] * (images.entity == 0).sum()
    )


def test_normals_face_the_camera(renderer: EmbreeRenderer) -> None:
    """Seen from below, a face that points up would have a normal away from the camera."""
    renderer.load(scene(("ceiling", quad(40.0), GRAY, at((0, 0, 3)))))
    normal = renderer.render(look((0, 0, 1), (1, 0, 3)), ["normal"]).normal
    assert normal is not None
    np.testing.assert_allclose(normal, np.broadcast_to([0.0, 0.0, -1.0], normal.shape), atol=1e-6)


def test_mirrored_and_flat_instances(renderer: EmbreeRenderer) -> None:
    """A mirrored transform would invert normals, or a flat one, which has no inverse, fail."""
    pressed = np.diag([2.0, 2.0, 0.0, 1.0])
    renderer.load(
        scene(
            ("mirror", cube(1.0), GRAY, np.diag([-1.0, 1.0, 1.0, 1.0]) @ at((1.5, 0, 0.5))),
            ("flat", cube(1.0), GRAY, at((0.0, 0.0, 0.0)) @ pressed),
        )
    )
    images = renderer.render(DOWN, ["distance", "normal", "entity"])
    rays = world_rays(DOWN)
    for entity, top in ((0, 1.0), (1, 0.0)):
        up = (images.entity == entity) & (images.normal[..., 2] > 0.99)
        assert up.sum() > 20
        np.testing.assert_allclose(images.distance[up], (5.0 - top) / -rays[up][:, 2], rtol=1e-6)


def test_near_and_far(renderer: EmbreeRenderer) -> None:
    """Surfaces before the near distance or beyond the far one would be visible."""
    renderer.load(
        scene(("ground", quad(40.0), GRAY, np.eye(4)), ("hood", quad(9.0), GRAY, at((0.0, 0.0, 4.95))))
    )
    assert (renderer.render(DOWN, ["entity"]).entity == 1).all()
    behind = renderer.render(dataclasses.replace(DOWN, near=0.2), ["entity", "distance"])
    assert (behind.entity == 0).all()
    np.testing.assert_allclose(behind.distance, 5.0 / -world_rays(DOWN)[..., 2], rtol=1e-6)
    assert (renderer.render(dataclasses.replace(DOWN, near=0.2, far=4.9), ["entity"]).entity == NOTHING).all()


def test_objects_move_and_go(renderer: EmbreeRenderer) -> None:
    """A pose would act on the wrong side, or an id change when another object is removed."""
    renderer.load(scene(("ground", quad(40.0), GRAY, np.eye(4))))
    first, second = drone("one"), drone("two", 1.0)
    renderer.add([first, second])
    assert [entity.path for entity in renderer.entities] == ["/World/ground", "/World/one", "/World/two"]
    half = np.sqrt(0.5)
    turned = np.array([[half, -half, 0], [half, half, 0], [0, 0, 1.0]])
    renderer.move([first.path, second.path], np.array([at((1, 0, 1)), at((-1, 0, 2), turned)]))
    images = renderer.render(DOWN, ["entity", "distance"])
    rays = world_rays(DOWN)
    for number, x, top in ((1, 1.0, 1.25), (2, -1.0, 2.5)):
        reach = (5.0 - top) / -rays[..., 2]
        px, py = reach * rays[..., 0] - x, reach * rays[..., 1]
        if number == 1:
            inside = np.maximum(abs(px), abs(py)) < 0.249
        else:
            inside = abs(px) + abs(py) < 0.999 * np.sqrt(0.5)
        assert inside.sum() > 4
        assert (images.entity[inside] == number).all()
        np.testing.assert_allclose(images.distance[inside], reach[inside], rtol=1e-6)
    renderer.remove([first.path])
    left = renderer.render(DOWN, ["entity"]).entity
    assert set(np.unique(left)) == {0, 2}
    renderer.add([drone("one")])
    assert len(renderer.entities) == 3
    assert set(np.unique(renderer.render(DOWN, ["entity"]).entity)) == {0, 1, 2}


def test_many_objects_of_one_prototype(renderer: EmbreeRenderer) -> None:
    """Rays through several bounding spheres would not keep the nearest hit."""
    renderer.load(scene(("ground", quad(40.0), GRAY, np.eye(4))))
    fleet = [drone(f"d{k}") for k in range(12)]
    renderer.add(fleet)
    heights = [0.5, 3.0, 1.5, 2.0] * 3
    poses = np.array([at((0.05 * k - 0.3, 0.0, z)) for k, z in enumerate(heights)])
    renderer.move([item.path for item in fleet], poses)
    images = renderer.render(DOWN, ["entity", "distance"])
    middle = images.entity[24, 32]
    assert heights[middle - 1] == 3.0
    np.testing.assert_allclose(images.distance[24, 32], 1.75 / -world_rays(DOWN)[24, 32, 2], rtol=1e-6)


def leaf(tmp_path: Any) -> Texture:
    """Return an image whose left half is transparent."""
    pixels = np.full((64, 64, 4), 255, np.uint8)
    pixels[:, :32, 3] = 0
    Image.fromarray(pixels).save(tmp_path / "leaf.png")
    return Texture(tmp_path / "leaf.png", channel="a", srgb=False, wrap=("clamp", "clamp"))


def test_cut_outs_are_passed(renderer: EmbreeRenderer, tmp_path: Any) -> None:
    """Surfaces behind a cut-out would be missing in a channel, or for rays."""
    cut = {**GRAY, "opacity": leaf(tmp_path), "opacity_threshold": 0.5}
    renderer.load(
        scene(
            ("ground", quad(40.0), GRAY, np.eye(4)),
            ("low", quad(4.0), cut, at((0, 0, 1))),
            ("high", quad(4.0), cut, at((0, 0, 2))),
        )
    )
    renderer.add([drone()])
    renderer.move(["/World/drone/body"], at((-0.8, 0, 0.5))[None])
    images = renderer.render(DOWN, ["entity", "distance", "normal", "material"])
    rays = world_rays(DOWN)
    x, y = (rays[..., k] * 3 / -rays[..., 2] for k in (0, 1))
    right = (x > 0.1) & (x < 1.9) & (abs(y) < 1.9)
    assert (images.entity[right] == 2).all()
    left = (x < -0.2) & (x > -1.9) & (abs(y) < 1.9)
    # On the left the sheets are transparent: only the ground and the drone are visible.
    assert set(np.unique(images.entity[left])) == {0, 3}
    ground = left & (images.entity == 0)
    np.testing.assert_allclose(images.distance[ground], 5.0 / -rays[ground][:, 2], rtol=1e-6)
    returns = renderer.cast(np.tile([-1.6, 0.0, 5.0], (2, 1)), np.array([[0, 0, -1.0], [0.6, 0, -0.8]]), 10.0)
    assert list(returns.entity) == [0, 2]
    np.testing.assert_allclose(returns.distance, [5.0, 3.75], rtol=1e-6)


def test_cut_outs_of_moving_objects_are_passed(renderer: EmbreeRenderer, tmp_path: Any) -> None:
    """A net or a leaf on a vehicle would be opaque, and cast an opaque shadow."""
    cut = {**GRAY, "opacity": leaf(tmp_path), "opacity_threshold": 0.5}
    renderer.load(scene(("ground", quad(40.0), GRAY, np.eye(4)), lights=[sun((0, 0, 1))]))
    sheet = scene(("sheet", quad(2.0), cut, np.eye(4)), ("pole", cube(0.1), GRAY, at((0.8, 0.8, 0.3))))
    renderer.add([RenderObject("/World/net", sheet, Entity("/World/net", {"class": "net"}, np.eye(4)))])
    # Turned by 90 degrees, its open half is the one to the south.
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    renderer.move(["/World/net"], at((0, 0, 6), turned)[None])
    images = renderer.render(DOWN, ["radiance", "entity"])
    rays = world_rays(DOWN)
    x, y = (rays[..., k] * 5 / -rays[..., 2] for k in (0, 1))
    inside = (abs(x) < 0.9) & (abs(y) < 0.9) & ~((x < -0.7) & (y > 0.7))
    assert (images.radiance[inside & (y > 0.1)] == 0).all()
    assert (images.radiance[inside & (y < -0.1)] > 0).all()
    renderer.move(["/World/net"], at((0, 0, 1), turned)[None])
    x, y = (rays[..., k] * 4 / -rays[..., 2] for k in (0, 1))
    entity = renderer.render(DOWN, ["entity"]).entity
    inside = (abs(x) < 0.9) & (abs(y) < 0.9) & ~((x < -0.6) & (y > 0.6))
    assert (entity[inside & (y > 0.1)] == 1).all()
    assert (entity[inside & (y < -0.1)] == 0).all()


def test_any_number_of_cut_outs_is_passed(renderer: EmbreeRenderer, tmp_path: Any) -> None:
    """In a hedge of many leaves, rays would stop after a fixed number of cut-outs."""
    cut = {**GRAY, "opacity": leaf(tmp_path), "opacity_threshold": 0.5}
    leaves = [(f"leaf{k}", quad(2.0), cut, at((0, 0, 1.0 + 0.01 * k))) for k in range(200)]
    renderer.load(scene(("ground", quad(40.0), GRAY, np.eye(4)), *leaves, lights=[sun((0, 0, 1))]))
    returns = renderer.cast(np.tile([-0.4, 0.1, 5.0], (1, 1)), np.array([[0, 0, -1.0]]), 10.0)
    assert list(returns.entity) == [0]
    images = renderer.render(look((-0.4, 0.1, 0.9), (-0.4, 0.1, 0.0)), ["radiance"])
    assert (images.radiance[24, 32] > 0).all()


def test_the_image_of_an_opacity_is_turned_and_repeated(renderer: EmbreeRenderer, tmp_path: Any) -> None:
    """A texture's transform and wrap mode would be ignored for its opacity."""
    image = dataclasses.replace(
        leaf(tmp_path), wrap=("repeat", "repeat"), uv_rotation=math.pi / 2, uv_scale=(2.0, 2.0)
    )
    cut = {**GRAY, "opacity": image, "opacity_threshold": 0.5}
    renderer.load(scene(("ground", quad(40.0), GRAY, np.eye(4)), ("sheet", quad(2.0), cut, at((0, 0, 1)))))
    # Across the sheet v runs from 0 to 1, and u' = -2 v: the holes are where that is in (0, 0.5).
    y = np.linspace(-0.95, 0.95, 20)
    origins = np.stack([np.full(20, 0.3), y, np.full(20, 5.0)], axis=1)
    returns = renderer.cast(origins, np.tile([0.0, 0.0, -1.0], (20, 1)), 10.0)
    hole = np.mod(-2 * (y + 1) / 2, 1.0) < 0.5
    assert 5 < hole.sum() < 15
    np.testing.assert_array_equal(returns.entity, np.where(hole, 0, 1))


def moeller_trumbore(origins: Any, directions: Any, corners: Any) -> Any:
    """Return the distance to the nearest of some triangles (Moeller and Trumbore 1997), shape (K,)."""
    a, one, two = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = np.cross(directions[:, None], two[None])
    det = (one[None] * p).sum(-1)
    t_vec = origins[:, None] - a[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (t_vec * p).sum(-1) / det
        q = np.cross(t_vec, np.broadcast_to(one[None], t_vec.shape))
        v = (directions[:, None] * q).sum(-1) / det
        t = (two[None] * q).sum(-1) / det
    hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)
    return np.where(hit, t, np.inf).min(axis=1)


def test_cast_against_moeller_trumbore(renderer: EmbreeRenderer) -> None:
    """A ray would hit another triangle, or at another distance, than by the textbook algorithm."""
    random = np.random.default_rng(7)
    world = scene(
        ("ground", quad(40.0), GRAY, np.eye(4)),
        *((f"box{k}", cube(1.0), GRAY, at(random.uniform((-4, -4, 0), (4, 4, 8)))) for k in range(6)),
    )
    renderer.load(world)
    renderer.add([drone("mover", 2.0)])
    renderer.move(["/World/mover/body"], at((1.0, 2.0, 3.0))[None])
    corners = []
    for item in world.instances:
        geometry = world.geometries[item.geometry]
        corners.append((geometry.vertices @ item.transform[:3, :3].T + item.transform[:3, 3])[geometry.faces])
    body = cube(2.0)
    corners.append((body.vertices + np.array([1.0, 2.0, 3.0]))[body.faces])
    origins = random.uniform((-6, -6, 1), (6, 6, 13), (3000, 3))
    directions = random.normal(size=(3000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    returns = renderer.cast(origins, directions, 8.0)
    expected = moeller_trumbore(origins, directions, np.concatenate(corners))
    expected[expected > 8.0] = np.inf
    same = np.isclose(returns.distance, expected, rtol=1e-6)
    # A ray within rounding of an edge may go either way.
    assert same.mean() > 0.999
    assert returns.distance.dtype == np.float64
    hit = np.isfinite(returns.distance)
    assert ((returns.normal[hit] * directions[hit]).sum(axis=1) < 0).all()
    assert (returns.entity[~hit] == NOTHING).all()
    assert (returns.normal[~hit] == 0).all()
    assert 7 in returns.entity


@pytest.mark.parametrize("width", [1, 6, 16, 64])
def test_rows_of_neighbouring_rays_meet_the_same(renderer: EmbreeRenderer, width: int) -> None:
    """Rays that are cast together with those of the next row would be lost or exchanged."""
    random = np.random.default_rng(9)
    boxes = [(f"box{k}", cube(1.0), GRAY, at(random.uniform((-6, -6, 0), (6, 6, 4)))) for k in range(12)]
    renderer.load(scene(("ground", quad(40.0), GRAY, np.eye(4)), *boxes))
    renderer.add([drone("mover", 2.0)])
    renderer.move(["/World/mover/body"], at((1.0, 2.0, 3.0))[None])
    # An odd number of rows, in several chunks.
    rows = 20_001 // width | 1
    azimuth = np.linspace(0, 2 * np.pi, rows)[:, None]
    elevation = np.linspace(-0.05, 0.3, width)[None]
    parts = (
        np.cos(elevation) * np.cos(azimuth),
        np.cos(elevation) * np.sin(azimuth),
        np.sin(elevation + 0 * azimuth),
    )
    directions = np.stack(parts, axis=-1).reshape(-1, 3)
    origins = np.array([0.3, 0.2, 2.0]) + 1e-5 * np.arange(rows * width)[:, None]
    alone = renderer.cast(origins, directions, 50.0)
    together = renderer.cast(origins, directions, 50.0, width=width)
    for one, other in zip(alone, together, strict=True):
        # A ray within rounding of an edge may go either way.
        assert (one == other).mean() > 0.999
    assert len(np.unique(alone.entity)) > 3


def test_the_same_with_any_number_of_threads(renderer: EmbreeRenderer) -> None:
    """An image would depend on the number of threads."""
    world = scene(
        ("ground", quad(40.0), GRAY, np.eye(4)),
        ("ball", ball(1.0, 32), {"diffuse_color": (0.8, 0.1, 0.1), "roughness": 0.3}, at((1, 1, 1))),
        lights=[sun((1, 0.5, 1))],
    )
    view = look((-3, -2, 2), (1, 1, 0.5), (320, 240))
    pictures = []
    with_one = EmbreeRenderer(threads=1, bounces=0)
    for made in (renderer, renderer, with_one):
        made.load(world)
        made.add([drone()])
        made.move(["/World/drone/body"], at((0, 0, 1))[None])
        pictures.append(made.render(view, ["radiance", "distance", "normal", "entity"], samples=3))
    with_one.close()
    for other in pictures[1:]:
        for one, two in zip(pictures[0], other, strict=True):
            if one is not None:
                np.testing.assert_array_equal(one, two)


def test_single_rays_meet_what_packets_do(renderer: EmbreeRenderer, tmp_path: Any) -> None:
    """A processor without packets of eight rays would render another image."""
    leaves = {"diffuse_color": (0.1, 0.5, 0.1), "opacity": leaf(tmp_path), "opacity_threshold": 0.5}
    world = scene(
        ("ground", quad(20.0), GRAY, np.eye(4)),
        ("ball", ball(0.7, 24), GRAY, at((0.3, 0.2, 0.9))),
        ("leaf", quad(2.0), leaves, at((-0.5, 0.0, 2.0))),
        lights=[sun((0.3, -0.2, -1.0))],
    )
    # Odd rows, and a width that four does not divide.
    for size in ((64, 47), (61, 40)):
        view = dataclasses.replace(look((-3.0, -2.0, 4.0), (0.0, 0.0, 0.5)), resolution=size)
        pictures = []
        for packets in (True, False):
            renderer.load(world)
            renderer.add([drone()])
            renderer.move(["/World/drone/body"], np.array([at((1.0, -0.5, 1.5))]))
            renderer._store._embree.packets = packets
            pictures.append(renderer.render(view, ["distance", "entity", "normal", "radiance"]))
        for name, one in pictures[0]._asdict().items():
            other = getattr(pictures[1], name)
            if one is not None:
                same = np.isclose(one, other, rtol=1e-5, atol=1e-6).reshape(*one.shape[:2], -1).all(axis=-1)
                # Rays that graze an edge may fall to either side.
                assert same.mean() > 0.995, name
        assert len(np.unique(pictures[0].entity)) >= 4


def test_an_empty_scene_is_refused(renderer: EmbreeRenderer) -> None:
    """An empty scene would give black images."""
    with pytest.raises(ConfigError, match="void: holds nothing to draw; give it a mesh"):
        renderer.load(Scene("void"))


@pytest.mark.parametrize(
    ("channels", "samples", "message"),
    [(["depth"], 1, "channels.*'depth'.*radiance"), (["radiance"], 0, "samples = 0: must be at least 1")],
)
def test_bad_requests_are_refused(
    renderer: EmbreeRenderer, channels: list[str], samples: int, message: str
) -> None:
    """A misspelt channel would be left out without an error."""
    renderer.load(scene(("ground", quad(), GRAY, np.eye(4))))
    with pytest.raises(ConfigError, match=message):
        renderer.render(DOWN, channels, samples=samples)


def test_unknown_and_doubled_objects_are_refused(renderer: EmbreeRenderer) -> None:
    """Two objects of one path, or a pose for a missing one, would be accepted."""
    renderer.load(scene(("ground", quad(), GRAY, np.eye(4))))
    renderer.add([drone()])
    with pytest.raises(ConfigError, match="is in use already"):
        renderer.add([drone()])
    with pytest.raises(ConfigError, match="'/World/x': is not an object"):
        renderer.move(["/World/x"], np.eye(4)[None])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing extra would not be named with its install command."""
    known = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith("embreex"):
            raise ModuleNotFoundError("No module named 'embreex'", name="embreex")
        return known(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"embreex, which is not installed; pip install .*\[render\]"):
        EmbreeRenderer()


def test_closing_twice() -> None:
    """A second close, by owner and simulation, would fail."""
    made = EmbreeRenderer(threads=1)
    made.load(scene(("ground", quad(), GRAY, np.eye(4))))
    made.close()
    made.close()
    with pytest.raises(RuntimeError, match="no scene is loaded"):
        made.render(DOWN, ["distance"])
