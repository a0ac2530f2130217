"""Tests of terrain erosion."""

import numpy as np
import pytest

from pegasus.worlds.relief import crumbled, smoothly_sampled, worn_by_water


def test_worn_land_drains_over_its_edge() -> None:
    """Eroded terrain would have pits without drainage."""
    rng = np.random.default_rng(1)
    z = worn_by_water(1.0 + rng.uniform(0.0, 0.5, (33, 33)))
    inner = z[1:-1, 1:-1]
    lowest = np.min(
        [z[1 + i : 32 + i, 1 + j : 32 + j] for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j], axis=0
    )
    assert (inner > lowest).mean() > 0.99
    assert z.max() > 3.0 * np.abs(z[:, 0]).max()


def test_what_is_too_steep_slides_and_nothing_is_lost() -> None:
    """Weathering would create or remove soil, or leave cliffs unchanged."""
    heights = np.where(np.arange(40)[:, None] < 20, 0.0, 10.0) * np.ones((40, 40))
    slid = crumbled(heights, 1.0)
    assert slid.sum() == pytest.approx(heights.sum())
    assert np.abs(np.diff(slid, axis=0)).max() < 0.5 * np.abs(np.diff(heights, axis=0)).max()


def test_sampling_keeps_a_plane_and_the_grid() -> None:
    """Eroded terrain would be distorted where it is refined."""
    y, x = np.mgrid[0:9, 0:11].astype(np.float64)
    rng = np.random.default_rng(2)
    column, row = rng.uniform(1.0, 9.0, 50), rng.uniform(1.0, 7.0, 50)
    np.testing.assert_allclose(smoothly_sampled(2 * x - 3 * y, column, row), 2 * column - 3 * row, atol=1e-12)
    values = rng.normal(size=(9, 11))
    np.testing.assert_allclose(smoothly_sampled(values, x, y), values, atol=1e-12)
