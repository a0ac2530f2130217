"""Tests of the Embree renderer's lighting against closed forms: suns, lamps, sky, shadows, glass."""

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embree_scenes import DOWN, LAMBERT, at, ball, cube, dome, look, quad, scene, sun, world_rays
from PIL import Image

from pegasus.render import RenderObject
from pegasus.render.embree.renderer import EmbreeRenderer
from pegasus.render.sky import EMISSION
from pegasus.scene.scene import Entity, Light, Scene, Texture

GROUND: dict[str, Any] = {"diffuse_color": (0.6, 0.4, 0.2), **LAMBERT}
GOLDEN = Path(__file__).parent / "data" / "embree_golden.png"


@pytest.fixture(scope="module")
def renderer() -> Iterator[EmbreeRenderer]:
    made = EmbreeRenderer(threads=2, bounces=0)
    yield made
    made.close()


def radiance(renderer: EmbreeRenderer, world: Scene, view: Any = DOWN, samples: int = 1) -> Any:
    renderer.load(world)
    return renderer.render(view, ["radiance"], samples=samples).radiance


def picture(path: Path, pixels: Any) -> Path:
    Image.fromarray(np.asarray(pixels, np.uint8)).save(path)
    return path


def test_diffuse_radiance_under_a_sun(renderer: EmbreeRenderer) -> None:
    """The radiance would not be albedo / pi times the irradiance (Lambert's law)."""
    light = sun((1.0, 0.0, 1.0), 2000.0)
    seen = radiance(renderer, scene(("ground", quad(40.0), GROUND, np.eye(4)), lights=[light]))
    expected = np.array(GROUND["diffuse_color"]) / math.pi * 2000.0 * math.sqrt(0.5)
    np.testing.assert_allclose(seen, np.broadcast_to(expected, seen.shape), rtol=1e-4)


def test_diffuse_radiance_under_an_even_sky(renderer: EmbreeRenderer) -> None:
    """Under a constant dome a surface would not have its albedo times the dome's radiance."""
    light = dome(300.0)
    world = scene(("ball", ball(1.0, 32), GROUND, np.eye(4)), lights=[light])
    renderer.load(world)
    images = renderer.render(DOWN, ["radiance", "entity"])
    assert images.radiance is not None
    on = images.entity == 0
    expected = np.array(GROUND["diffuse_color"]) * 300.0
    np.testing.assert_allclose(images.radiance[on], np.tile(expected, (on.sum(), 1)), rtol=1e-3)
    np.testing.assert_allclose(images.radiance[~on], 300.0, rtol=1e-5)


def test_a_mirror_shows_the_sky(renderer: EmbreeRenderer) -> None:
    """A smooth metal under a constant sky would not reflect its colour times the sky."""
    metal = {"diffuse_color": (0.9, 0.6, 0.3), "metallic": 1.0, "roughness": 0.05}
    seen = radiance(renderer, scene(("plate", quad(40.0), metal, np.eye(4)), lights=[dome(200.0)]))
    np.testing.assert_allclose(
        seen, np.broadcast_to(200.0 * np.array([0.9, 0.6, 0.3]), seen.shape), rtol=0.03
    )


def test_a_glossy_floor_shines_towards_the_sun(renderer: EmbreeRenderer) -> None:
    """The highlight would not be in the mirrored direction, as with a wrong half vector."""
    gloss = {"diffuse_color": (0.0, 0.0, 0.0), "roughness": 0.2}
    view = look((-3.0, 0.0, 3.0), (0.0, 0.0, 0.0), (160, 120))
    seen = radiance(renderer, scene(("floor", quad(60.0), gloss, np.eye(4)), lights=[sun((1, 0, 1))]), view)
    row, column = np.unravel_index(seen[..., 1].argmax(), seen.shape[:2])
    assert abs(row - 59.5) < 3
    assert abs(column - 79.5) < 2


