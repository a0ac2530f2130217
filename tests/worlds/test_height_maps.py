"""Tests of user height maps in the world `hills`."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pegasus.base.errors import ConfigError
from pegasus.worlds.height_maps import height_map_shape, read_height_map
from pegasus.worlds.hills import Hills


def test_an_image_of_sixteen_bit_is_read_north_up(tmp_path: Path) -> None:
    """Land would be upside down, or of the wrong height."""
    values = np.zeros((60, 80), dtype=np.uint16)
    values[0], values[-1, 3] = 65535, 32768
    Image.fromarray(values).save(tmp_path / "map.png")
    heights = read_height_map(tmp_path / "map.png", 40.0)
    assert height_map_shape(tmp_path / "map.png") == heights.shape == (60, 80)
    np.testing.assert_allclose(heights[-1], 40.0)
    assert heights[0, 3] == pytest.approx(20.0, abs=1e-3)


def test_metres_of_a_numpy_file_are_kept(tmp_path: Path) -> None:
    """Measured heights would be scaled."""
    values = np.random.default_rng(1).uniform(-3.0, 7.0, (50, 51))
    np.save(tmp_path / "map.npy", values)
    np.testing.assert_array_equal(read_height_map(tmp_path / "map.npy", 40.0), values[::-1])


def test_another_map_under_the_same_name_is_another_world(tmp_path: Path) -> None:
    """A cached world would be used in place of the changed one."""
    np.save(tmp_path / "map.npy", np.zeros((50, 50)))
    first = Hills(height_map=tmp_path / "map.npy")
    np.save(tmp_path / "map.npy", np.ones((50, 50)))
    assert Hills(height_map=tmp_path / "map.npy") != first


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.png", "there is no such file"),
        ("text.png", "is no image"),
        ("text.npy", "is no NumPy file"),
        ("small.npy", "50 x 50 heights or more, not 3 x 4"),
        ("gaps.npy", "finite"),
        ("color.png", "greyscale image of 16 bit"),
    ],
)
def test_what_is_no_map_is_refused_in_one_line(tmp_path: Path, name: str, problem: str) -> None:
    """The error would not name the fault of a file."""
    for text in ("text.png", "text.npy"):
        (tmp_path / text).write_text("heights")
    np.save(tmp_path / "small.npy", np.zeros((3, 4)))
    np.save(tmp_path / "gaps.npy", np.full((60, 60), np.nan))
    Image.fromarray(np.zeros((60, 60, 3), dtype=np.uint8)).save(tmp_path / "color.png")
    with pytest.raises(ConfigError, match=problem) as caught:
        read_height_map(tmp_path / name, 30.0)
    assert "height_map = " in str(caught.value)
    assert "\n" not in str(caught.value)
