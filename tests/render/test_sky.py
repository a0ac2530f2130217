"""Tests of the sky: energy, axes, files."""

import math
from pathlib import Path

import numpy as np
import pytest
from embree_scenes import dome, sun
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.render.sky import sky_directions, sky_harmonics, sky_image
from pegasus.scene.scene import Light


def onto(sky: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return the irradiance on a surface, by summing over all pixels."""
    directions = sky_directions(len(sky))
    weight = np.sqrt(1 - directions[..., 2] ** 2)
    weight = weight / weight.sum() * 4 * np.pi * np.maximum(directions @ normal, 0)
    return (sky * weight[..., None]).sum(axis=(0, 1))


def test_a_clear_sky_gives_what_the_dome_says() -> None:
    """The gradient would change the irradiance, or the sun's side be wrong."""
    blue = Light("/Sky", "DomeLight", np.eye(4), (530.0, 730.0, 1000.0), {})
    light = sun((1.0, 0.0, 1.0), 3000.0)
    sky = sky_image([light, blue])
    weights = np.array([0.2126, 0.7152, 0.0722])
    level = onto(sky, np.array([0.0, 0.0, 1.0])) @ weights
    np.testing.assert_allclose(level, math.pi * np.array(blue.color) @ weights, rtol=0.01)
    east, west = onto(sky, np.array([1.0, 0, 0])), onto(sky, np.array([-1.0, 0, 0]))
    assert (east > west).all()
    top, low = sky[100].mean(axis=0), sky[250].mean(axis=0)
    assert top[2] / top[0] > 1.5 * low[2] / low[0]


def test_harmonics_against_the_sum() -> None:
    """The nine coefficients would deviate by more than a few per cent of a smooth sky's irradiance."""
    directions = sky_directions(64)
    sky = (1.0 + 0.6 * directions[..., :1] + 0.3 * directions[..., 2:] ** 2) * np.array([1.0, 2.0, 0.5])
    coefficients = sky_harmonics(sky.astype(np.float32))
    for normal in np.random.default_rng(3).normal(size=(8, 3)):
        x, y, z = normal / np.linalg.norm(normal)
        basis = np.array([1, y, z, x, x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y])
        np.testing.assert_allclose(basis @ coefficients, onto(sky, np.array([x, y, z])), rtol=0.01)


def test_without_a_sun_a_dome_is_even() -> None:
    """A dome in a hall without a sun would be a blue sky."""
    assert np.unique(sky_image([dome(150.0)])).tolist() == [150.0]
    assert np.unique(sky_image([])).tolist() == [0.0]


@pytest.mark.parametrize("turn", [0.0, 90.0])
def test_an_image_stands_where_its_dome_turns_it(tmp_path: Path, turn: float) -> None:
    """The image's middle would not be south, or its left quarter not east."""
    pixels = np.zeros((64, 128, 3), np.uint8)
    pixels[20:44, 28:36] = 255
    Image.fromarray(pixels).save(tmp_path / "sky.png")
    pose = np.eye(4)
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    pose[:2, :2] = [[c, -s], [s, c]]
    sky = sky_image([Light("/Sky", "DomeLight", pose, (2.0, 2.0, 2.0), {}, tmp_path / "sky.png")])
    bright = sky_directions(len(sky))[sky[..., 0] > 1.9].mean(axis=0)
    np.testing.assert_allclose(bright / np.linalg.norm(bright), [c, s, 0.0], atol=0.03)
    assert sky.max() == pytest.approx(2.0)


def run_lengths(pixels: np.ndarray) -> bytes:
    """Return rows in the run-length format of Radiance files."""
    content = b""
    for row in pixels:
        content += bytes([2, 2, len(row) >> 8, len(row) & 255])
        for channel in row.T:
            content += bytes([128 + 4, channel[0], len(row) - 4]) + channel[4:].tobytes()
    return content


@pytest.mark.parametrize("compressed", [False, True])
def test_radiance_files(tmp_path: Path, compressed: bool) -> None:
    """The shared exponent would be wrong: (128, 64, 32) with 129 is (1, 1/2, 1/4)."""
    pixels = np.zeros((16, 32, 4), np.uint8)
    pixels[:] = (128, 64, 32, 129)
    pixels[:, 4:, 3] = np.arange(28) // 4 % 3 + 128
    body = run_lengths(pixels) if compressed else pixels.tobytes()
    (tmp_path / "sky.hdr").write_bytes(b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 16 +X 32\n" + body)
    sky = sky_image([Light("/Sky", "DomeLight", np.eye(4), (1.0, 1.0, 1.0), {}, tmp_path / "sky.hdr")])
    column = sky[len(sky) // 2, sky.shape[1] * 1 // 32 + 2]
    np.testing.assert_allclose(column, [1.0, 0.5, 0.25], rtol=0.02)
    assert sky.max() == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize(("name", "content"), [("sky.exr", b"v/1\x01"), ("sky.hdr", b"#?RADIANCE\n\n+X 3")])
def test_unreadable_skies_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    """A sky that cannot be read would be black without an error."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=name):
        sky_image([Light("/Sky", "DomeLight", np.eye(4), (1.0, 1.0, 1.0), {}, tmp_path / name)])
