"""Tests of the Mitsuba renderer against closed forms and the Embree renderer."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embree_scenes import DOWN, LAMBERT, at, ball, cube, dome, look, quad, scene, sun, world_rays
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.optics.lens import KannalaBrandt
from pegasus.render import NOTHING, RenderObject, View
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.render.photo import shapes as shapes
from pegasus.render.photo.renderer import MitsubaRenderer, load_mitsuba
from pegasus.render.sky import EMISSION
from pegasus.scene.scene import Entity, Light, Scene, Texture

pytestmark = pytest.mark.photo

GRAY: dict[str, Any] = {"diffuse_color": (0.5, 0.5, 0.5)} | LAMBERT


@pytest.fixture
def renderer() -> Iterator[MitsubaRenderer]:
    """A renderer without denoising."""
    made = MitsubaRenderer(denoise=False)
    yield made
    made.close()


@pytest.fixture
def photographer() -> Iterator[MitsubaRenderer]:
    """A Mitsuba renderer with its default options."""
    made = MitsubaRenderer()
    yield made
    made.close()


def drone(name: str = "drone", size: float = 0.5, **more: Any) -> RenderObject:
    body = scene(("body", cube(size), GRAY | more, np.eye(4)))
    return RenderObject(f"/World/{name}/body", body, Entity(f"/World/{name}", {"class": "drone"}, np.eye(4)))


def picture(path: Path, pixels: Any) -> Path:
    Image.fromarray(np.array(pixels, np.uint8)).save(path)
    return path


def leaf(folder: Path) -> dict[str, Any]:
    """A material that is opaque only in its lower left quarter."""
    pixels = np.full((32, 32, 4), 255)
    pixels[:, :, 3] = 0
    pixels[16:, :16, 3] = 255
    file = picture(folder / "leaf.png", pixels)
    opacity = Texture(file, channel="a", srgb=False, wrap=("clamp", "clamp"))
    return GRAY | {"opacity": opacity, "opacity_threshold": 0.5}


def test_depth_of_a_plane(renderer: MitsubaRenderer) -> None:
    """A pixel-centre, lens or unit error would show as distances to the ground that are off."""
    renderer.load(scene(("ground", quad(400.0), GRAY, np.eye(4))))
    view = look((0.3, -0.2, 2.0), (4.0, 1.0, 0.0), (32, 24))
    images = renderer.render(view, ["distance"])
    rays = world_rays(view)
    down = rays[..., 2] < -0.05
    assert images.distance is not None
    np.testing.assert_allclose(images.distance[down], -2.0 / rays[down][:, 2], rtol=1e-6)
    assert images.radiance is None
    assert images.entity is None


def test_depth_mask_and_normals_of_a_ball(renderer: MitsubaRenderer) -> None:
    """Smooth normals would be flat, inverted, or those of another face."""
    renderer.load(scene(("ball", ball(1.0), GRAY, at((0.0, 3.0, 0.0)))))
    view = look((0, 0, 0), (0, 3, 0), (40, 30), fov=50.0)
    images = renderer.render(view, ["distance", "normal", "entity"])
    rays = world_rays(view)
    along = rays @ [0.0, 3.0, 0.0]
    missed = 9.0 - along**2
    inside, outside = missed < 0.99, missed > 1.01
    assert images.distance is not None
    assert images.normal is not None
    assert images.entity is not None
    distance = along - np.sqrt(np.maximum(1.0 - missed, 0.0))
    np.testing.assert_allclose(images.distance[inside], distance[inside], rtol=1e-4)
    normal = rays * distance[..., None] - [0.0, 3.0, 0.0]
    np.testing.assert_allclose(images.normal[inside], normal[inside], atol=2e-3)
    assert (images.entity[inside] == 0).all()
    assert (images.entity[outside] == NOTHING).all()
    assert not images.normal[outside].any()
    assert np.isinf(images.distance[outside]).all()


def test_depth_of_a_scaled_box_far_away(renderer: MitsubaRenderer) -> None:
    """A scale would be lost, or single precision cost digits far from the origin."""
    place = (500.3, -300.7, 55.1)
    pose = at(place)
    pose[:3, :3] = np.diag([2.0, 3.0, 1.0])
    renderer.load(scene(("box", cube(1.0), GRAY, pose)))
    view = look((500.3, -312.2, 55.1), place, (16, 12), fov=4.0)
    distance = renderer.render(view, ["distance"]).distance
    assert distance is not None
    np.testing.assert_allclose(distance, 10.0 / world_rays(view)[..., 1], rtol=1e-5)


def test_what_is_too_near_or_too_far_is_not_seen(renderer: MitsubaRenderer) -> None:
    """Surfaces before the near distance or beyond the far distance would be visible."""
    things = ("near", quad(9.0), GRAY, at((0, 0, 4.8))), ("far", quad(9.0), GRAY, at((0, 0, -3.0)))
    renderer.load(scene(*things, ("middle", quad(0.5), GRAY, at((0, 0, 1.0)))))
    view = View(DOWN.lens, (16, 12), DOWN.position, DOWN.rotation, near=0.5, far=6.0)
    entity = renderer.render(view, ["entity"]).entity
    assert entity is not None
    assert set(np.unique(entity)) == {NOTHING, 2}


def test_it_agrees_with_the_fast_renderer(renderer: MitsubaRenderer, tmp_path: Path) -> None:
    """Labels and depth would change with the renderer: other numbers, other sides, other holes.

    In this scene no pixel differs in its entity, and the largest relative difference of depth is 1.2e-7, the
    rounding of single precision; edges may cost single pixels on another processor.
    """
    mirrored = at((1.5, 0.2, 0.6))
    mirrored[0, 0] = -1.0
    world = scene(
        ("ground", quad(20.0), GRAY, np.eye(4)),
        ("cube", cube(), {}, mirrored),
        ("ball", ball(0.7, 48), GRAY, at((-1.5, 0, 0.7))),
        ("leaf", quad(2.0), leaf(tmp_path), at((0, -1.0, 1.0))),
        ("glow", cube(0.3), {"emissive_color": (1.0, 0.5, 0.2)}, at((0, 1.5, 0.5))),
        lights=[sun((1, 0.5, 2)), dome(100)],
    )
    view = look((0, -4, 3.5), (0, 0, 0.3), (48, 36))
    pose = at((0.3, -1.4, 1.4), np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]))
    found = []
    embree = EmbreeRenderer(threads=2)
    for one in (embree, renderer):
        one.load(world)
        one.add([drone(emissive_color=(0.0, 1.0, 0.0)), drone("other", 0.3)])
        one.move(["/World/drone/body", "/World/other/body"], np.stack([pose, at((1.0, -1.2, 0.4))]))
        found.append(one.render(view, ["distance", "normal", "entity", "material"]))
    fast, slow = found
    assert [entity.path for entity in renderer.entities] == [entity.path for entity in embree.entities]
    paths = np.array([*renderer.materials, ""]), np.array([*embree.materials, ""])
    same = slow.entity == fast.entity
    assert set(range(7)) <= set(np.unique(slow.entity).tolist())
    assert np.mean(same) > 0.998
    np.testing.assert_array_equal(paths[0][slow.material][same], paths[1][fast.material][same])
    met = same & (slow.entity != NOTHING)
    np.testing.assert_allclose(slow.distance[met], fast.distance[met], rtol=1e-6)
    assert np.quantile(np.abs(slow.normal[met] - fast.normal[met]), 0.999) < 1e-3
    embree.close()


def test_rays(renderer: MitsubaRenderer, tmp_path: Path) -> None:
    """A lidar would hit what is out of range, or stop at leaves' holes."""
    renderer.load(
        scene(("leaf", quad(2.0), leaf(tmp_path), at((0, 0, 1))), ("ground", quad(9.0), GRAY, np.eye(4)))
    )
    origins = np.array([[-0.5, -0.5, 3.0], [0.5, 0.5, 3.0], [-0.5, -0.5, -2.0], [0.5, 0.5, 3.0]])
    down = np.array([0.0, 0.0, -1.0])
    returns = renderer.cast(origins, np.array([down, down, -down, -down]), 10.0)
    np.testing.assert_allclose(returns.distance, [2.0, 3.0, 2.0, np.inf], rtol=1e-7)
    assert returns.entity.tolist() == [0, 1, 1, NOTHING]
    np.testing.assert_allclose(returns.normal, [[0, 0, 1], [0, 0, 1], [0, 0, -1], [0, 0, 0]], atol=1e-6)
    assert np.isinf(renderer.cast(origins, np.array([down] * 4), 1.5).distance).all()


