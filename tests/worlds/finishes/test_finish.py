"""Tests of writing painted maps as images and materials."""

import numpy as np
import pytest
from PIL import Image
from pxr import Usd

from pegasus.scene.authoring import Surface, block, label, new_stage, physics_material
from pegasus.scene.scene import PhysicsMaterial, Texture
from pegasus.scene.translation import translate
from pegasus.worlds.finishes import Finish, Maps, textured_material, write_images
from pegasus.worlds.finishes.finish import normal_map
from tests.stage_validation import complaints


def chequered(rng: np.random.Generator, pixels: int) -> Maps:
    values = rng.uniform(0.0, 1.0, (pixels, pixels))
    color = np.stack([values, 0.5 * values, np.zeros_like(values)], axis=2)
    return Maps(color, 0.5 * values, np.zeros_like(values))


def pierced(rng: np.random.Generator, pixels: int) -> Maps:
    maps = chequered(rng, pixels)
    return Maps(maps.color, maps.roughness, maps.height, np.eye(pixels))


SOLID = Finish(chequered, side=2.5, contact=PhysicsMaterial(0.8, 0.7, 0.1), pixels=16, metallic=0.25)
PIERCED = Finish(pierced, side=1.0, contact=PhysicsMaterial(0.8, 0.7, 0.1), pixels=16)


def test_flat_ground_has_upright_normals():
    """Smooth surfaces would be lit from a wrong side."""
    np.testing.assert_array_equal(
        normal_map(np.full((8, 8), 0.3), 2.0), np.broadcast_to([0.5, 0.5, 1.0], (8, 8, 3))
    )


def test_normals_are_those_of_the_surface():
    """Bumps would look like dents, or be steeper on a smaller square."""
    pixels, side, height = 256, 2.0, 0.05
    place = 2 * np.pi * (np.arange(pixels) + 0.5) / pixels
    # Rows run downwards, y runs upwards.
    across, down = np.meshgrid(place, place)
    normal = 2 * normal_map(height * (np.sin(across) + np.cos(down)), side) - 1
    np.testing.assert_allclose((normal**2).sum(axis=2), 1.0, rtol=1e-12)
    slope_x = height * np.cos(across) * 2 * np.pi / side
    slope_y = height * np.sin(down) * 2 * np.pi / side
    expected = np.stack([-slope_x, -slope_y, np.ones_like(across)], axis=2)
    expected /= np.sqrt((expected**2).sum(axis=2, keepdims=True))
    np.testing.assert_allclose(normal, expected, atol=1e-4)


def test_images_hold_what_was_painted(tmp_path):
    """Colours would be written with another encoding, or channels swapped."""
    images = write_images(PIERCED, "mesh", tmp_path, np.random.default_rng(4))
    maps = PIERCED.paint(np.random.default_rng(4), 16)
    color = np.asarray(Image.open(tmp_path / images.color))
    assert color.shape == (16, 16, 4)
    np.testing.assert_allclose(color[..., :3] / 255, maps.color, atol=0.5 / 255 + 1e-9)
    np.testing.assert_array_equal(color[..., 3], 255 * np.eye(16))
    rough = np.asarray(Image.open(tmp_path / images.roughness))
    np.testing.assert_allclose(rough / 255, maps.roughness, atol=0.5 / 255 + 1e-9)
    normal = np.asarray(Image.open(tmp_path / images.normal))
    assert (normal == [128, 128, 255]).all()


def test_a_material_reads_back_as_it_was_written(tmp_path):
    """Engines would see other images, another scale, or colours as data."""
    stage = new_stage("World")
    contact = physics_material(stage, "/World/Looks/Contact", SOLID.contact)
    for name, finish, tint in (("Solid", SOLID, (0.5, 1.0, 1.0)), ("Pierced", PIERCED, (1.0, 1.0, 1.0))):
        images = write_images(finish, name.lower(), tmp_path, np.random.default_rng(1))
        look = textured_material(stage, f"/World/Looks/{name}", finish, images, tint=tint)
        label(block(stage, f"/World/{name}", (0, 0, 0), (1, 1, 1), Surface(look, contact)), "box")
    stage.Export(str(tmp_path / "world.usda"))
    scene = translate(str(tmp_path / "world.usda"))
    assert scene.warnings == []
    solid = next(m for m in scene.materials.values() if m.path.endswith("Solid"))
    color, normal, rough = solid.diffuse_color, solid.normal, solid.roughness
    assert isinstance(color, Texture)
    assert isinstance(normal, Texture)
    assert isinstance(rough, Texture)
    assert (color.srgb, normal.srgb, rough.srgb) == (True, False, False)
    assert color.scale == pytest.approx((0.5, 1.0, 1.0, 1.0))
    assert (normal.scale[:3], normal.bias[:3]) == ((2.0, 2.0, 2.0), (-1.0, -1.0, -1.0))
    assert (color.channel, rough.channel) == ("rgb", "r")
    for texture in (color, normal, rough):
        assert texture.uv_scale == pytest.approx((0.4, 0.4))
        assert texture.wrap == ("repeat", "repeat")
    assert solid.metallic == pytest.approx(0.25)
    assert solid.opacity == 1.0
    pierced_ = next(m for m in scene.materials.values() if m.path.endswith("Pierced"))
    assert isinstance(pierced_.opacity, Texture)
    assert pierced_.opacity.channel == "a"
    assert pierced_.opacity_threshold == 0.5


def test_materials_validate(tmp_path):
    """A file would break rules of OpenUSD that other tools rely on."""
    stage = new_stage("World")
    images = write_images(PIERCED, "mesh", tmp_path, np.random.default_rng(1))
    look = textured_material(stage, "/World/Looks/Mesh", PIERCED, images)
    label(block(stage, "/World/Box", (0, 0, 0), (1, 1, 1), Surface(look)), "box")
    stage.Export(str(tmp_path / "world.usda"))
    assert complaints(Usd.Stage.Open(str(tmp_path / "world.usda"))) == []
