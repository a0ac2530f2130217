"""Tests of speed profiles with smooth ramps."""

import math

import numpy as np
import pytest

from pegasus.control.trajectories import Profile


@pytest.mark.parametrize(
    ("distance", "rate", "acceleration"), [(20.0, 2.0, 1.0), (0.3, 2.0, 1.0), (3.75, 2.0, 2.0)]
)
def test_reaches_its_limits_and_not_more(distance, rate, acceleration):
    """If this fails, vehicles fly faster or harder than the user allowed, or needlessly slowly."""
    profile = Profile(distance, rate=rate, acceleration=acceleration)
    values = np.array([profile.at(t) for t in np.linspace(0.0, profile.duration, 4001)])
    assert values[:, 1].max() <= rate + 1e-12
    assert np.abs(values[:, 2]).max() == pytest.approx(acceleration, rel=1e-5)
    if distance > 15 / 8 * rate**2 / acceleration:
        assert values[:, 1].max() == pytest.approx(rate, abs=1e-12)
        # Cruise at the rate, and two ramps at half of it: T = L / v + T_ramp, T_ramp = 15/8 v / a.
        assert profile.duration == pytest.approx(distance / rate + 15 / 8 * rate / acceleration)


def test_ends_at_rest_at_the_distance():
    """If this fails, segments do not meet."""
    profile = Profile(7.0, rate=1.5, acceleration=0.8)
    assert profile.at(-1.0) == profile.at(0.0) == (0.0, 0.0, 0.0, 0.0)
    assert profile.at(profile.duration) == profile.at(1e9) == (7.0, 0.0, 0.0, 0.0)
    just_before = profile.at(profile.duration - 1e-6)
    assert just_before == pytest.approx((7.0, 0.0, 0.0, 0.0), abs=1e-4)


def test_derivatives_are_exact():
    """If this fails, feed-forward pulls the vehicle off the path."""
    profile, h = Profile(9.0, rate=2.0, acceleration=1.0), 1e-5
    for t in np.random.default_rng(1).uniform(0, profile.duration, 200):
        slope = (np.array(profile.at(t + h)) - np.array(profile.at(t - h))) / (2 * h)
        np.testing.assert_allclose(profile.at(t)[1:], slope[:3], atol=1e-6)


def test_jerk_has_no_steps():
    """If this fails, the wanted body rates jump and the motors with them."""
    profile = Profile(9.0, rate=2.0, acceleration=1.0)
    jerk = np.array([profile.at(t)[3] for t in np.linspace(0, profile.duration, 20001)])
    # The steepest snap of the smooth step is 60 v / T_ramp^3.
    ramp = 15 / 8 * 2.0
    assert np.abs(np.diff(jerk)).max() <= 60 * 2.0 / ramp**3 * profile.duration / 20000 * 1.001


def test_nothing_to_cover_and_no_end():
    """If this fails, a part of no length or one that flies for ever breaks the flight."""
    assert Profile(0.0, rate=1.0, acceleration=1.0).duration == 0.0
    assert Profile(0.0, rate=1.0, acceleration=1.0).at(0.3) == (0.0, 0.0, 0.0, 0.0)
    endless = Profile(math.inf, rate=2.0, acceleration=1.0)
    assert endless.duration == math.inf
    assert endless.at(1000.0)[1:] == (2.0, 0.0, 0.0)
