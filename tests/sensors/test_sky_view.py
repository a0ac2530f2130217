"""Tests of the sky view of GPS receivers: orbits, an independent least squares, and real scenes."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.sensors import GPS, SENSORS, GpsReading, Sensor, SkyView
from pegasus.sensors.sky_view import reception, satellite_directions

MASK = math.radians(10.0)
QUIET: dict[str, Any] = {
    "position_error_sigma": (0.0, 0.0, 0.0),
    "position_noise_density": (0.0, 0.0, 0.0),
    "velocity_noise_density": (0.0, 0.0, 0.0),
}


def open_sky(origins: Any, _: Any) -> Any:
    return np.full(len(origins), math.inf)


def canyon(origins: Any, directions: Any) -> Any:
    """Return distances to a street along north between walls of one height, west and east."""
    distance = np.full(len(origins), math.inf)
    for k, (o, d) in enumerate(zip(origins, directions, strict=True)):
        for wall in (-20.0, 15.0):
            s = (wall - o[0]) / d[0]
            if s > 0 and o[2] + s * d[2] < 40.0:
                distance[k] = min(distance[k], s)
    return distance


def positions(latitude: float, longitude: float, t: float) -> Any:
    """Return the satellites' positions about the Earth's centre, axes of the Earth [m]."""
    phi, lam = math.radians(latitude), math.radians(longitude)
    east = np.array([-math.sin(lam), math.cos(lam), 0.0])
    up = np.array([math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)])
    away = satellite_directions(latitude, longitude, t) @ np.array([east, np.cross(up, east), up])
    # Along each ray out to the sphere of the orbits.
    along = away @ up * 6_378_137.0
    size = -along + np.sqrt(along**2 + 26_559_700.0**2 - 6_378_137.0**2)
    return 6_378_137.0 * up + away * size[:, None]


def test_satellites_are_the_same_from_everywhere_and_come_again() -> None:
    """Directions would be turned wrongly for the receiver's place, or the orbits have another period."""
    seen = positions(38.7, -9.1, 1000.0)
    assert_allclose(seen, positions(-60.0, 140.0, 1000.0), atol=1.0)
    assert abs(np.degrees(np.arcsin(seen[:, 2] / 26_559_700.0))).max() <= 55.0
    latitudes = [np.degrees(np.arcsin(positions(0, 0, t)[0, 2] / 26_559_700.0)) for t in range(0, 43200, 60)]
    assert max(latitudes) == pytest.approx(55.0, abs=0.01)
    # Two orbits in a sidereal day of 86164.0989 s at the rate of WGS84.
    assert_allclose(positions(0, 0, 1000.0 + 86164.0989), seen, atol=10.0)
    # In inertial axes a satellite moves by 2 pi in half of that.
    turned = positions(0, 0, 43082.04945)
    assert_allclose(turned * [-1, -1, 1], positions(0, 0, 0.0), atol=10.0)


def test_an_open_sky_has_enough_satellites() -> None:
    """The constellation would have gaps: GPS has six satellites or more above 10 degrees nearly always."""
    for latitude in (-60.0, 0.0, 38.7, 70.0):
        for t in range(0, 43200, 1800):
            found = reception(SkyView(), satellite_directions(latitude, 10.0, t), np.zeros((1, 3)), open_sky)
            assert 5 <= found.used[0] <= 14
            assert not found.lost[0]
            assert np.array_equal(found.growth, np.ones((1, 3)))
            assert np.array_equal(found.bias, np.zeros((1, 3)))