@pytest.mark.parametrize("mapped", [False, True])
def test_a_glossy_floor_shows_the_reflections_of_all_lamps(
    renderer: EmbreeRenderer, tmp_path: Path, mapped: bool
) -> None:
    """Three lamps are traced for a point: reflections of the others would end at straight edges."""
    roughness: Any = 0.3
    if mapped:
        # 0.3 of full brightness; the constant beside a map is not used.
        roughness = Texture(picture(tmp_path / "rough.png", np.full((4, 4, 3), 77)), channel="r", srgb=False)
    floor = {"diffuse_color": (0.3, 0.3, 0.3), "roughness": roughness}
    lamps = [
        Light(f"/Lamp{x}{y}", "SphereLight", at((2.0 * x, 4.0 * y, 3.0)), (900.0,) * 3, {"radius": 0.1})
        for x in range(-2, 3)
        for y in range(1, 5)
    ]
    view = look((0.0, -4.0, 1.8), (0.0, 4.0, 0.5), (160, 120))
    item = "floor", quad(60.0), floor, np.eye(4)
    seen = radiance(renderer, scene(item, lights=lamps), view)[..., 1]
    alone = sum(radiance(renderer, scene(item, lights=[lamp]), view)[..., 1] for lamp in lamps)
    on = radiance(renderer, scene(item, lights=[sun((0, 0, 1))]), view)[..., 1] > 0.0
    assert on.sum() > 5000
    lost = (1.0 - seen / np.maximum(alone, 1e-9))[on]
    # Where the reflections of more than three lamps overlap, the weakest are missing.
    assert abs(lost).max() < 0.35
    assert abs(lost).mean() < 0.06


def test_shadows_lie_where_geometry_puts_them(renderer: EmbreeRenderer) -> None:
    """A shadow would be displaced, or light leak through a static or moving box."""
    world = scene(("ground", quad(40.0), GROUND, np.eye(4)), lights=[sun((1.0, 0.0, 1.0))])
    renderer.load(world)
    body = scene(("body", quad(1.0), GROUND, np.eye(4)))
    renderer.add([RenderObject("/World/sheet", body, Entity("/World/sheet", {}, np.eye(4)))])
    for height in (0.5, 1.0):
        renderer.move(["/World/sheet"], at((0.3, -0.2, height))[None])
        images = renderer.render(DOWN, ["radiance", "entity"])
        rays = world_rays(DOWN)
        x, y = (rays[..., k] * 5 / -rays[..., 2] for k in (0, 1))
        # The sun stands at 45 degrees in the east, so that the shadow falls as far west as the sheet is high.
        aside = np.maximum(abs(x - (0.3 - height)), abs(y + 0.2)) - 0.5
        ground = images.entity == 0
        assert images.radiance is not None
        dark = images.radiance[..., 1] == 0.0
        assert dark[ground & (aside < -0.01)].all()
        assert not dark[ground & (aside > 0.01)].any()
        assert (ground & (aside < -0.01)).sum() > 20


def test_a_moving_thing_receives_shadows(renderer: EmbreeRenderer) -> None:
    """A moving object would not be dark under a roof and lit beside it."""
    world = scene(
        ("ground", quad(40.0), GROUND, np.eye(4)),
        ("roof", quad(2.0), GROUND, at((0, 0, 8))),
        lights=[sun((0, 0, 1))],
    )
    renderer.load(world)
    body = scene(("body", quad(1.0), GROUND, np.eye(4)))
    renderer.add([RenderObject("/World/sheet", body, Entity("/World/sheet", {}, np.eye(4)))])
    for x, lit in ((0.0, False), (1.8, True)):
        renderer.move(["/World/sheet"], at((x, 0, 1))[None])
        images = renderer.render(DOWN, ["radiance", "entity"])
        assert images.radiance is not None
        on = images.entity == 2
        assert on.sum() > 50
        assert ((images.radiance[on][:, 1] > 0) == lit).all()


def lamp(kind: str, position: Any, color: float, **parameters: float) -> Light:
    return Light("/Lamp", kind, at(position), (color,) * 3, parameters)


