"""Oracles that every trajectory is put to."""

import math
from types import SimpleNamespace

import numpy as np
import pytest


def assert_exact_derivatives(trajectory, *, count=60, tolerance=1e-5, seed=0):
    """Compare velocity, acceleration, jerk and yaw rate with central differences at random instants."""
    h = 1e-5
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(2 * h, trajectory.duration - 2 * h, count))
    before, here, after = (trajectory.samples(times + step)[0] for step in (-h, 0.0, h))
    slope = (after[:, :9] - before[:, :9]) / (2 * h)
    np.testing.assert_allclose(here[:, 3:12], slope, rtol=tolerance, atol=tolerance)
    headed = ~np.isnan(here[:, 12])
    turn = np.remainder((after - before)[headed, 12] + math.pi, 2 * math.pi) - math.pi
    np.testing.assert_allclose(here[headed, 13], turn / (2 * h), rtol=0.0, atol=1e-4)


def assert_joined(trajectory, *, tolerance=1e-6):
    """Compare both sides of every joint of a sequence: position to jerk, and heading."""
    joints = np.cumsum([part.duration for part in trajectory.parts])[:-1]
    assert len(joints) > 0
    for t in joints:
        before, after = trajectory.sample(t - 1e-9), trajectory.sample(t + 1e-9)
        for k in range(4):
            np.testing.assert_allclose(before.motion[k], after.motion[k], atol=tolerance, err_msg=f"at {t}")
        if before.yaw is not None:
            assert abs(math.remainder(after.yaw - before.yaw, 2 * math.pi)) < tolerance


def samples(trajectory, count=2000):
    """Return position, velocity, acceleration and jerk over the whole duration, shape (count, 4, 3)."""
    points, _ = trajectory.samples(np.linspace(0.0, trajectory.duration, count))
    return points[:, :12].reshape(count, 4, 3)


@pytest.fixture(scope="session")
def oracle():
    """The checks by name."""
    return SimpleNamespace(
        assert_exact_derivatives=assert_exact_derivatives, assert_joined=assert_joined, samples=samples
    )