def test_a_surface_in_the_sun_obeys_lambert(renderer: MitsubaRenderer) -> None:
    """Images of the two renderers would need different exposures."""
    renderer.load(
        scene(("ground", quad(20.0), GRAY, np.eye(4)), lights=[sun((0.0, 0.6, 0.8), strength=1000.0)])
    )
    radiance = renderer.render(look((0, 0, 5), (0, 0, 0), (8, 6), fov=10.0), ["radiance"], samples=8).radiance
    assert radiance is not None
    np.testing.assert_allclose(radiance, 0.5 / math.pi * 1000.0 * 0.8, rtol=0.02)


def test_an_emissive_surface_reflects_light_too(renderer: MitsubaRenderer) -> None:
    """A surface with an image of its emission would be black wherever that image is."""
    glow = GRAY | {"emissive_color": (0.1, 0.0, 0.0)}
    lights = [sun((0.0, 0.6, 0.8), strength=1000.0)]
    renderer.load(scene(("ground", quad(20.0), glow, np.eye(4)), lights=lights))
    radiance = renderer.render(
        look((0, 0, 5), (0, 0, 0), (8, 6), fov=10.0), ["radiance"], samples=64
    ).radiance
    assert radiance is not None
    reflected = 0.5 / math.pi * 1000.0 * 0.8
    expected = [reflected + 0.1 * EMISSION, reflected, reflected]
    np.testing.assert_allclose(radiance.mean(axis=(0, 1)), expected, rtol=0.05)


