"""Tests of RTX images for a lens, and of the choice of their pixels."""

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.cameras import BrownConrady, KannalaBrandt, Pinhole
from pegasus.isaac.rtx_camera import film_of
from pegasus.optics.lens import pixel_grid
from pegasus.render import View


def view(lens, resolution):
    """Return a view through a lens."""
    return View(lens=lens, resolution=resolution, position=np.zeros(3), rotation=np.eye(3))


@pytest.mark.parametrize("resolution", [(640, 480), (641, 479), (64, 64)])
def test_a_plain_lens_gets_its_own_pixels(resolution):
    """Images would be shifted or scaled by a pixel."""
    film = film_of(view(Pinhole(horizontal_fov=1.2), resolution))
    assert film.resolution == resolution
    width, height = resolution
    np.testing.assert_allclose(film.focal_length, width / 2 / np.tan(0.6), rtol=1e-9)
    np.testing.assert_array_equal(film.rows, np.arange(height)[:, None] + np.zeros(width, int))
    np.testing.assert_array_equal(film.columns, np.arange(width) + np.zeros((height, 1), int))


@pytest.mark.parametrize(
    "lens",
    [
        BrownConrady(horizontal_fov=1.0, k1=-0.15, p1=0.002),
        Pinhole(focal_length=(300.0, 280.0), center=(150.0, 130.0)),
        KannalaBrandt(horizontal_fov=1.8),
    ],
)
def test_other_lenses_take_the_pixel_in_their_direction(lens):
    """A lens would take pixels of a wrong direction, or rows that RTX has not drawn."""
    resolution = (320, 240)
    film = film_of(view(lens, resolution))
    directions = lens.directions(pixel_grid(resolution), resolution)
    taken = np.stack([film.columns, film.rows], axis=-1) + 0.5 - np.array(film.resolution) / 2
    wanted = directions[..., :2] / directions[..., 2:] * film.focal_length
    # No farther than half a pixel of the finer image.
    assert np.abs(taken - wanted).max() <= 0.5 + 1e-6


def test_a_fisheye_is_refused():
    """A fisheye's edge would show wrong directions."""
    with pytest.raises(ConfigError, match="80 degrees"):
        film_of(view(KannalaBrandt(horizontal_fov=3.2), (320, 240)))