def test_a_street_canyon_biases_as_least_squares_tell() -> None:
    """Reflected paths, the weighted solution or the dilution would be wrong."""
    view = SkyView(reflection_weight=0.3)
    place = np.array([[3.0, 0.0, 2.0], [-10.0, 5.0, 20.0]])
    checked = 0
    for t in range(0, 86400, 3600):
        directions = satellite_directions(38.7, -9.1, t)
        found = reception(view, directions, place, canyon)
        above = directions[directions[:, 2] > math.sin(MASK)]
        for n, here in enumerate(place):
            lines, errors, weights = [], [], []
            for u in above:
                hidden = math.isfinite(canyon([here], [u])[0])
                far = canyon([here], [u * [-1, -1, 1]])[0]
                if hidden and not math.isfinite(far):
                    continue
                # The image of the receiver behind a wall that faces the satellite.
                level = math.hypot(u[0], u[1])
                image = -np.array([u[0], u[1], 0.0]) / level * 2 * far * level if hidden else np.zeros(3)
                errors.append(-image @ u)
                lines.append([*-u, 1.0])
                weights.append(0.3 if hidden else 1.0)
            g, w = np.array(lines), np.array(weights)
            assert found.used[n] == len(g)
            root = np.sqrt(w)[:, None]
            expected = np.linalg.lstsq(root * g, root[:, 0] * errors, rcond=None)[0]
            assert_allclose(found.bias[n], expected[:3], atol=1e-8)
            own = np.linalg.inv(g.T @ (w[:, None] * g)).diagonal()
            free = np.column_stack([-above, np.ones(len(above))])
            best = np.linalg.inv(free.T @ free).diagonal()
            horizontal = math.sqrt((own[0] + own[1]) / (best[0] + best[1]))
            assert_allclose(found.growth[n], [horizontal, horizontal, math.sqrt(own[2] / best[2])], rtol=1e-8)
            checked += bool(np.abs(expected[:3]).max() > 0.5)
    assert checked > 20


def test_without_reflections_hidden_satellites_are_left_out() -> None:
    """A reflected signal would be used although its weight is 0, or too few satellites give a solution."""
    directions = satellite_directions(38.7, -9.1, 0.0)
    found = reception(SkyView(reflection_weight=0.0), directions, np.array([[0.0, 0.0, 2.0]]), canyon)
    assert np.array_equal(found.bias, np.zeros((1, 3)))

    def roof(origins: Any, _: Any) -> Any:
        return np.full(len(origins), 3.0)

    none = reception(SkyView(reflection_weight=0.0), directions, np.zeros((2, 3)), roof)
    assert none.lost.tolist() == [True, True]
    assert none.used.tolist() == [0, 0]


def test_a_receiver_in_a_room_has_no_fix_and_one_outside_is_exact() -> None:
    """Rays would not meet the scene, or an open sky change the solution."""
    fixes = {}
    for world in ("flat", "box_room"):
        with Simulation(world) as sim:
            gps: dict[str, Sensor] = {
                "gps": GPS(**QUIET, latency=0.0, sky=SkyView(reflection_weight=0.0)),
                "plain": GPS(**QUIET, latency=0.0),
            }
            vehicle = sim.add(Multirotor("iris", sensors=gps))
            sim.run(duration=8.0)
            fixes[world] = [vehicle.reading(GpsReading, name) for name in ("gps", "plain")]
    assert fixes["flat"][0].fix_type[0] == 3
    assert fixes["flat"][0].satellite_count[0] >= 6
    assert fixes["flat"][0].latitude[0] == fixes["flat"][1].latitude[0]
    assert fixes["flat"][0].eph[0] == fixes["flat"][1].eph[0]
    assert fixes["box_room"][0].fix_type[0] == 0
    assert fixes["box_room"][0].satellite_count[0] == 0
    assert fixes["box_room"][1].fix_type[0] == 3


@pytest.mark.parametrize(
    ("sky", "field"),
    [({"elevation_mask": 2.0}, "elevation_mask"), ({"reach": 0.0}, "reach"),
     ({"reflection_weight": 1.5}, "reflection_weight")],
)  # fmt: skip
def test_bad_parameters_are_named(sky: dict[str, Any], field: str) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.gps\.sky\.{field}"):
        build(Sensor, SENSORS, {"model": "gps", "sky": sky}, field="sensors.gps")
