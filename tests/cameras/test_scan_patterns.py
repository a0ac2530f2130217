"""Tests of scan patterns against their makers' tables and closed forms."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.base.errors import ConfigError
from pegasus.cameras import LIDAR_PATTERNS, Raster, Rosette, Spinning
from pegasus.cameras.scan_patterns import pattern_from_spec

# VLP-16 User Manual 63-9243, table 9-1; HDL-32E User's Manual 63-9113, "Laser Firing Sequence" [deg].
VLP16 = [-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15]
HDL32E = """-30.67 -9.33 -29.33 -8.00 -28.00 -6.66 -26.66 -5.33 -25.33 -4.00 -24.00 -2.67 -22.67 -1.33 -21.33
0.00 -20.00 1.33 -18.67 2.67 -17.33 4.00 -16.00 5.33 -14.67 6.67 -13.33 8.00 -12.00 9.33 -10.67 10.67"""


@pytest.mark.parametrize(
    ("name", "table"), [("vlp16", VLP16), ("hdl32e", [float(angle) for angle in HDL32E.split()])]
)
def test_lasers_are_where_their_maker_says(name: str, table: list[float]) -> None:
    """A named lidar would have wrong beam directions."""
    elevations = np.degrees(LIDAR_PATTERNS[name].elevations)
    assert_allclose(elevations, sorted(table), atol=0.0101)


def test_named_patterns_have_the_published_size() -> None:
    """Points per second would not be those of the data sheets, at 10 scans per second."""
    per_second = {name: 10 * math.prod(pattern.shape) for name, pattern in LIDAR_PATTERNS.items()}
    # VLP-16 some 0.3 million, HDL-32E some 0.7 million, OS1-64 at 1024 x 10, Mid-40 0.1 million.
    assert per_second == {"vlp16": 288_000, "hdl32e": 691_200, "os1_64": 655_360, "mid40": 100_000}
    ouster = np.degrees(LIDAR_PATTERNS["os1_64"].elevations)
    assert_allclose(ouster[[0, -1]], [-16.6, 16.6], rtol=1e-12)
    assert_allclose(np.diff(ouster), 33.2 / 63, rtol=1e-9)


def test_a_head_spins_clockwise_from_the_rear() -> None:
    """Times would belong to other directions, or the sensor look backwards."""
    pattern = Spinning(elevations=(-0.3, 0.0, 0.2), column_count=8)
    rays = pattern.directions(0.0, 0.1)
    assert rays.shape == (8, 3, 3)
    assert_allclose(np.linalg.norm(rays, axis=-1), 1.0, rtol=1e-15)
    azimuth = np.degrees(np.arctan2(rays[:, 1, 1], rays[:, 1, 0]))
    assert_allclose(azimuth[:-1], [135, 90, 45, 0, -45, -90, -135], atol=1e-12)
    assert abs(azimuth[-1]) == pytest.approx(180.0)
    assert_allclose(np.arcsin(rays[:, :, 2]), np.tile([-0.3, 0.0, 0.2], (8, 1)), atol=1e-15)


def test_a_raster_fills_its_field_of_view_from_the_left() -> None:
    """Its edges or spacing would be wrong, or its scan direction reversed."""
    pattern = Raster(horizontal_fov=1.2, vertical_fov=0.4, column_count=6, row_count=4)
    rays = pattern.directions(0.0, 0.1)
    azimuth, elevation = np.arctan2(rays[..., 1], rays[..., 0]), np.arcsin(rays[..., 2])
    assert_allclose(azimuth, np.tile(np.array([0.5, 0.3, 0.1, -0.1, -0.3, -0.5])[:, None], 4), atol=1e-15)
    assert_allclose(elevation, np.tile([-0.15, -0.05, 0.05, 0.15], (6, 1)), atol=1e-15)


def test_a_rosette_fills_its_cone_in_time() -> None:
    """The rosette would leave its cone, miss a part of it, or repeat itself in each scan."""
    pattern = Rosette(point_count=20_000)
    first, second = (pattern.directions(k * 0.2, 0.2)[:, 0] for k in range(2))
    assert_allclose(np.linalg.norm(first, axis=1), 1.0, rtol=1e-14)
    off_axis = np.degrees(np.arccos(first[:, 0]))
    assert 19.15 < off_axis.max() <= 19.2 + 1e-9
    assert off_axis.min() < 0.2
    # |sum| of two vectors of even angles is 2 d |cos(half the angle between)|: half are within sqrt(2) d.
    assert np.mean(off_axis < 19.2 / math.sqrt(2)) == pytest.approx(0.5, abs=0.01)
    assert np.abs(first.mean(axis=0)[1:]).max() < 0.005

    def cells(rays: Any) -> set[tuple[int, int]]:
        return set(map(tuple, np.floor(np.degrees(rays[:, 1:]) / 0.5).astype(int).tolist()))

    assert len(cells(first) | cells(second)) > 1.1 * len(cells(first))


def test_a_rosette_goes_on_where_it_was() -> None:
    """The pattern would restart at each stamp."""
    long = Rosette(point_count=200).directions(3.0, 0.2)
    short = Rosette(point_count=100)
    parts = np.concatenate([short.directions(3.0, 0.1), short.directions(3.1, 0.1)])
    assert_allclose(parts, long, atol=1e-10)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("vlp17", "pattern = 'vlp17': must be one of vlp16, hdl32e, os1_64, mid40, or a mapping; such as"),
        ({"model": "spinning"}, "pattern.elevations: required field is missing"),
        ({"model": "spinning", "elevations": []}, "pattern.elevations = .*must hold at least one"),
        ({"model": "spinning", "elevations": [0.0, 1.6]}, r"pattern.elevations.1 = 1.6: must be above"),
        ({"model": "raster", "column_count": 0}, "pattern.column_count = 0: must be a whole number"),
        ({"model": "raster", "column_count": 10**6}, "rays in a scan = 125000000: must be at most"),
        ({"model": "raster", "horizontal_fov": 0.0}, "pattern.horizontal_fov = 0.0: must be above 0"),
        ({"model": "rosette", "fov": 7.0}, "pattern.fov = 7.0: must be above 0 and below 2 pi"),
        ({"model": "spiral"}, "pattern.model = 'spiral': must be one of raster, rosette, spinning"),
    ],
)
def test_bad_patterns_are_named(spec: Any, named: str) -> None:
    """An invalid pattern would be accepted, or the error not name its parameter."""
    with pytest.raises(ConfigError, match=named):
        pattern_from_spec(spec)
