"""Tests of periodic noise: statistics, spectrum and seams."""

import numpy as np
import pytest

from pegasus.worlds.finishes.noise import blurred, cellular_noise, fractal_noise


@pytest.mark.parametrize("cells", [1, 8, (2, 24)])
def test_fractal_noise_is_centred_and_scaled(cells):
    """Contrasts of painted surfaces would depend on the seed."""
    noise = fractal_noise(np.random.default_rng(3), 128, cells=cells)
    assert noise.shape == (128, 128)
    assert noise.mean() == pytest.approx(0.0, abs=1e-12)
    assert noise.std() == pytest.approx(1.0, abs=1e-12)


def test_fractal_noise_stays_within_its_band():
    """Patches would be larger, or grains smaller, than was asked for."""
    noise = fractal_noise(np.random.default_rng(3), 128, cells=(4, 8), octaves=2)
    power = np.abs(np.fft.fft2(noise)) ** 2
    y, x = np.meshgrid(np.fft.fftfreq(128, 1 / 128), np.fft.fftfreq(128, 1 / 128), indexing="ij")
    frequency = np.hypot(x / 4, y / 8)
    inside = (frequency > 0.69) & (frequency < 4.01)
    assert power[~inside].max() < 1e-12 * power[inside].mean()
    # Neither direction is left empty.
    assert power[(np.abs(x) > 8) & inside].sum() > 0.01 * power.sum()
    assert power[(np.abs(y) > 16) & inside].sum() > 0.01 * power.sum()


def test_gain_weakens_each_octave():
    """Rough surfaces would look like smooth ones."""
    noise = fractal_noise(np.random.default_rng(5), 512, cells=8, octaves=4, gain=0.5)
    power = np.abs(np.fft.fft2(noise)) ** 2
    line = np.fft.fftfreq(512, 1 / 512)
    frequency = np.hypot(line[:, None], line) / 8
    octave = [power[(frequency >= 2**k) & (frequency < 2 ** (k + 1))].sum() for k in range(4)]
    # A sum of n exponential variates spreads by 1 / sqrt(n); the coarsest octave has 600 of them (300 pairs).
    ratio = np.sqrt(np.array(octave[1:]) / octave[:-1])
    np.testing.assert_allclose(ratio, 0.5, rtol=3 * 0.5 * np.sqrt(1 / 300 + 1 / 1200))


def test_blurring_spreads_a_point_as_a_gaussian_around_the_edges():
    """Blurred heights would have a wrong width, or a seam."""
    point = np.zeros((64, 64))
    point[0, 63] = 1.0
    smooth = blurred(point, 2.0)
    place = np.arange(64)
    down, across = np.minimum(place, 64 - place), np.minimum((place - 63) % 64, (63 - place) % 64)
    expected = np.exp(-(down[:, None] ** 2 + across**2) / 8.0) / (8.0 * np.pi)
    np.testing.assert_allclose(smooth, expected, atol=1e-7)


def test_cellular_distances_are_distances():
    """Cells would have steps in them, or a seam at the edges."""
    cells, pixels = 12, 192
    near, second, which = cellular_noise(np.random.default_rng(1), pixels, cells=cells)
    assert (near <= second).all()
    step = cells / pixels
    for values in (near, second):
        for axis in (0, 1):
            assert np.abs(values - np.roll(values, 1, axis=axis)).max() <= step * (1 + 1e-9)
    # Every point is nearest to itself, and cells differ across their borders only.
    assert np.unique(which).size == cells**2
    assert max(near[which == k].min() for k in range(cells**2)) <= step
    border = which != np.roll(which, 1, axis=1)
    assert ((second - near)[border] <= 2 * step).all()


def test_cells_are_warped_by_the_shift():
    """A warp would move nothing, or break the pattern at the edges."""
    one = np.full((96, 96), 1.0)
    plain = cellular_noise(np.random.default_rng(1), 96, cells=(6, 3))
    moved = cellular_noise(np.random.default_rng(1), 96, cells=(6, 3), warp=(one, 0 * one))
    np.testing.assert_allclose(moved[0], np.roll(plain[0], -16, axis=1), atol=1e-9)