def test_a_ball_lamp_lights_by_the_square_of_its_distance(renderer: MitsubaRenderer) -> None:
    """A lamp's colour would not be taken as the radiance of its surface."""
    radius, height = 0.1, 2.0
    lamp = Light("/Lamp", "SphereLight", at((0, 0, height)), (500.0,) * 3, {"radius": radius})
    power = 500.0 * 4 * math.pi * radius**2
    same = Light(
        "/Lamp", "SphereLight", at((0, 0, height)), (power,) * 3, {"radius": radius, "normalize": 1.0}
    )
    view = View(DOWN.lens, (8, 6), np.array([0.0, 0.0, 1.0]), DOWN.rotation)
    for light in (lamp, same):
        renderer.load(scene(("ground", quad(4.0), GRAY, np.eye(4)), lights=[light]))
        radiance = renderer.render(view, ["radiance"], samples=64).radiance
        assert radiance is not None
        expected = 0.5 / math.pi * math.pi * 500.0 * (radius / height) ** 2
        np.testing.assert_allclose(radiance[2:4, 3:5].mean(), expected, rtol=0.03)


def test_a_spot_shines_within_its_cone(renderer: MitsubaRenderer, caplog: pytest.LogCaptureFixture) -> None:
    """A spot would light all around it, be shadowed by what is behind it, or be of another strength."""
    cone = {"radius": 0.1, "cone_angle": 30.0, "cone_softness": 0.2}
    spot = Light("/Lamp", "SphereLight", at((0, 0, 2)), (500.0,) * 3, cone)
    floor, roof = ("ground", quad(8.0), GRAY, np.eye(4)), ("roof", quad(8.0), GRAY, at((0, 0, 2.5)))
    view = View(DOWN.lens, (8, 6), np.array([0.0, 0.0, 1.0]), DOWN.rotation)
    renderer.load(scene(floor, roof, lights=[spot]))
    middle = renderer.render(view, ["radiance"], samples=64).radiance
    assert middle is not None
    np.testing.assert_allclose(middle[2:4, 3:5].mean(), 0.5 * 500.0 * 0.05**2, rtol=0.03)
    beside = View(DOWN.lens, (8, 6), np.array([3.0, 0.0, 0.1]), DOWN.rotation)
    renderer.load(scene(floor, lights=[spot]))
    dark = renderer.render(beside, ["radiance"], samples=16).radiance
    assert dark is not None
    assert dark.max() == 0.0
    flat = Light("/Flat", "RectLight", at((0, 0, 2)), (500.0,) * 3, {"cone_angle": 30.0})
    renderer.load(scene(floor, lights=[flat]))
    assert "/Flat: photo mode leaves out the cone of a RectLight" in caplog.text


