"""Tests of gravity against Newton's law."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.environment import InverseSquareGravity, UniformGravity


def test_inverse_square_follows_newton() -> None:
    """Gravity would not fall with the square of the distance from the Earth's centre."""
    radius = 6_371_000.0
    gravity = InverseSquareGravity(earth_radius=radius)
    np.testing.assert_allclose(
        gravity.magnitude(np.array([0.0, radius, 3 * radius])),
        [9.80665, 9.80665 / 4, 9.80665 / 16],
        rtol=1e-15,
    )


def test_gradient_at_sea_level() -> None:
    """Gravity near the ground would not fall by 2 g / R, 3.08e-6 m/s^2, per metre."""
    gravity = InverseSquareGravity()
    low, high = gravity.magnitude(np.array([-500.0, 500.0]))
    assert (low - high) / 1000 == pytest.approx(2 * 9.80665 / 6_371_000, rel=1e-7)


def test_uniform_does_not_change() -> None:
    """Uniform gravity would depend on altitude."""
    np.testing.assert_array_equal(UniformGravity(1.62).magnitude(np.array([0.0, 1e5])), [1.62, 1.62])


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
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        model(**parameters)
