"""Tests of rangefinders: distances to level ground by closed form, and to real scenes by ray casts."""

import math
from typing import Any

import numpy as np
import pytest
from flat_ground import OverGround
from numpy.testing import assert_allclose

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.frames import rotate
from pegasus.sensors import SENSORS, Rangefinder, Sensor
from pegasus.sensors.rangefinder import cone_directions

QUIET: dict[str, float] = {"noise_sigma": 0.0, "proportional_noise": 0.0}
SONAR: dict[str, Any] = {"ray_count": 9, "cone_angle": math.radians(40.0)}


def test_straight_down_it_reads_the_height() -> None:
    """Vehicles would be exchanged, or limits and validity missing in the reading."""
    vehicle = OverGround(Rangefinder(**QUIET), count=3, height=[0.5, 7.0, 39.9])
    reading = vehicle.measure(0.25)
    assert reading.stamp == 0.25
    assert_allclose(reading.distance, [0.5, 7.0, 39.9], rtol=1e-15)
    assert np.array_equal(reading.valid, [True] * 3)
    assert (reading.min_range, reading.max_range) == (0.05, 40.0)


def test_it_turns_with_the_body() -> None:
    """A tilted vehicle would measure its height in place of h / cos(tilt)."""
    vehicle = OverGround(Rangefinder(**QUIET), count=2, height=3.0)
    vehicle.turn([0.4, 0.0], [0.0, -0.7], [1.0, 2.0])
    assert_allclose(vehicle.measure(0.0).distance, [3 / math.cos(0.4), 3 / math.cos(0.7)], rtol=1e-14)


def test_place_and_direction_are_in_the_body_frame() -> None:
    """The beam would start at the origin, or the length of its direction would count."""
    sensor = Rangefinder(**QUIET, position=(0.1, 0.0, -0.2), direction=(2.0, 0.0, -2.0))
    vehicle = OverGround(sensor, height=5.0)
    assert_allclose(vehicle.measure(0.0).distance, 4.8 * math.sqrt(2), rtol=1e-14)
    vehicle.turn(0.0, 0.3, 0.0)  # nose down: the place moves down by 0.1 sin(0.3), the beam gets steeper
    height = 5.0 - 0.1 * math.sin(0.3) - 0.2 * math.cos(0.3)
    assert_allclose(vehicle.measure(0.1).distance, height / math.sin(math.pi / 4 + 0.3), rtol=1e-14)


def test_beyond_its_limits_it_reads_the_limit_and_is_not_valid() -> None:
    """An autopilot would use an out-of-range reading as a distance."""
    sensor = Rangefinder(**QUIET, min_range=0.5, max_range=10.0)
    vehicle = OverGround(sensor, count=5, height=[0.3, 0.5, 10.0, 10.1, 5.0])
    vehicle.turn([0.0, 0.0, 0.0, 0.0, math.pi], 0.0, 0.0)  # the last one points at the sky
    reading = vehicle.measure(0.0)
    assert np.array_equal(reading.distance, [0.5, 0.5, 10.0, 10.0, 10.0])
    assert np.array_equal(reading.valid, [False, True, True, False, False])


def test_noise_grows_with_distance() -> None:
    """Sigma would not be a + b d at every distance."""
    n = 4000
    for height in (1.0, 20.0):
        sensor = Rangefinder(noise_sigma=0.02, proportional_noise=0.005)
        noise = OverGround(sensor, count=n, height=height).measure(0.0).distance - height
        assert abs(np.std(noise) / (0.02 + 0.005 * height) - 1) < 5 / math.sqrt(2 * n)
        assert abs(np.mean(noise)) < 5 * np.std(noise) / math.sqrt(n)


def test_noise_of_successive_readings_is_independent() -> None:
    """Noise would repeat, or vehicles would share it."""
    vehicle = OverGround(Rangefinder(), count=2, height=4.0)
    noise = np.array([vehicle.measure(k / 20).distance for k in range(3000)]) - 4.0
    for pair in (noise, np.stack([noise[1:, 0], noise[:-1, 0]], axis=1)):
        assert abs(np.corrcoef(pair.T)[0, 1]) < 5 / math.sqrt(len(pair))


def test_noise_stays_within_the_limits() -> None:
    """Noise would move a reading out of the stated range."""
    sensor = Rangefinder(noise_sigma=0.3, min_range=0.5, max_range=2.0)
    height = np.linspace(0.2, 2.5, 3000)
    reading = OverGround(sensor, count=3000, height=height).measure(0.0)
    assert np.all(reading.distance[height > 2.0] == 2.0)
    assert not np.any(reading.valid[height > 2.0])
    assert np.all((reading.distance >= 0.5) & (reading.distance <= 2.0))
    # Clipped readings are not valid.
    assert np.all((reading.distance[reading.valid] > 0.5) & (reading.distance[reading.valid] < 2.0))
    assert 1000 < np.sum(reading.valid) < 2500