def test_lamps_shine_one_way_and_have_no_entity(renderer: MitsubaRenderer) -> None:
    """A ceiling lamp would emit upwards, or be an obstacle in depth images."""
    lamp = Light("/Lamp", "RectLight", at((0, 0, 2)), (500.0,) * 3, {"width": 1.0, "height": 1.0})
    things = ("floor", quad(4.0), GRAY, np.eye(4)), ("attic", quad(4.0), GRAY, at((0, 0, 4)))
    renderer.load(scene(*things, lights=[lamp]))
    images = renderer.render(
        View(DOWN.lens, (8, 6), np.array([0.0, 0.0, 1.0]), DOWN.rotation), ["radiance"], samples=16
    )
    assert images.radiance is not None
    assert images.radiance.min() > 10.0
    up = DOWN.rotation @ np.diag([1.0, -1.0, -1.0])
    above = renderer.render(
        View(DOWN.lens, (8, 6), np.array([0.0, 0.0, 2.5]), up), ["radiance", "entity"], samples=16
    )
    assert above.radiance is not None
    assert above.radiance.max() < 20.0
    returns = renderer.cast(np.array([[0.0, 0.0, 3.0]]), np.array([[0.0, 0.0, -1.0]]), 10.0)
    assert returns.distance[0] == pytest.approx(3.0)
    assert renderer.entities[returns.entity[0]].path == "/World/floor"


def test_no_light_is_made(renderer: MitsubaRenderer) -> None:
    """In a furnace of uniform light a white ball would be brighter than the light, or a grey one not grey."""
    renderer.load(scene(("ball", ball(1.0, 48), GRAY, at((0, 3, 0))), lights=[dome(100.0)]))
    images = renderer.render(look((0, 0, 0), (0, 3, 0), (16, 12), fov=20.0), ["radiance"], samples=32)
    assert images.radiance is not None
    assert images.radiance.mean() == pytest.approx(50.0, rel=0.06)
    assert images.radiance.max() < 100.0


def test_images_lie_as_on_the_screen(renderer: MitsubaRenderer, tmp_path: Path) -> None:
    """Textures would be mirrored, upside down, or rotated."""
    colors = [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]]
    file = picture(tmp_path / "four.png", np.kron(colors, np.ones((16, 16, 1))))
    turned = Texture(file, uv_rotation=math.pi / 2, wrap=("repeat", "repeat"))
    things = (
        ("plain", quad(2.0), GRAY | {"diffuse_color": Texture(file)}, at((-1.5, 0, 0))),
        ("turned", quad(2.0), GRAY | {"diffuse_color": turned}, at((1.5, 0, 0))),
    )
    renderer.load(scene(*things, lights=[dome(100.0)]))
    embree = EmbreeRenderer(threads=2)
    embree.load(scene(*things, lights=[dome(100.0)]))
    view = look((0, 0, 5), (0, 0, 0), (32, 24))
    pictures = [one.render(view, ["radiance"], samples=4).radiance for one in (renderer, embree)]
    shown = [np.stack([part[..., k] > 25.0 for k in range(3)]) for part in pictures if part is not None]
    assert np.mean(shown[0] == shown[1]) > 0.97
    assert pictures[0] is not None
    # Centre of the upper left quarter of the plain one: the first pixels of the file, red.
    red, green, blue = pictures[0][8, 6]
    assert red > 30.0 > 10.0 > max(green, blue)
    embree.close()


