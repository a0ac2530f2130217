"""Oracles that every trajectory is put to."""

import math
from types import SimpleNamespace

import numpy as np
import pytest


def assert_exact_derivatives(trajectory, *, count=60, tolerance=1e-5, seed=0):
    """Compare velocity, acceleration, jerk and yaw rate with central differences at random instants."""
    h = 1e-5
    rng = np.random.default_rng(seed)
    for t in rng.uniform(2 * h, trajectory.duration - 2 * h, count):
        before, here, after = (trajectory.sample(t + step) for step in (-h, 0.0, h))
        for k in range(3):
            slope = (np.array(after.motion[k]) - np.array(before.motion[k])) / (2 * h)
            np.testing.assert_allclose(here.motion[k + 1], slope, rtol=tolerance, atol=tolerance)
        if here.yaw is not None:
            turn = math.remainder(after.yaw - before.yaw, 2 * math.pi) / (2 * h)
            assert here.yaw_rate == pytest.approx(turn, abs=1e-4)


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
    return np.array([trajectory.sample(t).motion for t in np.linspace(0.0, trajectory.duration, count)])


@pytest.fixture
def oracle():
    """The checks by name."""
    return SimpleNamespace(
        assert_exact_derivatives=assert_exact_derivatives, assert_joined=assert_joined, samples=samples
    )