@pytest.mark.parametrize("axis", [(0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.5, -2.0, 1.0)])
def test_cone_is_filled_evenly(axis: tuple[float, float, float]) -> None:
    """Rays would leave the cone, lie on one side, or cluster about its axis."""
    angle, count = 0.7, 1000
    rays = cone_directions(np.array(axis), angle=angle, count=count)
    unit = np.array(axis) / math.hypot(*axis)
    off_axis = np.arccos(np.minimum(rays @ unit, 1.0))
    assert_allclose(np.linalg.norm(rays, axis=1), 1.0, rtol=1e-14)
    assert_allclose(rays[0], unit, atol=1e-15)
    assert off_axis[-1] == pytest.approx(angle / 2, rel=1e-12)
    assert np.all(off_axis <= angle / 2 + 1e-12)
    # A quarter of the area lies within half of the radius.
    assert np.mean(off_axis < angle / 4) == pytest.approx(0.25, abs=0.002)
    aside = rays - (rays @ unit)[:, None] * unit
    assert np.linalg.norm(aside.mean(axis=0)) < 0.002


def test_a_sonar_reads_the_shortest_of_its_rays() -> None:
    """The echo of another ray or vehicle would be used; here each ray is intersected separately."""
    sensor = Rangefinder(**QUIET, **SONAR)
    vehicle = OverGround(sensor, count=4, height=[1.0, 2.0, 3.0, 4.0])
    vehicle.turn([0.0, 0.2, -0.5, 0.1], [0.0, 0.1, 0.3, -0.6], [0.0, 1.0, 2.0, 3.0])
    rays = cone_directions(np.array([0.0, 0.0, -1.0]), angle=math.radians(40.0), count=9)
    for n, distance in enumerate(vehicle.measure(0.0).distance):
        lengths = [-(n + 1) / rotate(vehicle.state.rotation[n], ray)[2] for ray in rays]
        assert distance == pytest.approx(min(lengths), rel=1e-12)
        assert n == 0 or min(lengths) < lengths[0]


def test_a_wide_sonar_reads_the_height_while_tilted() -> None:
    """The first echo would not be that of the nearest point: straight below within the half angle."""
    vehicle = OverGround(Rangefinder(**QUIET, ray_count=4000, cone_angle=1.0), height=2.0)
    vehicle.turn(0.3, 0.0, 0.0)
    # The nearest of the rays is some 0.5 sqrt(pi / 4000) = 0.014 rad off.
    assert_allclose(vehicle.measure(0.0).distance, 2.0, rtol=0.014**2)


def test_rays_meet_the_real_world_but_not_the_own_body() -> None:
    """The vehicle's own body would block the beam, or another vehicle below would not."""
    sensors = {"down": Rangefinder(**QUIET), "sonar": Rangefinder(**QUIET, **SONAR)}
    with Simulation("flat", seed=1) as sim:
        low = sim.add(
            Multirotor("iris", position=(0, 0, 3), sensors={"up": Rangefinder(**QUIET, direction=(0, 0, 1))})
        )
        high = sim.add(Multirotor("iris", position=[(0, 0, 8), (20, 0, 8)], count=2, sensors=sensors))
        sim.step()
        down, sonar = high.readings["down"].distance, high.readings["sonar"].distance
        up = low.readings["up"].distance
    # An Iris is less than 0.3 m high above and below its origin.
    assert 4.7 < down[0] < 5.0
    assert down[1] == pytest.approx(8.0, abs=1e-9)
    assert sonar[1] == pytest.approx(8.0, abs=1e-9)
    assert 4.7 < sonar[0] <= down[0]
    assert 4.7 < up[0] < 5.0


def test_it_needs_a_simulation() -> None:
    """A vehicle outside a simulation would get a distance, or the error would name no remedy."""
    sensor = Rangefinder()
    vehicle = Multirotor("iris", sensors={"range": sensor})
    environment: Any = None
    sensor.bind(vehicle, environment, np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="in no simulation; add it to one"):
        sensor.measure(vehicle.state, 0.0)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"rate_hz": 0.0}, "rate_hz = 0.0: must"),
        ({"direction": (0.0, 0.0, 0.0)}, "direction = .*must"),
        ({"min_range": -0.1}, "min_range = -0.1: must"),
        ({"min_range": 5.0, "max_range": 5.0}, "max_range = 5.0: must be above min_range of 5 m"),
        ({"ray_count": 0}, "ray_count = 0: must"),
        ({"ray_count": 9}, "cone_angle = 0.0: must be above 0"),
        ({"ray_count": 9, "cone_angle": 3.2}, "cone_angle = 3.2: must be above 0 and below pi"),
        ({"cone_angle": 0.5}, "cone_angle = 0.5: must be 0 rad for one ray; set ray_count"),
        ({"noise_sigma": -1.0}, "noise_sigma = -1.0: must"),
        ({"proportional_noise": -1.0}, "proportional_noise = -1.0: must"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], named: str) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.range\.{named}"):
        build(Sensor, SENSORS, {"model": "rangefinder", **parameters}, field="sensors.range")
