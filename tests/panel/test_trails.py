"""Tests for the trails of moving points."""

import numpy as np

from pegasus.panel.marks import Trails


def test_a_trail_follows_the_point_and_stays_bounded():
    """If this fails, trails are drawn in the wrong place, or a long flight fills the memory."""
    trails = Trails()
    for step in range(5000):
        trails.extend(0.1 * step, np.array([[0.01 * step, 0.0, 1.0]]))
    lines = trails.segments()
    assert lines.shape == (299, 2, 3)
    np.testing.assert_allclose(lines[-1, 1], [49.99, 0.0, 1.0], atol=1e-4)
    np.testing.assert_allclose(lines[1:, 0], lines[:-1, 1])


def test_a_thousand_trails_are_bounded_together():
    """If this fails, the trails of a fleet have more points than a browser can draw."""
    trails = Trails()
    for step in range(200):
        trails.extend(0.1 * step, np.full((1000, 3), 0.1 * step))
    assert len(trails.segments()) <= 30_000


def test_a_reset_or_another_fleet_begins_anew():
    """If this fails, a line is drawn from a vehicle's position before a reset to the one after it."""
    trails = Trails()
    for time in (0.0, 0.1, 0.2):
        trails.extend(time, np.zeros((1, 3)))
    trails.extend(0.0, np.zeros((1, 3)))
    assert len(trails.segments()) == 0
    trails.extend(0.1, np.zeros((2, 3)))
    assert len(trails.segments()) == 0


def test_a_jump_is_no_line():
    """If this fails, a teleport is drawn as a flight path."""
    trails = Trails()
    trails.extend(0.0, np.zeros((1, 3)))
    trails.extend(0.1, np.full((1, 3), 100.0))
    assert len(trails.segments()) == 0
