"""Tests of lenses: published formulas, exact inverses, and limits of the field of view."""

import math

import array_api_strict
import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.cameras import BrownConrady, KannalaBrandt, Pinhole
from pegasus.optics.distortion import (
    brown_conrady,
    brown_conrady_inverse,
    brown_conrady_jacobian,
    kannala_brandt,
    kannala_brandt_inverse,
)
from pegasus.optics.lens import LENSES, RowBand, lens_from_spec, pixel_grid

RESOLUTION = (640, 480)
# A calibrated web camera (barrel), a made-up rational lens with tangential parts, and a pincushion.
BARREL = {"k1": -0.2838, "k2": 0.0739, "p1": 0.000194, "p2": 1.76e-5}
RATIONAL = {"k1": 0.4, "k2": 0.1, "k3": 0.01, "k4": 0.6, "k5": 0.2, "k6": 0.03, "p1": 0.004, "p2": -0.007}
PINCUSHION = {"k1": 0.12, "k2": 0.03, "k3": 0.01}
EYE = {"k1": -0.0069, "k2": 0.0058, "k3": -0.0049, "k4": 0.00085}

LENS_CASES = [
    pytest.param(Pinhole(horizontal_fov=1.4), id="pinhole"),
    pytest.param(Pinhole(focal_length=(500.0, 480.0), center=(300.0, 260.0)), id="focal_length"),
    pytest.param(BrownConrady(horizontal_fov=1.2, **BARREL), id="barrel"),
    pytest.param(BrownConrady(horizontal_fov=1.2, **RATIONAL), id="rational"),
    pytest.param(BrownConrady(horizontal_fov=1.2, **PINCUSHION), id="pincushion"),
    pytest.param(KannalaBrandt(horizontal_fov=math.radians(200.0)), id="equidistant"),
    pytest.param(KannalaBrandt(horizontal_fov=math.radians(190.0), **EYE), id="fisheye"),
]


def opencv_pixel(x, y, z, lens):
    """Return a pixel by the published formulas of cv::projectPoints and cv::fisheye::projectPoints."""
    (fx, _, cx), (_, fy, cy), _ = lens.matrix(RESOLUTION)
    if isinstance(lens, KannalaBrandt):
        a, b = x / z, y / z
        r = math.hypot(a, b)
        theta = math.atan(r)
        distorted = theta * (
            1 + lens.k1 * theta**2 + lens.k2 * theta**4 + lens.k3 * theta**6 + lens.k4 * theta**8
        )
        scale = distorted / r
        return fx * scale * a + cx, fy * scale * b + cy
    a, b = x / z, y / z
    k = {name: getattr(lens, name, 0.0) for name in ("k1", "k2", "k3", "k4", "k5", "k6", "p1", "p2")}
    r = math.hypot(a, b)
    radial = (1 + k["k1"] * r**2 + k["k2"] * r**4 + k["k3"] * r**6) / (
        1 + k["k4"] * r**2 + k["k5"] * r**4 + k["k6"] * r**6
    )
    u = a * radial + 2 * k["p1"] * a * b + k["p2"] * (r**2 + 2 * a**2)
    v = b * radial + k["p1"] * (r**2 + 2 * b**2) + 2 * k["p2"] * a * b
    return fx * u + cx, fy * v + cy