@pytest.mark.parametrize("normalize", [False, True])
def test_a_ball_lamp_falls_off_by_the_inverse_square(renderer: EmbreeRenderer, normalize: bool) -> None:
    """A ball lamp would not give pi L r^2 / d^2 times the cosine."""
    more = {"normalize": 1.0} if normalize else {}
    light = lamp("SphereLight", (0.5, 0.2, 3.0), 500.0, radius=0.1, **more)
    seen = radiance(renderer, scene(("ground", quad(40.0), GROUND, np.eye(4)), lights=[light]))
    rays = world_rays(DOWN)
    points = rays * (5 / -rays[..., 2:]) + [0, 0, 5]
    way = np.array([0.5, 0.2, 3.0]) - points
    square = (way * way).sum(axis=-1)
    surface = 500.0 / (4 * math.pi * 0.01) if normalize else 500.0
    irradiance = math.pi * surface * 0.01 / square * way[..., 2] / np.sqrt(square)
    np.testing.assert_allclose(seen[..., 0], 0.6 / math.pi * irradiance, rtol=1e-4)


def test_a_flat_lamp_shines_one_way(renderer: EmbreeRenderer) -> None:
    """A disk lamp would not give pi L r^2 / (d^2 + r^2) on its axis, or shine backwards."""
    light = lamp("DiskLight", (0.0, 0.0, 2.0), 500.0, radius=0.5)
    world = scene(("ground", quad(40.0), GROUND, np.eye(4)), lights=[light])
    middle = look((0, 0, 5), (0, 0, 0), (65, 49))
    seen = radiance(renderer, world, middle)[24, 32]
    expected = np.array(GROUND["diffuse_color"]) * 500.0 * 0.25 / (4.0 + 0.25)
    np.testing.assert_allclose(seen, expected, rtol=1e-3)
    above = scene(("shelf", quad(2.0), GROUND, at((0, 0, 2.5))), lights=[light])
    assert (radiance(renderer, above, middle) == 0).all()


@pytest.mark.parametrize("kind", ["SphereLight", "DiskLight"])
@pytest.mark.parametrize("count", [1, 9])
def test_a_spot_shines_within_its_cone(renderer: EmbreeRenderer, kind: str, count: int) -> None:
    """A spot would light all around it, as the chosen lamps or among the others."""
    cone = {"cone_angle": 30.0, "cone_softness": 0.4}
    ground = ("ground", quad(40.0), GROUND, np.eye(4))
    lights = [lamp(kind, (0.0, 0.0, 3.0), 500.0, radius=0.1) for _ in range(count)]
    spots = [dataclasses.replace(one, parameters={**one.parameters, **cone}) for one in lights]
    bare, seen = (radiance(renderer, scene(ground, lights=group)) for group in (lights, spots))
    rays = world_rays(DOWN)
    points = rays * (5 / -rays[..., 2:]) + [0, 0, 5]
    cosine = 3.0 / np.linalg.norm(points - [0, 0, 3.0], axis=-1)
    edge, whole = math.cos(math.radians(30.0)), math.cos(math.radians(18.0))
    part = np.clip((cosine - edge) / (whole - edge), 0.0, 1.0)
    expected = bare * (part * part * (3.0 - 2.0 * part))[..., None]
    assert (expected[..., 0] == 0).any()
    assert (part == 1).any()
    if count == 1:
        np.testing.assert_allclose(seen, expected, rtol=2e-3, atol=1e-3 * bare.max())
    else:
        # The light of lamps that no ray goes to is interpolated between points.
        np.testing.assert_allclose(seen.mean(), expected.mean(), rtol=0.01)
        assert (seen[cosine < edge - 0.1] == 0).all()


def test_lamps_beyond_those_that_rays_go_to(renderer: EmbreeRenderer) -> None:
    """Lamps without shadow rays would not light the scene."""
    spread = [lamp("SphereLight", (0.3 * k - 1.5, 0.0, 3.0), 500.0, radius=0.1) for k in range(11)]
    ground = ("ground", quad(40.0), GROUND, np.eye(4))
    single = sum(radiance(renderer, scene(ground, lights=[one])) for one in spread)
    np.testing.assert_allclose(radiance(renderer, scene(ground, lights=spread)), single, rtol=2e-3)


def quadrants(tmp_path: Path, **more: Any) -> Texture:
    """Return an image: red and green above, blue and white below."""
    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[:32, :32, 0] = pixels[:32, 32:, 1] = pixels[32:, :32, 2] = 255
    pixels[32:, 32:] = 255
    return Texture(picture(tmp_path / "quadrants.png", pixels), **more)


RED, GREEN, BLUE, WHITE = (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)