@pytest.mark.parametrize("more", [{}, {"emissive_color": (1e-6, 0.0, 0.0)}])
def test_light_falls_through_what_is_cut_out(
    renderer: MitsubaRenderer, tmp_path: Path, more: dict[str, Any]
) -> None:
    """Trees would cast the shadows of square cards, or those that emit light."""
    things = ("leaf", quad(2.0), leaf(tmp_path) | more, at((0, 0, 3))), ("ground", quad(9.0), GRAY, np.eye(4))
    renderer.load(scene(*things, lights=[sun((0, 0, 1), strength=1000.0)]))
    view = View(DOWN.lens, (24, 18), np.array([0.0, 0.0, 2.5]), DOWN.rotation)
    radiance = renderer.render(view, ["radiance"], samples=4).radiance
    assert radiance is not None
    # The leaf is opaque where x and y are negative: the lower left of the picture. Light between ground and
    # leaf comes on top, in few pixels.
    assert np.median(radiance[11:16, 7:10]) < 1.0
    for lit in (radiance[2:7, 14:17], radiance[2:7, 7:10], radiance[11:16, 14:17]):
        assert np.median(lit) == pytest.approx(500.0 / math.pi, rel=0.02)


def test_light_falls_through_many_holes(renderer: MitsubaRenderer, tmp_path: Path) -> None:
    """The ground of a forest would be dark, or hits behind several leaves be those of another ray."""
    cut = leaf(tmp_path)
    leaves = [(f"leaf{k}", quad(2.0), cut, at((0, 0, 3 + 0.1 * k))) for k in range(5)]
    renderer.load(scene(*leaves, ("ground", quad(9.0), GRAY, np.eye(4)), lights=[sun((0, 0, 1), 1000.0)]))
    view = View(DOWN.lens, (24, 18), np.array([0.0, 0.0, 2.5]), DOWN.rotation)
    radiance = renderer.render(view, ["radiance"], samples=4).radiance
    assert radiance is not None
    assert np.median(radiance[11:16, 7:10]) < 1.0
    assert np.median(radiance[2:7, 14:17]) == pytest.approx(500.0 / math.pi, rel=0.02)
    above = View(DOWN.lens, (24, 18), np.array([0.0, 0.0, 6.0]), DOWN.rotation)
    radiance = renderer.render(above, ["radiance"], samples=4).radiance
    assert radiance is not None
    # Rays through the holes hit the ground, others the uppermost leaf; both are equally bright.
    assert np.median(radiance[4:14, 6:18]) == pytest.approx(500.0 / math.pi, rel=0.02)


def test_leaves_glow_against_the_sun(tmp_path: Path) -> None:
    """A forest would be black from inside: leaves transmit 0.7 of what they reflect."""
    seen = []
    for more in ({}, {"metallic": 1e-6}):
        renderer = MitsubaRenderer(denoise=False)
        card = "leaf", quad(2.0), leaf(tmp_path) | more, at((0, 0, 3))
        renderer.load(scene(card, lights=[sun((0, 0, 1), strength=1000.0)]))
        view = look((-0.5, -0.5, 0.0), (-0.5, -0.499, 3.0), (8, 6), fov=5.0)
        radiance = renderer.render(view, ["radiance"], samples=4).radiance
        renderer.close()
        assert radiance is not None
        seen.append(radiance)
    np.testing.assert_allclose(seen[0], 0.7 * 0.5 / math.pi * 1000.0, rtol=0.01)
    assert not seen[1].any()


def test_things_high_above_a_small_world_shade_it(renderer: MitsubaRenderer, tmp_path: Path) -> None:
    """Leaves and moving objects would cast no shadow from beyond the sphere around the solid world."""
    leaves = "leaf", quad(2.0), leaf(tmp_path), at((0, 0, 20))
    renderer.load(scene(leaves, ("ground", quad(2.0), GRAY, np.eye(4)), lights=[sun((0, 0, 1))]))
    renderer.add([drone()])
    renderer.move(["/World/drone/body"], at((0.5, 0.5, 30.0))[None])
    expected = {(-0.5, -0.5): 0.0, (0.5, 0.5): 0.0, (-0.5, 0.5): 500.0 / math.pi}
    for (x, y), bright in expected.items():
        view = look((x, y, 1), (x, y + 1e-3, 0), (4, 3), fov=5.0)
        radiance = renderer.render(view, ["radiance"], samples=4).radiance
        assert radiance is not None
        assert np.median(radiance) == pytest.approx(bright, rel=0.02, abs=1.0)


