"""Gravity against Newton's law."""

import array_api_strict
import numpy as np
import pytest

from pegasus.environment import InverseSquareGravity, UniformGravity
from pegasus.environment.gravity import inverse_square_gravity
from pegasus.errors import ConfigError


def test_inverse_square_follows_newton() -> None:
    """If this failed, weight would not fall off with the square of the distance from the Earth's centre."""
    radius = 6_371_000.0
    gravity = InverseSquareGravity(earth_radius=radius)
    np.testing.assert_allclose(
        gravity.magnitude(np.array([0.0, radius, 3 * radius])),
        [9.80665, 9.80665 / 4, 9.80665 / 16],
        rtol=1e-15,
    )


def test_gradient_at_sea_level() -> None:
    """If this failed, gravity would not lose 2 g / R, 3.08e-6 m/s^2, per metre near the ground."""
    gravity = InverseSquareGravity()
    low, high = gravity.magnitude(np.array([-500.0, 500.0]))
    assert (low - high) / 1000 == pytest.approx(2 * 9.80665 / 6_371_000, rel=1e-7)


def test_uniform_does_not_change() -> None:
    """If this failed, uniform gravity would depend on altitude."""
    np.testing.assert_array_equal(UniformGravity(1.62).magnitude(np.array([0.0, 1e5])), [1.62, 1.62])


def test_formula_keeps_to_the_array_api() -> None:
    """If this failed, the formula would work on NumPy arrays only."""
    altitude = [0.0, 90.0, 8_000.0]
    strict = inverse_square_gravity(
        array_api_strict.asarray(altitude), acceleration=9.80665, earth_radius=6_371_000.0
    )
    np.testing.assert_array_equal(np.asarray(strict), InverseSquareGravity().magnitude(np.array(altitude)))


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (InverseSquareGravity, {"acceleration": -1.0}),
        (InverseSquareGravity, {"earth_radius": 0.0}),
        (UniformGravity, {"acceleration": -9.81}),
        (UniformGravity, {"acceleration": float("inf")}),
    ],
)
def test_bad_parameters_are_refused(model: type, parameters: dict[str, float]) -> None:
    """If this failed, an impossible parameter would be taken, or the message would not name it."""
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        model(**parameters)