@pytest.mark.parametrize(
    ("placement", "corners"),
    [
        ({}, (RED, GREEN, BLUE, WHITE)),
        ({"uv_translation": (0.5, 0.0)}, (GREEN, RED, WHITE, BLUE)),
        # The coordinates turn counter-clockwise, so that the image turns clockwise under them.
        ({"uv_rotation": math.pi / 2}, (BLUE, RED, WHITE, GREEN)),
        ({"uv_scale": (-1.0, 1.0)}, (GREEN, RED, WHITE, BLUE)),
        ({"uv_scale": (-1.0, 1.0), "wrap": ("clamp", "clamp")}, (RED, RED, BLUE, BLUE)),
        ({"uv_translation": (1.0, 0.0), "wrap": ("mirror", "mirror")}, (GREEN, RED, WHITE, BLUE)),
        ({"uv_translation": (1.0, 0.0), "wrap": ("black", "black")}, ((0, 0, 0),) * 4),
        ({"scale": (0.5, 0.5, 0.5, 1.0), "bias": (0.25, 0.0, 0.0, 0.0)}, None),
    ],
)
def test_textures_lie_the_right_way(
    renderer: EmbreeRenderer, tmp_path: Path, placement: dict[str, Any], corners: Any
) -> None:
    """An image would be upside down, mirrored or displaced."""
    surface = {"diffuse_color": quadrants(tmp_path, **placement), **LAMBERT}
    seen = radiance(renderer, scene(("sheet", quad(4.0), surface, np.eye(4)), lights=[dome(1.0)]))
    # A metre is 11 pixels; the corners are those above and below, left and right of the middle.
    found = [seen[24 + 11 * v, 32 + 11 * u] for v, u in ((-1, -1), (-1, 1), (1, -1), (1, 1))]
    if corners is None:
        corners = np.array([RED, GREEN, BLUE, WHITE]) * 0.5 + [0.25, 0.0, 0.0]
    np.testing.assert_allclose(found, corners, atol=2e-3)


@pytest.mark.parametrize(
    ("placement", "corners"),
    [
        ({}, (RED, GREEN, BLUE, WHITE)),
        ({"uv_translation": (0.5, 0.0)}, (GREEN, RED, WHITE, BLUE)),
        ({"uv_rotation": math.pi / 2}, (BLUE, RED, WHITE, GREEN)),
        ({"uv_scale": (-1.0, 1.0)}, (GREEN, RED, WHITE, BLUE)),
        ({"uv_translation": (1.0, 0.0), "wrap": ("black", "black")}, ((0, 0, 0),) * 4),
    ],
)
def test_maps_of_a_material_lie_independently(
    renderer: EmbreeRenderer, tmp_path: Path, placement: dict[str, Any], corners: Any
) -> None:
    """A map would be read where another map of the material lies."""
    black = quadrants(tmp_path, scale=(0.0, 0.0, 0.0, 1.0))
    surface = {"diffuse_color": black, "emissive_color": quadrants(tmp_path, **placement), **LAMBERT}
    seen = radiance(renderer, scene(("sheet", quad(4.0), surface, np.eye(4)), lights=[dome(1.0)]))
    found = [seen[24 + 11 * v, 32 + 11 * u] for v, u in ((-1, -1), (-1, 1), (1, -1), (1, 1))]
    np.testing.assert_allclose(found, np.array(corners) * EMISSION, atol=2e-3 * EMISSION)


def test_colours_are_decoded(renderer: EmbreeRenderer, tmp_path: Path) -> None:
    """Code 128 would not be 0.2159 of full light in sRGB and 0.502 in linear data."""
    path = picture(tmp_path / "gray.png", np.full((8, 8, 3), 128))
    for srgb, expected in ((True, 0.21586), (False, 128 / 255)):
        surface = {"diffuse_color": Texture(path, srgb=srgb), **LAMBERT}
        seen = radiance(renderer, scene(("sheet", quad(4.0), surface, np.eye(4)), lights=[dome(1.0)]))
        np.testing.assert_allclose(seen[24, 32], expected, rtol=1e-3)


