"""Tests of the relay manoeuvre of the Pegasus paper."""

import math

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"s": 1.3, "span": 2.0, "speed": 2.5, "acceleration": 4.0, "yaw": "forward"},
        {"mirrored": True, "center": (1.0, 4.5), "heading": 0.7, "height": 3.0, "yaw": "forward"},
    ],
)
def test_derivatives_are_exact(parameters, oracle):
    """If this fails, feed-forward pulls the vehicle off an aggressive path."""
    oracle.assert_exact_derivatives(trajectories.relay(**parameters), count=200)


def test_is_equation_17(oracle):
    """If this fails, another manoeuvre than the published one is flown."""
    relay = trajectories.relay(s=0.6)
    x, y, z = oracle.samples(relay)[:, 0].T
    swerve = np.exp(-0.5 * (x / 0.6) ** 2) / 0.6
    np.testing.assert_allclose(y, swerve, atol=1e-12)
    np.testing.assert_allclose(z, 1.0 + swerve, atol=1e-12)
    np.testing.assert_allclose([x[0], x[-1]], [-5.0, 5.0], atol=1e-12)
    middle = relay.sample(0.5 * relay.duration)
    # t is the time there; the extremes of the bell's derivatives at t = 0.
    np.testing.assert_allclose(middle.velocity, [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(middle.acceleration, [0.0, -1 / 0.6**3, -1 / 0.6**3], rtol=1e-12)


def test_the_second_vehicle_mirrors_the_first(oracle):
    """If this fails, the two vehicles meet in the middle instead of passing at 4.5 m - 2 / s."""
    first = oracle.samples(trajectories.relay())[:, 0]
    second = oracle.samples(trajectories.relay(mirrored=True, center=(0.0, 4.5)))[:, 0]
    np.testing.assert_allclose(second, first * [1, -1, 1] + [0, 4.5, 0], atol=1e-12)
    assert np.linalg.norm(first - second, axis=1).min() == pytest.approx(4.5 - 2 / 0.6, abs=1e-4)


def test_heading_turns_the_manoeuvre(oracle):
    """If this fails, a turned relay is another curve."""
    plain = oracle.samples(trajectories.relay())
    turned = oracle.samples(trajectories.relay(heading=0.5 * math.pi, center=(2.0, 1.0)))
    expected = plain[..., [1, 0, 2]] * [-1, 1, 1]
    expected[:, 0] += [2.0, 1.0, 0.0]
    np.testing.assert_allclose(turned, expected, atol=1e-9)


@pytest.mark.parametrize("name", ["s", "span", "speed", "acceleration"])
def test_bad_parameters_are_named(name):
    """If this fails, a relay that cannot be flown divides by zero."""
    with pytest.raises(ConfigError, match=rf"^{name} = 0\.0: must be above 0 and finite$"):
        trajectories.relay(**{name: 0.0})