@pytest.mark.parametrize("leaves", [False, True])
def test_moving_objects_shade_the_world(renderer: MitsubaRenderer, tmp_path: Path, leaves: bool) -> None:
    """Light would pass through objects that move, or leave them dark."""
    more = [("leaf", quad(1.0), leaf(tmp_path), at((8.0, 8.0, 0.1)))] if leaves else []
    lights = [sun((0.0, 0.0, 1.0), strength=1000.0)]
    renderer.load(scene(("ground", quad(20.0), GRAY, np.eye(4)), *more, lights=lights))
    renderer.add([drone()])
    below, above = (look(eye, (0, 0, 0), (8, 6), fov=1.0) for eye in ((3, 0, 3), (0.01, 0, 5)))

    def radiance(view: View) -> float:
        """Return the median, because a few paths reach a pixel by way of the object."""
        image = renderer.render(view, ["radiance"], samples=8).radiance
        assert image is not None
        return float(np.median(image))

    bright = 0.5 / math.pi * 1000.0
    for place, expected in (((5.0, 5.0, 2.0), bright), ((0.0, 0.0, 2.0), 0.0), ((0.0, 4.0, 2.0), bright)):
        renderer.move(["/World/drone/body"], at(place)[None])
        np.testing.assert_allclose(radiance(below), expected, rtol=0.02)
        np.testing.assert_allclose(radiance(above), bright, rtol=0.02)
    renderer.move(["/World/drone/body"], at((0.0, 0.0, 2.0))[None])
    seen = renderer.render(above, ["entity"]).entity
    assert seen is not None
    assert {renderer.entities[k].path for k in np.unique(seen)} == {"/World/drone"}
    renderer.remove(["/World/drone/body"])
    np.testing.assert_allclose(radiance(below), bright, rtol=0.02)


@pytest.mark.parametrize("more", [{}, {"emissive_color": (0.0, 1.0, 0.0)}])
def test_objects_move_come_and_go(renderer: MitsubaRenderer, more: dict[str, Any]) -> None:
    """Vehicles would be drawn at old poses, with wrong ids, or after their removal."""
    renderer.load(scene(("ground", quad(9.0), GRAY, np.eye(4))))
    renderer.add([drone("a"), drone("b", 0.5, **more)])
    origins = np.array([[1.0, 0.0, 5.0], [-1.0, 0.0, 5.0]])
    down = np.array([[0.0, 0.0, -1.0]] * 2)

    def met() -> list[str]:
        return [renderer.entities[k].path for k in renderer.cast(origins, down, 9.0).entity]

    renderer.move(["/World/a/body", "/World/b/body"], np.stack([at((1, 0, 1)), at((-1, 0, 1))]))
    assert met() == ["/World/a", "/World/b"]
    np.testing.assert_allclose(renderer.cast(origins, down, 9.0).distance, 3.75, rtol=1e-6)
    renderer.move(["/World/b/body", "/World/a/body"], np.stack([at((1, 0, 2)), at((-1, 0, 1))]))
    assert met() == ["/World/b", "/World/a"]
    np.testing.assert_allclose(renderer.cast(origins, down, 9.0).distance, [2.75, 3.75], rtol=1e-6)
    renderer.remove(["/World/a/body"])
    assert met() == ["/World/b", "/World/ground"]
    renderer.add([drone("a")])
    assert [entity.path for entity in renderer.entities] == ["/World/ground", "/World/a", "/World/b"]
    assert met() == ["/World/b", "/World/ground"]
    with pytest.raises(ConfigError, match="in use already"):
        renderer.add([drone("a")])
    with pytest.raises(ConfigError, match="no such object"):
        renderer.move(["/World/c/body"], np.eye(4)[None])
    with pytest.raises(ConfigError, match="no such object"):
        renderer.remove(["/World/c/body"])