def test_distant_checks_do_not_shimmer(renderer: EmbreeRenderer, tmp_path: Path) -> None:
    """Checks finer than a pixel would be black or white at random."""
    board = np.indices((256, 256)).sum(axis=0) % 2 * 255
    path = picture(tmp_path / "board.png", np.repeat(board[..., None], 3, axis=2))
    surface = {"diffuse_color": Texture(path, srgb=False, uv_scale=(50.0, 50.0)), **LAMBERT}
    view = look((0, -20, 4), (0, 20, 0))
    seen = radiance(renderer, scene(("sheet", quad(200.0), surface, np.eye(4)), lights=[dome(1.0)]), view)
    far = seen[world_rays(view)[..., 2] < -0.1]
    np.testing.assert_allclose(far, 0.5, atol=0.01)


@pytest.mark.parametrize("turned", [0.0, math.pi / 2])
def test_normal_maps_bend_towards_their_axes(renderer: EmbreeRenderer, tmp_path: Path, turned: float) -> None:
    """A bump towards +u would be brighter with the sun on the other side."""
    lean = np.array([math.sin(0.5), 0.0, math.cos(0.5)])
    path = picture(tmp_path / "lean.png", np.full((8, 8, 3), np.round((lean + 1) * 127.5)))
    more = {"scale": (2.0, 2.0, 2.0, 1.0), "bias": (-1.0, -1.0, -1.0, 0.0)}
    bump = Texture(path, srgb=False, uv_rotation=turned, **more)
    surface = {"diffuse_color": (0.6, 0.4, 0.2), "normal": bump, **LAMBERT}
    # Turned coordinates: the image's u runs along -y of the sheet where they are turned by a quarter.
    u = np.array([math.cos(turned), -math.sin(turned), 0.0])
    for side in (1.0, -1.0):
        light = sun(side * u * math.sin(0.6) + [0.0, 0.0, math.cos(0.6)])
        seen = radiance(renderer, scene(("sheet", quad(9.0), surface, np.eye(4)), lights=[light]))
        cosine = math.cos(0.6 - side * 0.5)
        np.testing.assert_allclose(
            seen[24, 32], np.array([0.6, 0.4, 0.2]) / math.pi * 1000 * cosine, rtol=0.01
        )


def test_glass_lets_light_through(renderer: EmbreeRenderer) -> None:
    """Through a pane of opacity a the ground would not show with 1 - a, lit by 1 - a of the sun."""
    pane = {"diffuse_color": (1.0, 1.0, 1.0), "opacity": 0.25, **LAMBERT}
    ground = ("ground", quad(40.0), GROUND, np.eye(4))
    plain = scene(ground, lights=[sun((0, 0, 1))])
    bare = radiance(renderer, plain)[24, 32]
    glazed = scene(ground, ("pane", quad(4.0), pane, at((0, 0, 1))), lights=[sun((0, 0, 1))])
    seen = radiance(renderer, glazed)[24, 32]
    np.testing.assert_allclose(seen, 0.25 * 1000 / math.pi + 0.75 * 0.75 * bare, rtol=1e-4)
    assert renderer.render(DOWN, ["entity"]).entity[24, 32] == 1


def test_cut_outs_cast_shadows_of_their_shape(renderer: EmbreeRenderer, tmp_path: Path) -> None:
    """A leaf would cast the shadow of the square with its image."""
    pixels = np.full((64, 64, 4), 255, np.uint8)
    pixels[:, :32, 3] = 0
    cut = Texture(picture(tmp_path / "half.png", pixels), channel="a", srgb=False, wrap=("clamp", "clamp"))
    leaf = {**GROUND, "opacity": cut, "opacity_threshold": 0.5}
    world = scene(
        ("ground", quad(40.0), GROUND, np.eye(4)),
        ("leaf", quad(2.0), leaf, at((0, 0, 6))),
        lights=[sun((0, 0, 1))],
    )
    seen = radiance(renderer, world)[..., 1]
    rays = world_rays(DOWN)
    x, y = (rays[..., k] * 5 / -rays[..., 2] for k in (0, 1))
    assert (seen[(x > 0.1) & (x < 0.9) & (abs(y) < 0.9)] == 0).all()
    assert (seen[(x < -0.1) & (x > -0.9) & (abs(y) < 0.9)] > 0).all()


