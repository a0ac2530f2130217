"""Periodic noise."""

import numpy as np

from pegasus.base.arrays import Array, IntArray


def fractal_noise(
    rng: np.random.Generator,
    pixels: int,
    *,
    cells: float | tuple[float, float],
    octaves: float = 5,
    gain: float = 0.5,
) -> Array:
    """Return Gaussian noise of mean 0 and standard deviation 1, shape (pixels, pixels).

    Spectral synthesis: random waves within a band of frequencies, weaker by a factor at each octave
    (Saupe 1988, "Algorithms for random fractals", sec. 2.4.3).

    Args:
        rng: Random numbers.
        pixels: Pixels along each side.
        cells: Waves of the coarsest octave along each side, or along x and along y.
        octaves: Width of the band.
        gain: Amplitude of an octave by that of the coarser one.
    """
    across, down = cells if isinstance(cells, tuple) else (cells, cells)
    top_x = int(min(across * 2**octaves, pixels // 2 - 1))
    top_y = int(min(down * 2**octaves, pixels // 2 - 1))
    y = np.concatenate([np.arange(top_y + 1), np.arange(-top_y, 0)])
    frequency = np.hypot(y[:, None] / down, np.arange(top_x + 1) / across)
    band = (frequency > 0.7) & (frequency < 2**octaves)
    amplitude = np.where(band, np.maximum(frequency, 0.7) ** (np.log2(gain) - 1.0), 0.0)
    waves = amplitude * (rng.standard_normal(band.shape) + 1j * rng.standard_normal(band.shape))
    spectrum = np.zeros((pixels, top_x + 1), dtype=np.complex128)
    spectrum[y] = waves
    values: Array = np.fft.irfft(np.fft.ifft(spectrum, axis=0), pixels, axis=1)
    scaled: Array = values / np.sqrt((values * values).mean())
    return scaled


def blurred(values: Array, radius: float) -> Array:
    """Return values smoothed by a Gaussian that wraps around.

    Args:
        values: Values, shape (H, W).
        radius: Standard deviation [pixel].
    """
    down = np.exp(-2.0 * (np.pi * radius * np.fft.fftfreq(values.shape[0])) ** 2)
    across = np.exp(-2.0 * (np.pi * radius * np.fft.rfftfreq(values.shape[1])) ** 2)
    smooth: Array = np.fft.irfft2(np.fft.rfft2(values) * down[:, None] * across, values.shape)
    return smooth


def cellular_noise(
    rng: np.random.Generator,
    pixels: int,
    *,
    cells: int | tuple[int, int],
    warp: tuple[Array, Array] | None = None,
) -> tuple[Array, Array, IntArray]:
    """Return distances to the nearest and second nearest of scattered points, and which is nearest.

    Worley 1996, one point in each cell of a lattice that wraps around. Distances are in cells, all three of
    shape (pixels, pixels).

    Args:
        rng: Random numbers.
        pixels: Pixels along each side.
        cells: Cells along each side, or along x and along y.
        warp: Shift of the coordinates x and y [cell], each of shape (pixels, pixels).
    """
    across, down = cells if isinstance(cells, tuple) else (cells, cells)
    point = rng.uniform(0.1, 0.9, (2, down, across))
    place = (np.arange(pixels) + 0.5) / pixels
    x, y = (
        np.broadcast_to(place * across, (pixels, pixels)),
        np.broadcast_to(place[:, None] * down, (pixels, pixels)),
    )
    if warp is not None:
        x, y = x + warp[0], y + warp[1]
    column, row = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    inside_x, inside_y = x - column, y - row
    nearest = np.full((pixels, pixels), np.inf)
    second = nearest.copy()
    which = np.zeros((pixels, pixels), dtype=np.int64)
    for up in (-1, 0, 1):
        for right in (-1, 0, 1):
            index = (row + up) % down * across + (column + right) % across
            dx = point[0].ravel()[index] + right - inside_x
            dy = point[1].ravel()[index] + up - inside_y
            square = dx * dx + dy * dy
            closer = square < nearest
            second = np.minimum(second, np.where(closer, nearest, square))
            which = np.where(closer, index, which)
            nearest = np.minimum(nearest, square)
    return np.sqrt(nearest), np.sqrt(second), which