def test_copies_are_where_they_would_be_if_merged(
    renderer: MitsubaRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instances would be misplaced, or have the id of another instance."""
    tree, world = cube(1.0), scene(("ground", quad(30.0), GRAY, np.eye(4)))
    rng = np.random.default_rng(1)
    for k in range(12):
        pose = at((2.0 * (k % 4) - 3.0, 2.0 * (k // 4) - 2.0, 0.5)) @ np.diag([1, 1, rng.uniform(1, 2), 1])
        one = scene((f"tree{k}", tree, GRAY, pose))
        world.geometries.setdefault("tree", tree)
        world.materials.update(one.materials if k == 0 else {})
        item = one.instances[0]
        world.instances.append(
            type(item)(item.path, "tree", "/Looks/tree0", item.transform, item.labels, item.entity)
        )
        world.entities.update(one.entities)
    found = []
    for limit in (10**6, 20):
        monkeypatch.setattr(
            "pegasus.render.photo.renderer.repeated_pieces",
            lambda pieces, limit=limit: shapes.repeated_pieces(pieces, limit=limit),
        )
        renderer.load(world)
        found.append(renderer.render(look((3, -6, 6), (0, 0, 0), (40, 30)), ["distance", "entity", "normal"]))
    merged, copied = found
    np.testing.assert_array_equal(copied.entity, merged.entity)
    np.testing.assert_allclose(copied.distance, merged.distance, rtol=1e-6)
    np.testing.assert_allclose(copied.normal, merged.normal, atol=1e-5)


def test_a_fisheye_sees_behind_itself(renderer: MitsubaRenderer) -> None:
    """Lenses other than a pinhole would be rendered as a pinhole, or not at all."""
    glow = {"emissive_color": (1.0, 1.0, 1.0)}
    renderer.load(scene(("behind", cube(1.0), glow, at((-2.0, -0.9, 0.0)))))
    lens = KannalaBrandt(horizontal_fov=math.radians(300.0))
    view = View(lens, (24, 24), np.zeros(3), look((0, 0, 0), (0, 1, 0)).rotation)
    images = renderer.render(view, ["radiance", "entity"], samples=2)
    assert images.radiance is not None
    assert images.entity is not None
    seen = images.entity == 0
    assert seen.any()
    columns = np.nonzero(seen)[1]
    assert columns.max() < 12
    assert (images.radiance[seen].max(axis=1) > 0).mean() > 0.7
    assert not images.radiance[:, 14:].any()


def test_sky_images_look_the_same_way(renderer: MitsubaRenderer, tmp_path: Path) -> None:
    """A sky and its shadows would be rotated or mirrored against the Embree renderer's."""
    rng = np.random.default_rng(3)
    file = picture(tmp_path / "sky.png", np.kron(rng.integers(0, 256, (4, 8, 3)), np.ones((16, 16, 1))))
    turned = at((0, 0, 0), np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]))
    sky = Light("/Sky", "DomeLight", turned, (100.0,) * 3, {}, texture=file)
    world = scene(("far", cube(0.01), GRAY, at((0, 0, -100))), lights=[sky])
    embree = EmbreeRenderer(threads=2)
    for one in (embree, renderer):
        one.load(world)
    for target in ((0, 1, 0.2), (-1, 0.2, 0.5), (0.7, -0.7, -0.4)):
        view = look((0, 0, 0), target, (48, 36), fov=80.0)
        fast, slow = (one.render(view, ["radiance"], samples=4).radiance for one in (embree, renderer))
        assert fast is not None
        assert slow is not None
        assert np.median(np.abs(slow - fast)) < 0.5
        assert np.mean(np.abs(slow - fast) < 5.0) > 0.85
    embree.close()


