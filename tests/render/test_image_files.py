"""Tests of image files: OpenEXR as linear light, 8-bit files as they are, broken files."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.render.image_files import read_exr, read_image
from pegasus.render.sky import sky_image
from pegasus.render.textures import decoding_table
from pegasus.scene.scene import Light

mitsuba = pytest.importorskip("mitsuba")


def write_exr(path: Path, pixels: np.ndarray) -> Path:
    mitsuba.Bitmap(np.asarray(pixels, dtype=np.float32)).write(str(path))
    return path


def test_openexr_is_read_as_linear_light(tmp_path: Path) -> None:
    """Colours of an EXR would be decoded twice, or its bright parts cut in a sky."""
    pixels = np.random.default_rng(1).uniform(0.0, 4.0, (5, 7, 3))
    path = write_exr(tmp_path / "a.exr", pixels)
    read = read_exr(path)
    np.testing.assert_allclose(read[..., :3], pixels, rtol=1e-3)
    assert (read[..., 3] == 1.0).all()
    sky = sky_image([Light("/Sky", "DomeLight", np.eye(4), (1.0, 1.0, 1.0), {}, path)])
    assert sky.max() == pytest.approx(pixels.max(), rel=0.02)


@pytest.mark.parametrize("srgb", [True, False])
def test_codes_of_openexr_decode_to_its_light(tmp_path: Path, srgb: bool) -> None:
    """Textures from EXR would be drawn too dark or too bright; light above 1 would wrap around."""
    pixels = np.random.default_rng(2).uniform(0.0, 1.5, (6, 4, 3))
    codes = read_image(write_exr(tmp_path / "a.exr", pixels), srgb=srgb)
    light = decoding_table()[:256][codes[..., :3]] if srgb else codes[..., :3] / 255.0
    np.testing.assert_allclose(light, pixels.clip(0.0, 1.0), atol=0.005)


def test_codes_of_8_bit_files_are_kept(tmp_path: Path) -> None:
    """Textures of shipped worlds would change."""
    pixels = np.random.default_rng(3).integers(0, 256, (6, 4, 4), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png", srgb=True), pixels)
    np.testing.assert_array_equal(read_image(tmp_path / "a.png", srgb=False), pixels)


@pytest.mark.parametrize("name", ["b.exr", "b.jpg", "none.exr", "none.png"])
def test_broken_images_are_one_line(tmp_path: Path, name: str) -> None:
    """A file that is no image, or none, would end a run with a traceback that does not name it."""
    (tmp_path / "b.exr").write_bytes(b"no image")
    (tmp_path / "b.jpg").write_bytes(b"no image")
    refused(tmp_path / name)


@pytest.mark.parametrize("kept", [0, 5, 300, 700])
@pytest.mark.parametrize("name", ["a.exr", "a.png"])
def test_images_cut_short_are_one_line(tmp_path: Path, name: str, kept: int) -> None:
    """A file cut short would end a run with a traceback that does not name it."""
    pixels = np.random.default_rng(4).uniform(size=(32, 32, 3))
    write_exr(tmp_path / "a.exr", pixels)
    Image.fromarray((pixels * 255).astype(np.uint8)).save(tmp_path / "a.png")
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:kept])
    line = refused(path)
    assert name.endswith(".png") or "damaged or cut short: " in line


def refused(path: Path) -> str:
    """Return the one line with which an image is refused."""
    with pytest.raises(ConfigError) as caught:
        read_image(path, srgb=True)
    line = str(caught.value)
    assert line.startswith(f"{path}: texture cannot be read: ")
    assert line.endswith("; export the image again, or convert it to .png")
    assert "\n" not in line
    return line


def test_openexr_without_its_reader_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing package would be an ImportError without the remedy."""
    monkeypatch.setitem(__import__("sys").modules, "mitsuba", None)
    with pytest.raises(ConfigError, match=r"require the missing package mitsuba; pip install .*\[photo\]"):
        read_exr(tmp_path / "a.exr")


def test_udim_tiles_are_one_image(tmp_path: Path) -> None:
    """Only tile 1001 would be drawn, or tiles in the wrong places."""
    red, green, blue = (255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 255)
    for number, color, size in ((1001, red, 4), (1002, green, 2), (1011, blue, 4)):
        Image.new("RGBA", (size, size), color).save(tmp_path / f"skin.{number}.png")
    (tmp_path / "skin.x.png").write_bytes(b"not a tile")
    image = read_image(tmp_path / "skin.<UDIM>.png", srgb=True)
    assert image.shape == (8, 8, 4)
    # v counts from below, rows of an image from above.
    assert (image[4:, :4] == red).all()
    assert (image[4:, 4:] == green).all()
    assert (image[:4, :4] == blue).all()
    assert (image[:4, 4:] == (0, 0, 0, 255)).all()
