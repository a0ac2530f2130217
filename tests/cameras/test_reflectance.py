"""Tests of reflectance: means of colours and of textures."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.cameras.reflectance import Reflectances, mean_reflectance
from pegasus.scene.scene import Material, Scene, Texture


def texture(path: Path, codes: np.ndarray, **parameters: object) -> Texture:
    Image.fromarray(codes.astype(np.uint8)).save(path)
    return Texture(path=path, **parameters)


def test_a_plain_colour_is_the_mean_of_its_parts() -> None:
    """A colour's reflectance would not be the mean of its channels."""
    assert mean_reflectance(Material("/A", diffuse_color=(0.9, 0.3, 0.0))) == pytest.approx(0.4)
    assert mean_reflectance(Material("/B", diffuse_color=(4.0, 0.5, -1.0))) == pytest.approx(0.5)


def test_a_texture_is_the_mean_of_its_light(tmp_path: Path) -> None:
    """Codes would be averaged in place of linear light (IEC 61966-2-1)."""
    board = np.zeros((64, 64, 3))
    board[:, ::2] = 255
    assert mean_reflectance(Material("/A", texture(tmp_path / "a.png", board))) == pytest.approx(
        0.5, abs=1e-6
    )
    grey = np.full((8, 8, 3), 188)
    assert mean_reflectance(Material("/B", texture(tmp_path / "b.png", grey))) == pytest.approx(
        0.5, abs=0.005
    )
    linear = texture(tmp_path / "c.png", grey, srgb=False)
    assert mean_reflectance(Material("/C", linear)) == pytest.approx(188 / 255, abs=1e-6)


def test_scale_bias_channel_and_cut_out_count(tmp_path: Path) -> None:
    """A tinted texture would keep its own brightness, or holes between leaves be dark leaves."""
    white = np.full((4, 4, 3), 255)
    tinted = texture(tmp_path / "a.png", white, scale=(0.5, 0.2, 0.1, 1.0), bias=(0.1, 0.0, 0.0, 0.0))
    assert mean_reflectance(Material("/A", tinted)) == pytest.approx((0.6 + 0.2 + 0.1) / 3)
    red = texture(tmp_path / "b.png", white * [1, 0, 0], channel="r")
    assert mean_reflectance(Material("/B", red)) == pytest.approx(1.0)
    leaves = np.zeros((4, 4, 4))
    leaves[:2] = 255
    leaf = texture(tmp_path / "c.png", leaves)
    assert mean_reflectance(Material("/C", leaf)) == pytest.approx(0.5)
    assert mean_reflectance(Material("/C", leaf, opacity=leaf, opacity_threshold=0.5)) == pytest.approx(1.0)


def test_materials_are_found_in_any_scene_and_read_once(tmp_path: Path) -> None:
    """A vehicle's material would be missed, nothing have a reflectance, or files be read at each scan."""
    paint = Material("/Paint", texture(tmp_path / "a.png", np.full((4, 4, 3), 255)))
    scenes = [
        Scene("world", materials={"/Grey": Material("/Grey", (0.2, 0.2, 0.2))}),
        Scene("vehicle", materials={"/Paint": paint}),
    ]
    known = Reflectances()
    paths = ["/Grey", "/Unused", "/Paint"]
    assert known.table(paths, [0, 2], scenes).tolist() == pytest.approx([0.2, 0.0, 1.0, 0.0])
    (tmp_path / "a.png").unlink()
    assert known.table(paths, [2], scenes)[[2, -1]].tolist() == pytest.approx([1.0, 0.0])


def test_a_texture_that_is_no_image_is_named(tmp_path: Path) -> None:
    """A scan would end in an error that does not say which file is at fault."""
    broken = tmp_path / "broken.png"
    broken.write_text("no image")
    with pytest.raises(ConfigError, match=r"broken\.png: texture cannot be read"):
        mean_reflectance(Material("/A", Texture(path=broken)))