@pytest.mark.parametrize("lens", LENS_CASES)
def test_projection_is_the_published_one(lens):
    """A coefficient would have a wrong power, or p1 and p2 be exchanged."""
    rng = np.random.default_rng(1)
    points = np.stack(
        [rng.uniform(-0.8, 0.8, 200), rng.uniform(-0.6, 0.6, 200), rng.uniform(1.2, 3.0, 200)], axis=-1
    )
    expected = [opencv_pixel(*point, lens) for point in points]
    np.testing.assert_allclose(lens.project(points, RESOLUTION), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("lens", LENS_CASES)
def test_directions_are_the_inverse(lens):
    """A pixel's ray would not project back to that pixel, up to the corners of the image."""
    pixels = pixel_grid(RESOLUTION)[::7, ::7]
    pixels = np.concatenate([pixels.reshape(-1, 2), [(0, 0), (640, 480), (0, 480), (320, 240), (0.25, 240)]])
    directions = lens.directions(pixels, RESOLUTION)
    np.testing.assert_allclose((directions**2).sum(axis=-1), 1.0, atol=1e-14)
    np.testing.assert_allclose(lens.project(3.0 * directions, RESOLUTION), pixels, rtol=0, atol=1e-9 * 400)
    again = lens.directions(lens.project(directions, RESOLUTION), RESOLUTION)
    np.testing.assert_allclose(again, directions, rtol=0, atol=1e-9)


@pytest.mark.parametrize("lens", LENS_CASES)
def test_middle_and_edges(lens):
    """The image would be off centre, or its field of view be wrong."""
    (_, _, cx), (_, _, cy), _ = lens.matrix(RESOLUTION)
    np.testing.assert_allclose(lens.directions(np.array([cx, cy]), RESOLUTION), (0, 0, 1), atol=1e-12)
    if lens.center is None:
        assert (cx, cy) == (320.0, 240.0)
    right, down = lens.directions(np.array([[cx + 10, cy], [cx, cy + 10]]), RESOLUTION)
    assert right[0] > 0 > abs(right[1]) - 0.01
    assert down[1] > 0 > abs(down[0]) - 0.01
    if isinstance(lens, Pinhole | KannalaBrandt) and lens.horizontal_fov is not None:
        left, right = lens.directions(np.array([[0.0, 240.0], [640.0, 240.0]]), RESOLUTION)
        angle = math.atan2(right[0], right[2]) - math.atan2(left[0], left[2])
        assert angle == pytest.approx(lens.horizontal_fov, abs=1e-9)


def test_known_points_to_a_tenth_of_a_pixel():
    """A known point would have a wrong pixel by extrinsics, intrinsics or distortion.

    By hand for a lens with f = 500 and c = (320, 240) at (1, 2, 3) that looks north: its right is east.
    """
    lens = BrownConrady(focal_length=(500.0, 500.0), k1=-0.2, k2=0.05, p1=0.001, p2=-0.002)
    rotation = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    point = np.array([2.2, 6.0, 1.8])
    seen = lens.project(rotation.T @ (point - np.array([1.0, 2.0, 3.0])), RESOLUTION)
    # x = y = 0.3, r^2 = 0.18: factor 0.96562, tangential 2 p1 x y + p2 (r^2 + 2 x^2) = -0.00054,
    # p1 (r^2 + 2 y^2) + 2 p2 x y = 0.
    np.testing.assert_allclose(seen, (320 + 500 * (0.289686 - 0.00054), 240 + 500 * 0.289686), atol=1e-9)


def test_fisheye_sees_behind():
    """A field of view above 180 degrees would be cut off or wrap around."""
    lens = KannalaBrandt(horizontal_fov=math.radians(240.0))
    angle = math.radians(115.0)
    seen = lens.project(np.array([math.sin(angle), 0.0, math.cos(angle)]), RESOLUTION)
    np.testing.assert_allclose(seen, (320 + 320 * 115 / 120, 240), atol=1e-9)
    # Directly behind there is no one pixel.
    assert np.isnan(lens.project(np.array([0.0, 0.0, -1.0]), RESOLUTION)).all()


def test_what_is_not_seen():
    """Points behind, beyond a barrel lens's limit, or outside an image circle would be visible."""
    behind = np.array([0.1, 0.2, -1.0])
    assert np.isnan(Pinhole(horizontal_fov=1.0).project(behind, RESOLUTION)).all()
    lens = BrownConrady(horizontal_fov=1.2, k1=-0.3)
    # r (1 - 0.3 r^2) turns back at r = 1 / sqrt(0.9) = 1.0541, where 2/3 of it is seen.
    inside, outside = lens.project(np.array([[1.05, 0.0, 1.0], [1.06, 0.0, 1.0]]), RESOLUTION)
    assert np.isfinite(inside).all()
    assert np.isnan(outside).all()
    focal = lens.matrix(RESOLUTION)[0, 0]
    limit = 2 / 3 / math.sqrt(0.9)
    for reach, seen in ((0.9999, True), (1.0001, False)):
        direction = lens.directions(np.array([320 + focal * limit * reach, 240.0]), RESOLUTION)
        assert np.isfinite(direction).all() == seen
    circle = KannalaBrandt(horizontal_fov=math.radians(360.0))
    assert np.isnan(circle.directions(np.array([0.0, 0.0]), RESOLUTION)).all()
    # A fisheye whose polynomial turns back before the whole sphere has its own limit.
    with pytest.raises(ConfigError, match="must be above 0 and below"):
        KannalaBrandt(horizontal_fov=math.radians(250.0), k1=-0.1)


@pytest.mark.filterwarnings("error")
def test_a_pole_of_the_rational_form_is_the_edge_of_what_is_seen():
    """A lens whose polynomial has a root far aside would fill the terminal with warnings, or see twice."""
    lens = BrownConrady(horizontal_fov=1.2, k1=0.1, k4=-0.5)
    # Below the line 1 - r^2 / 2 is zero at r = sqrt 2: up to there all directions are seen, ever farther out.
    assert lens._farthest == pytest.approx(math.sqrt(2.0), rel=1e-9)
    pixels = np.array([[320.0, 240.0], [640.0, 480.0], [1e5, 240.0]])
    directions = lens.directions(pixels, RESOLUTION)
    aside = np.hypot(directions[:, 0], directions[:, 1]) / directions[:, 2]
    assert (aside < math.sqrt(2.0)).all()
    assert aside[2] > 1.40
    np.testing.assert_allclose(lens.project(directions, RESOLUTION), pixels, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("coefficients", [BARREL, RATIONAL, PINCUSHION])
def test_jacobian(coefficients):
    """Newton's method would diverge by wrong derivatives; the oracle is central differences."""
    k = {name: coefficients.get(name, 0.0) for name in ("k1", "k2", "k3", "k4", "k5", "k6", "p1", "p2")}
    values = list(k.values())
    parts = {"radial": values[:6], "tangential": values[6:]}
    points = np.random.default_rng(2).uniform(-0.6, 0.6, (50, 2))
    xx, xy, yy = brown_conrady_jacobian(points, **parts)
    h = 1e-6
    x, y = np.array([h, 0.0]), np.array([0.0, h])
    dx = (brown_conrady(points + x, **parts) - brown_conrady(points - x, **parts)) / (2 * h)
    dy = (brown_conrady(points + y, **parts) - brown_conrady(points - y, **parts)) / (2 * h)
    np.testing.assert_allclose(np.stack([xx, xy], axis=-1), dx, atol=2e-9)
    np.testing.assert_allclose(np.stack([xy, yy], axis=-1), dy, atol=2e-9)


def test_inverses_near_their_limits():
    """The inverse would stall or change branch where a lens compresses most."""
    radius = np.linspace(0, 0.999 / math.sqrt(0.9), 2000)
    plane = np.stack([radius, np.zeros_like(radius)], axis=-1)
    parts = {"radial": (-0.3, 0, 0, 0, 0, 0), "tangential": (0.0, 0.0)}
    back = brown_conrady_inverse(brown_conrady(plane, **parts), reach=1 / math.sqrt(0.9), **parts)
    np.testing.assert_allclose(back, plane, rtol=0, atol=1e-9)
    angle = np.linspace(0, math.pi, 2000)
    radius = kannala_brandt(angle, coefficients=(0.05, 0.0, 0.0, 0.0))
    inverse = kannala_brandt_inverse(radius, coefficients=(0.05, 0.0, 0.0, 0.0), reach=math.pi)
    np.testing.assert_allclose(inverse, angle, rtol=0, atol=1e-12)


def test_formulas_follow_the_array_api():
    """The formulas would only accept NumPy arrays."""
    xp = array_api_strict
    points = np.random.default_rng(3).uniform(-0.5, 0.5, (20, 2))
    parts = {"radial": list(RATIONAL.values())[:6], "tangential": (0.004, -0.007)}
    strict = xp.asarray(points)
    np.testing.assert_allclose(
        np.asarray(brown_conrady(strict, **parts)), brown_conrady(points, **parts), atol=1e-15
    )
    back = brown_conrady_inverse(brown_conrady(strict, **parts), reach=math.inf, **parts)
    np.testing.assert_allclose(np.asarray(back), points, atol=1e-9)
    angle = xp.asarray(np.linspace(0.0, 2.0, 20))
    radius = kannala_brandt(angle, coefficients=tuple(EYE.values()))
    inverse = kannala_brandt_inverse(radius, coefficients=tuple(EYE.values()), reach=2.0)
    np.testing.assert_allclose(np.asarray(inverse), np.asarray(angle), atol=1e-9)


@pytest.mark.parametrize("lens", LENS_CASES)
def test_rows_are_those_of_the_whole_image(lens):
    """A band of a rolling shutter would have the rays of other rows."""
    band, rows = RowBand(lens, 100, 480), (640, 60)
    whole = lens.directions(pixel_grid(RESOLUTION), RESOLUTION)
    np.testing.assert_allclose(band.directions(pixel_grid(rows), rows), whole[100:160], rtol=0, atol=1e-14)
    assert band.matrix(rows)[1, 2] == lens.matrix(RESOLUTION)[1, 2] - 100
    np.testing.assert_allclose(band.project(whole[120, 50], rows), (50.5, 20.5), atol=1e-9)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"model": "pinhole"}, "lens.horizontal_fov: must be given, unless focal_length is"),
        ({"model": "pinhole", "horizontal_fov": 0.0}, "lens.horizontal_fov = 0.0: must be above 0"),
        ({"model": "pinhole", "horizontal_fov": 3.2}, "below 180 degrees"),
        ({"model": "pinhole", "horizontal_fov": 1.0, "focal_length": [1, 1]}, "exactly one"),
        ({"model": "pinhole", "focal_length": [500.0, 0.0]}, "lens.focal_length"),
        ({"model": "pinhole", "horizontal_fov": 1.0, "k1": 0.1}, "unknown field"),
        ({"model": "kannala_brandt", "horizontal_fov": 7.0}, "below 360 degrees"),
        ("pinhole", "must be a mapping"),
    ],
)
def test_bad_parameters(spec, message):
    """An invalid lens would be accepted, or its error would name no remedy."""
    with pytest.raises(ConfigError) as error:
        lens_from_spec(spec)
    assert message in str(error.value)


def test_every_lens_is_built_from_yaml():
    """A vehicle file could not name a shipped lens."""
    for name, kind in LENSES.items():
        lens = lens_from_spec({"model": name, "focal_length": [400, 400]})
        assert type(lens) is kind
        assert lens_from_spec(lens) is lens
        assert hash(lens) == hash(lens_from_spec({"model": name, "focal_length": [400, 400]}))