def test_the_same_seed_makes_the_same_picture(photographer: MitsubaRenderer) -> None:
    """A dataset that is resumed would differ from one made in a single run."""
    world = scene(
        ("ground", quad(9.0), GRAY, np.eye(4)),
        ("cube", cube(), GRAY, at((0, 0, 0.5))),
        lights=[sun((1, 1, 2)), dome(100)],
    )
    view, other = (look((3, y, 3), (0, 0, 0.3), (64, 48)) for y in (-3, 3))
    photographer.load(world)
    first = photographer.render(view, ["radiance"], samples=4).radiance
    photographer.render(other, ["radiance"], samples=4)
    photographer.load(world)
    again = photographer.render(view, ["radiance"], samples=4).radiance
    np.testing.assert_array_equal(first, again)
    seeded = MitsubaRenderer(seed=1)
    seeded.load(world)
    assert (first != seeded.render(view, ["radiance"], samples=4).radiance).any()


def test_noise_is_removed(photographer: MitsubaRenderer) -> None:
    """Images of few samples would be grainy, or lose their detail."""
    world = scene(
        ("ground", quad(9.0), GRAY, np.eye(4)),
        ("cube", cube(), {"diffuse_color": (0.8, 0.2, 0.1)}, at((0, 0, 0.5))),
        lights=[sun((1, 1, 2)), dome(300)],
    )
    view = look((3, -3, 3), (0, 0, 0.3), (64, 48))
    noisy = MitsubaRenderer(denoise=False)
    for one in (photographer, noisy):
        one.load(world)
    truth = noisy.render(view, ["radiance"], samples=256).radiance
    errors = []
    for one in (noisy, photographer):
        radiance = one.render(view, ["radiance"], samples=8).radiance
        assert radiance is not None
        assert truth is not None
        errors.append(float(np.sqrt(np.mean((radiance - truth) ** 2))))
    assert errors[1] < 0.5 * errors[0]


def test_it_exposes_like_the_fast_renderer(photographer: MitsubaRenderer) -> None:
    """A photo would need another exposure than an Embree image of the scene."""
    sky = Light("/Sky", "DomeLight", np.eye(4), (530.0, 730.0, 1000.0), {})
    ground = ("ground", quad(40.0), {"diffuse_color": (0.4, 0.3, 0.2)}, np.eye(4))
    world = scene(ground, lights=[sun((1, 1, 2), 3000.0), sky])
    view = look((3, -3, 2), (0, 0, 1.2), (48, 36))
    embree = EmbreeRenderer(threads=2)
    means = []
    for one in (embree, photographer):
        one.load(world)
        radiance = one.render(view, ["radiance"], samples=4).radiance
        assert radiance is not None
        means.append(radiance.mean(axis=(0, 1)))
    np.testing.assert_allclose(means[1], means[0], rtol=0.05)
    embree.close()


def test_nothing_to_draw_and_wrong_requests_are_told(photographer: MitsubaRenderer) -> None:
    """An empty scene or a wrong request would cause a traceback of Mitsuba, or an empty image."""
    with pytest.raises(ConfigError, match="nothing to draw"):
        photographer.load(Scene("empty.usda"))
    with pytest.raises(RuntimeError, match="load"):
        photographer.render(DOWN, ["distance"])
    photographer.load(scene(("ground", quad(9.0), GRAY, np.eye(4))))
    with pytest.raises(ConfigError, match="channels = 'colour': must be one of"):
        photographer.render(DOWN, ["colour"])
    with pytest.raises(ConfigError, match="samples = 0"):
        photographer.render(DOWN, ["radiance"], samples=0)
    photographer.close()
    photographer.close()


def test_a_closed_renderer_keeps_no_shapes() -> None:
    """Each scene of a dataset would be compiled into the paths of the next ones, which take twice as long."""
    mitsuba, drjit = load_mitsuba()

    def free_number() -> int:
        shapes = mitsuba.load_dict({"type": "scene", "ball": {"type": "sphere"}}).shapes_dr()
        return int(drjit.reinterpret_array(mitsuba.UInt32, shapes)[0])

    free = free_number()
    one = MitsubaRenderer(denoise=False)
    one.load(scene(("ground", quad(9.0), GRAY, np.eye(4))))
    one.render(DOWN, ["radiance", "distance"])
    assert free_number() > free
    one.close()
    assert free_number() <= free
