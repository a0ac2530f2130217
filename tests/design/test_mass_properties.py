"""Tests of mass properties of solids against sums over their points."""

import numpy as np

from pegasus.design import box, combined, disc, point, rod


def of_points(points: np.ndarray, mass: float) -> np.ndarray:
    """Return the inertia of equal point masses about their centre."""
    d = points - points.mean(axis=0)
    return mass / len(d) * ((d * d).sum() * np.eye(3) - d.T @ d)


def grid(*lengths: float) -> np.ndarray:
    """Return the middles of many equal cells of a box."""
    axes = [(np.arange(60) + 0.5) / 60 * length for length in lengths]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def test_a_box_is_the_sum_of_its_points():
    """The moments of inertia of a box would be exchanged between axes."""
    part = box("b", 2.0, (1, 2, 3), (0.3, 0.2, 0.1))
    np.testing.assert_allclose(part.inertia, of_points(grid(0.3, 0.2, 0.1), 2.0), rtol=1e-3, atol=1e-12)


def test_a_rod_is_the_sum_of_its_points():
    """An arm's inertia would be about the wrong axis."""
    start, end = np.array([0.1, -0.2, 0.05]), np.array([0.3, 0.4, 0.0])
    points = start + (np.arange(4000)[:, None] + 0.5) / 4000 * (end - start)
    part = rod("arm", 0.3, start, end)
    np.testing.assert_allclose(part.inertia, of_points(points, 0.3), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(part.position, points.mean(axis=0))


def test_parts_together_are_the_sum_of_all_points():
    """The parallel axis theorem would be omitted, or applied twice."""
    at, turned = np.array([0.4, 0.0, 0.1]), np.array([-0.2, 0.3, 0.0])
    cells = grid(0.3, 0.2, 0.1) - (0.15, 0.1, 0.05)
    both = combined([box("a", 1.0, at, (0.3, 0.2, 0.1)), box("b", 1.0, turned, (0.3, 0.2, 0.1))])
    points = np.concatenate([cells + at, cells + turned])
    assert both.mass == 2.0
    np.testing.assert_allclose(both.position, points.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(both.inertia, of_points(points, 2.0), rtol=2e-4, atol=1e-12)
    alone = combined([point("m", 3.0, (5, 5, 5))])
    np.testing.assert_allclose(alone.inertia, 0.0, atol=1e-12)


def test_a_disc_has_half_across_its_axis():
    """A propeller would break the perpendicular axis theorem."""
    part = disc("p", 0.01, (0, 0, 1), 2e-5)
    assert part.inertia[0, 0] + part.inertia[1, 1] == part.inertia[2, 2] == 2e-5