def test_emission_needs_no_light(renderer: EmbreeRenderer) -> None:
    """A glowing surface would not show its colour in the dark."""
    glow = {"diffuse_color": (0.0, 0.0, 0.0), "emissive_color": (1.0, 0.5, 0.25), **LAMBERT}
    seen = radiance(renderer, scene(("glow", quad(9.0), glow, np.eye(4))))
    np.testing.assert_allclose(seen[24, 32], [1000.0, 500.0, 250.0], rtol=1e-5)


def test_vertex_colours(renderer: EmbreeRenderer) -> None:
    """Vertex colours would not be interpolated over the triangle."""
    colors = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
    sheet = dataclasses.replace(quad(4.0), colors=colors)
    plain = ("plain", quad(0.5), GROUND, at((-2.5, 0, 0)))
    surface = {"diffuse_color": (1.0, 1.0, 1.0), **LAMBERT}
    seen = radiance(renderer, scene(plain, ("sheet", sheet, surface, np.eye(4)), lights=[dome(1.0)]))
    rays = world_rays(DOWN)
    points = rays[24, 20:44] * (5 / -rays[24, 20:44, 2:])
    np.testing.assert_allclose(seen[24, 20:44, 0], (points[:, 0] + 2) / 4, atol=1e-4)
    np.testing.assert_allclose(seen[24, 20:44, 1], (points[:, 1] + 2) / 4, atol=1e-4)


def test_a_large_lamp_has_a_wide_reflection(renderer: EmbreeRenderer) -> None:
    """Skylights would be reflected as bright dots."""
    floor = {"diffuse_color": (0.0, 0.0, 0.0), "roughness": 0.3}
    item = "floor", quad(60.0), floor, np.eye(4)
    view = look((0.0, -4.0, 4.0), (0.0, 0.0, 0.0), (160, 120))
    peaks = []
    for radius in (0.01, 0.5):
        # Of equal power, behind the mirror image of the camera.
        lamp = Light("/Lamp", "SphereLight", at((0, 4, 4)), (1000.0 / radius**2,) * 3, {"radius": radius})
        peaks.append(float(radiance(renderer, scene(item, lights=[lamp]), view)[..., 1].max()))
    alpha, way = 0.3**2, math.hypot(4.0, 4.0)
    narrow, wide = (alpha + radius / (2.0 * way) for radius in (0.01, 0.5))
    # The distribution's peak is the inverse square of its width; shadowing differs by some percent.
    assert peaks[1] / peaks[0] == pytest.approx((narrow / wide) ** 2, rel=0.05)


def half_seen(kind: str, place: Any) -> Any:
    """Return the part of a lamp of half width 0.5 m that is on one side of a line at a place [m]."""
    if kind in ("RectLight", "CylinderLight"):
        return np.clip(0.5 + place, 0.0, 1.0)
    t = np.clip(2.0 * place, -1.0, 1.0)
    return 0.5 + (np.arcsin(t) + t * np.sqrt(1.0 - t * t)) / math.pi


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("RectLight", {"width": 1.0, "height": 0.4}),
        ("DiskLight", {"radius": 0.5}),
        ("SphereLight", {"radius": 0.5}),
        ("CylinderLight", {"radius": 0.02, "length": 1.0}),
    ],
)
def test_samples_soften_the_shadows_of_lamps(
    renderer: EmbreeRenderer, kind: str, parameters: dict[str, float]
) -> None:
    """Large lamps would cast shadows with hard edges, or with penumbras of another width."""
    lamp = Light("/Lamp", kind, at((0, 0, 4)), (1000.0,) * 3, parameters)
    floor = "floor", quad(40.0), GROUND, np.eye(4)
    # A roof over the western half, half as high as the lamp: its shadow is as wide as the lamp.
    roof = "roof", quad(20.0), GROUND, at((-10, 0, 2))
    view = look((0.0, -2.0, 1.5), (0.0, 0.0, 0.0), (160, 120))
    rays = world_rays(view)
    x = (rays / -rays[..., 2:] * 1.5)[..., 0] + view.position[0]
    near = (np.abs(x) < 0.8) & (np.abs((rays / -rays[..., 2:] * 1.5)[..., 1] - 2.0) < 0.3)
    assert near.sum() > 500
    free = radiance(renderer, scene(floor, lights=[lamp]), view)[..., 1]
    soft = radiance(renderer, scene(floor, roof, lights=[lamp]), view, samples=64)[..., 1]
    error = (soft / free)[near] - half_seen(kind, x[near])
    # Four of the samples.
    assert np.abs(error).max() < 0.0625
    assert abs(error.mean()) < 0.01
    hard = radiance(renderer, scene(floor, roof, lights=[lamp]), view)[..., 1]
    np.testing.assert_allclose((hard / free)[near], x[near] > 0.0, atol=1e-3)


