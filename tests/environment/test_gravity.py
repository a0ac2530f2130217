"""Tests of gravity against Newton's law and the closed form of normal gravity."""

import math

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec
from pegasus.environment import Environment, InverseSquareGravity, NormalGravity, UniformGravity


def normal_gravity(latitude: float, height: float) -> float:
    """Return the normal gravity of WGS84 in closed form [m/s^2] (NIMA TR8350.2, eq. 4-5 to 4-15).

    Args:
        latitude: Geodetic latitude [deg].
        height: Height above the ellipsoid [m].
    """
    mu, spin, a, f = 3.986004418e14, 7.292115e-5, 6378137.0, 1 / 298.257223563
    b = a * (1 - f)
    focal = math.sqrt(a * a - b * b)
    sine, cosine = math.sin(math.radians(latitude)), math.cos(math.radians(latitude))
    radius = a / math.sqrt(1 - f * (2 - f) * sine * sine)
    across, up = (radius + height) * cosine, (radius * (1 - f) ** 2 + height) * sine
    squares = across**2 + up**2 - focal**2
    u = math.sqrt(squares / 2 * (1 + math.sqrt(1 + (2 * focal * up / squares) ** 2)))
    e = math.hypot(u, focal)
    beta = math.atan2(up * e, u * across)
    w = math.sqrt(u * u + (focal * math.sin(beta)) ** 2) / e

    def q(s: float) -> float:
        return ((1 + 3 * s * s / focal**2) * math.atan(focal / s) - 3 * s / focal) / 2

    slope = 3 * (1 + u * u / focal**2) * (1 - u / focal * math.atan(focal / u)) - 1
    bulge = (spin * a / e) ** 2 * focal * slope / q(b) * (math.sin(beta) ** 2 / 2 - 1 / 6)
    outward = (-mu / e**2 - bulge + spin**2 * u * math.cos(beta) ** 2) / w
    aside = (spin * a) ** 2 / e * q(u) / q(b) - spin**2 * e
    return math.hypot(outward, aside * math.sin(beta) * math.cos(beta) / w)


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


@pytest.mark.parametrize("latitude", [0.0, -23.0, 45.0, 70.0, 90.0])
def test_normal_gravity_is_that_of_wgs84(latitude: float) -> None:
    """Weight would not depend on the latitude as on the Earth, by half a percent, or on the height."""
    gravity = NormalGravity(latitude)
    found = gravity.magnitude(np.array([0.0, 1000.0, 10_000.0]))
    expected = [normal_gravity(latitude, height) for height in (0.0, 1000.0, 10_000.0)]
    assert found[0] == pytest.approx(expected[0], rel=1e-9)
    np.testing.assert_allclose(found, expected, rtol=2e-7)


def test_worlds_on_the_ellipsoid_have_normal_gravity() -> None:
    """A world at the pole with `ellipsoid: wgs84` would have the gravity of 45 degrees, or name none else."""

    def gravity(**fields: object) -> float:
        world = WorldSpec.model_validate({"name": "test", "usd": "test.usda", **fields})
        return float(-Environment.from_spec(world).gravity_vector(np.zeros((1, 3)))[0, 2])

    pole = {"latitude": 90.0, "longitude": 0.0, "altitude": 0.0}
    assert gravity(origin={**pole, "ellipsoid": "wgs84"}) == pytest.approx(9.8321849379, abs=1e-9)
    assert gravity(origin=pole) == 9.80665
    uniform = {"model": "uniform", "acceleration": 1.62}
    assert gravity(origin={**pole, "ellipsoid": "wgs84"}, gravity=uniform) == 1.62
    assert gravity(gravity={"model": "normal", "latitude": 0.0}) == pytest.approx(9.78005, abs=1e-5)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (InverseSquareGravity, {"acceleration": -1.0}),
        (InverseSquareGravity, {"earth_radius": 0.0}),
        (UniformGravity, {"acceleration": -9.81}),
        (UniformGravity, {"acceleration": float("inf")}),
        (NormalGravity, {"latitude": 90.5}),
    ],
)
def test_bad_parameters_are_refused(model: type, parameters: dict[str, float]) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        model(**parameters)