def test_samples_soften_edges(renderer: EmbreeRenderer) -> None:
    """More rays per pixel would not give the covered fraction."""
    sheet = scene(("sheet", quad(2.0), GROUND, at((0.013, 0.0, 0.0))), lights=[dome(1.0)])
    one = radiance(renderer, sheet, samples=1)[24, :, 0]
    many = radiance(renderer, sheet, samples=16)[24, :, 0]
    assert len(np.unique(np.round(one, 3))) == 2
    # Where the edges cut a pixel in shares, on a background of 1 and a sheet of 0.6.
    width = 5 * abs(world_rays(DOWN)[24, 33, 0] / world_rays(DOWN)[24, 33, 2]) * 2
    np.testing.assert_allclose((1 - many).sum() / 0.4 * width / 3, 2.0, atol=0.03 * 2)


def closed_box(albedo: float, side: float = 6.0) -> list[Any]:
    """Return the walls of a cube around the origin, all of one albedo."""
    surface = {"diffuse_color": (albedo,) * 3, **LAMBERT}
    walls = []
    for axis in range(3):
        for end in (-1, 1):
            turn = np.roll(np.eye(3), 2 - axis, axis=1)
            place = np.zeros(3)
            place[axis] = end * side / 2
            walls.append((f"wall{axis}{end}", quad(side), surface, at(place, turn)))
    return walls


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbreeRenderer]:
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path))
    renderer = EmbreeRenderer(threads=2, bounces=3)
    yield renderer
    renderer.close()


def test_a_closed_room_hides_the_sky(made: EmbreeRenderer) -> None:
    """The sky would shine through the walls of a room without windows."""
    world = scene(*closed_box(0.5), lights=[dome(1000.0)])
    inside = radiance(made, world, look((1.0, 0.5, 0.3), (3.0, 0.0, 0.0), (32, 24)))
    assert inside.max() < 1.0


def test_walls_reflect_the_light_of_a_lamp(made: EmbreeRenderer) -> None:
    """Bounces in a room would not sum up to the geometric series of its albedo."""
    albedo = 0.5
    light = lamp("SphereLight", (0.0, 0.0, 0.0), 500.0, radius=0.1)
    view = look((0.0, 0.0, 0.5), (3.0, 0.3, 0.2), (32, 24), 90)
    bare = EmbreeRenderer(threads=2, bounces=0)
    direct = radiance(bare, scene(*closed_box(albedo), lights=[light]), view)
    bare.close()
    seen = radiance(made, scene(*closed_box(albedo), lights=[light]), view)
    # All power, 4 pi^2 r^2 L, is spread over six walls; each bounce leaves the part `albedo` of it.
    power = 4 * math.pi**2 * 0.01 * 500.0
    indirect = power / (6 * 36.0) * (albedo + albedo**2 + albedo**3) * albedo / math.pi
    np.testing.assert_allclose((seen - direct).mean(), indirect, rtol=0.15)


def test_light_is_kept_on_disk(made: EmbreeRenderer, tmp_path: Path) -> None:
    """Kept light would differ from computed light, or serve another scene, or a damaged file would stop."""
    world = scene(*closed_box(0.5), lights=[lamp("SphereLight", (0.0, 0.0, 0.0), 500.0, radius=0.1)])
    first = radiance(made, world)
    (file,) = (tmp_path / "light").glob("*.npz")
    written = file.stat().st_ino
    np.testing.assert_array_equal(radiance(made, world), first)
    assert file.stat().st_ino == written
    file.write_bytes(file.read_bytes()[:1000])
    np.testing.assert_array_equal(radiance(made, world), first)
    radiance(made, scene(*closed_box(0.4), lights=[dome(1.0)]))
    assert len(list((tmp_path / "light").glob("*.npz"))) == 2


def test_the_light_that_was_used_last_is_kept(
    made: EmbreeRenderer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dataset of many scenes would fill the disk."""
    monkeypatch.setattr("pegasus.render.embree.irradiance._KEPT", 2)
    for albedo in (0.5, 0.4, 0.3):
        radiance(made, scene(*closed_box(albedo), lights=[dome(1.0)]))
    assert len(list((tmp_path / "light").glob("*.npz"))) == 2


def test_light_does_not_depend_on_threads(
    made: EmbreeRenderer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Precomputed light would depend on the number of threads."""
    world = scene(*closed_box(0.5), lights=[lamp("SphereLight", (1.0, 0.5, 0.0), 500.0, radius=0.1)])
    first = radiance(made, world)
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "other"))
    alone = EmbreeRenderer(threads=1, bounces=3)
    np.testing.assert_array_equal(radiance(alone, world), first)
    alone.close()


def test_leaves_pass_light_on(renderer: EmbreeRenderer, tmp_path: Path) -> None:
    """A leaf with the sun behind it would not show 0.7 of the light that it reflects with the sun ahead."""
    opaque = Texture(picture(tmp_path / "leaf.png", np.full((8, 8, 4), 255)), channel="a", srgb=False)
    leaf = {**GROUND, "opacity": opaque, "opacity_threshold": 0.5}
    for side, part in ((1.0, 1.0), (-1.0, 0.7)):
        seen = radiance(
            renderer, scene(("leaf", quad(4.0), leaf, np.eye(4)), lights=[sun((0, 0, side), 1000.0)])
        )
        expected = np.array(GROUND["diffuse_color"]) / math.pi * 1000.0 * part
        np.testing.assert_allclose(seen[24, 32], expected, rtol=1e-4)


def golden_scene(tmp_path: Path) -> Scene:
    board = np.indices((64, 64)).sum(axis=0) // 8 % 2 * 120 + 80
    path = picture(tmp_path / "tiles.png", np.repeat(board[..., None], 3, axis=2))
    tiles = {"diffuse_color": Texture(path, uv_scale=(6.0, 6.0)), "roughness": 0.4}
    sky = Light("/Sky", "DomeLight", np.eye(4), (530.0, 730.0, 1000.0), {})
    glass = {"diffuse_color": (0.2, 0.4, 0.5), "opacity": 0.4, "roughness": 0.1}
    return scene(
        ("ground", quad(60.0), tiles, np.eye(4)),
        ("ball", ball(1.0, 48), {"diffuse_color": (0.7, 0.1, 0.08), "roughness": 0.25}, at((-0.8, 0.5, 1))),
        ("box", cube(1.4), {"diffuse_color": (0.75, 0.6, 0.3), "metallic": 1.0}, at((1.6, 1.5, 0.7))),
        ("pane", cube(1.2), glass, at((1.0, -1.2, 0.75))),
        lights=[sun((-1.0, -0.7, 1.2), 3000.0), sky],
    )


def displayed(light: Any) -> Any:
    """Return an image for display: tone-mapped, 8 bits."""
    scaled = light / (1.0 + light / 1500.0) / 1500.0
    return np.round(255 * np.clip(scaled, 0, 1) ** (1 / 2.2)).astype(np.uint8)


def test_golden_picture(renderer: EmbreeRenderer, tmp_path: Path) -> None:
    """The image as a whole would differ from an approved one."""
    view = look((-1.5, -6.0, 2.6), (0.3, 0.5, 0.7), (160, 120))
    seen = displayed(radiance(renderer, golden_scene(tmp_path), view, samples=4))
    known = np.asarray(Image.open(GOLDEN), dtype=np.float64)
    difference = np.abs(seen.astype(np.float64) - known)
    # Blocks of four pixels forgive an edge that moves by a fraction of one.
    blocks = (seen - known).reshape(30, 4, 40, 4, 3).mean(axis=(1, 3))
    assert difference.mean() < 1.0
    assert np.abs(blocks).max() < 8.0
