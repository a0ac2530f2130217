"""Tests of GPS receivers with corrections, and near jammers."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus import Environment, Multirotor, Simulation
from pegasus.base.arrays import Array
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec, parse
from pegasus.environment import Jammer
from pegasus.sensors import GPS, SENSORS, GpsReading, Rtk, Sensor

WORLD = {"name": "yard", "generator": {"model": "flat"}}
JAMMER = Jammer(position=(0.0, 0.0, 0.0), radius=50.0)
# 16 dB less carrier to noise at the radius of loss.
LOSS = 10**1.6 - 1
COUNT = 2000


def test_rtk_goes_from_float_to_fixed_with_the_errors_of_each(bench: Any) -> None:
    """The errors would not shrink when the ambiguities are fixed, or be stated otherwise than they are."""
    rtk = Rtk(float_time=5.0, fixed_time=8.0, float_sigma=(0.2, 0.3, 0.4), fixed_sigma=(0.01, 0.02, 0.03))
    gps = GPS(rate_hz=2.0, latency=0.0, position_noise_density=(0.0, 0.0, 0.0), rtk=rtk)
    readings = bench.readings(gps, bench.bind(gps, count=COUNT), 21)
    bound = 5 / math.sqrt(2 * COUNT)
    for t, kind, sigma, accuracy in (
        (4.5, 3, (0.6, 0.6, 1.6), None),
        (5.0, 5, (0.2, 0.3, 0.4), (math.hypot(0.2, 0.3), 0.4)),
        (7.5, 5, (0.2, 0.3, 0.4), (math.hypot(0.2, 0.3), 0.4)),
        (8.0, 6, (0.01, 0.02, 0.03), (math.hypot(0.01, 0.02), 0.03)),
        (10.0, 6, (0.01, 0.02, 0.03), (math.hypot(0.01, 0.02), 0.03)),
    ):
        reading = readings[round(2 * t)]
        assert reading.stamp == t
        assert (reading.fix_type == kind).all()
        # The bench's map has a metre per degree.
        errors = reading.longitude, reading.latitude, reading.altitude
        for error, size in zip(errors, sigma, strict=True):
            assert abs(np.std(error) / size - 1) < bound
        if accuracy:
            assert_allclose([reading.eph[0], reading.epv[0]], accuracy, rtol=1e-12)


def near(bench: Any, distances: list[float], **changes: Any) -> tuple[GPS, Any]:
    """Return a receiver that has settled, and the state of its copies at distances from the jammer."""
    bench.environment = Environment(jammers=(JAMMER,))
    gps = GPS(latency=0.0, **changes)
    state = bench.bind(gps, count=len(distances))
    state.position[:, 0] = distances
    return gps, state


def test_errors_near_a_jammer_grow_by_its_power(bench: Any) -> None:
    """Errors would not follow the carrier to noise density, or be stated otherwise than they are."""
    distance, count = 100.0, 1000
    places, quiet = [distance] * count + [1e6] * count, {"position_noise_density": (0.0, 0.0, 0.0)}
    gps, state = near(bench, places, common_share=0.0, **quiet)
    reading = bench.readings(gps, state, 100)[-1]
    share = math.sqrt(1 + LOSS * (50.0 / distance) ** 2)
    error = gps.rows["solved_position"] - state.position
    for axis, sigma in enumerate((0.6, 0.6, 1.6)):
        jammed, free = np.std(error[:count, axis]), np.std(error[count:, axis])
        assert abs(jammed / (sigma * share) - 1) < 5 / math.sqrt(2 * count)
        assert abs(free / sigma - 1) < 5 / math.sqrt(2 * count)
    assert_allclose(reading.eph[0] / reading.eph[-1], share, rtol=1e-6)


def test_within_its_radius_the_fix_is_lost_and_found_again_outside(bench: Any) -> None:
    """A jammed receiver would keep its fix, or have a full one at once when it leaves the zone."""
    gps, state = near(bench, [300.0, 300.0], rtk=Rtk(float_time=5.05, fixed_time=6.05))
    types, counts = [], []
    for k in range(300):
        t = k / 10
        state.position[0, 0] = 49.0 if 10.0 <= t < 12.0 else 300.0
        reading = bench.measure(gps, state, t)
        types.append(reading.fix_type.tolist())
        counts.append(reading.satellite_count.tolist())
    jammed, free = np.array(types).T
    assert (free[61:] == 6).all()
    assert (jammed[61:100] == 6).all()
    assert (jammed[100:120] == 0).all()
    assert np.array(counts)[100:120, 0].max() == 0
    # From the last jammed reading at 11.9 s on it starts again, as at 0 s.
    assert np.array_equal(jammed[119:219], free[:100])


def test_just_outside_the_radius_there_is_a_signal(bench: Any) -> None:
    """The radius would not be that of the loss."""
    gps, state = near(bench, [49.9, 50.1], fix_2d_accuracy=50.0)
    assert bench.readings(gps, state, 100)[-1].fix_type.tolist() == [0, 2]


def test_jammers_add_their_power() -> None:
    """Two jammers would disturb no more than one, or the ratio not fall with the square of the distance."""
    other = Jammer(position=(30.0, 40.0, 0.0), radius=10.0)
    place = np.array([[30.0, 0.0, 0.0], [60.0, 0.0, 0.0]])
    one, two, both = (
        Environment(jammers=jammers).jamming_at(place) for jammers in ((JAMMER,), (other,), (JAMMER, other))
    )
    assert_allclose(one, [LOSS * 2500 / 900, LOSS * 2500 / 3600], rtol=1e-12)
    assert_allclose(two, [LOSS * 100 / 1600, LOSS * 100 / 2500], rtol=1e-12)
    assert_allclose(both, one + two, rtol=1e-12)


def test_a_world_file_has_jammers() -> None:
    """Jammers of a world file would be ignored in a flight."""
    world = parse(WORLD | {"jammers": [{"position": [0, 0, 0], "radius": 20.0}]}, WorldSpec)
    with Simulation(world) as sim:
        gps: dict[str, Sensor] = {"gps": GPS(initial_accuracy=1.0, startup_delay=0.0)}
        places = [(0.0, 0.0, 0.1), (2000.0, 0.0, 0.1)]
        vehicle = sim.add(Multirotor("iris", count=2, position=places, sensors=gps))
        sim.run(duration=0.5)
        assert vehicle.reading(GpsReading).fix_type.tolist() == [0, 3]


def wall(origins: Array, directions: Array, reach: float) -> Array:
    """Return the distances to a wall at x = 20 m."""
    distance = (20.0 - origins[:, 0]) / np.where(directions[:, 0] == 0, 1e-9, directions[:, 0])
    return np.where((distance > 0) & (distance <= reach), distance, math.inf)


def test_a_wall_weakens_a_jammer_that_is_shielded_by_the_world() -> None:
    """A jammer would be shielded in line of sight, by what stands behind it, or by another loss."""
    shielded = Jammer(position=(0, 0, 0), radius=50.0, shielded_by_world=True, obstruction_loss=20.0)
    other = Jammer(position=(60.0, 0.0, 0.0), radius=10.0)
    place = np.array([[10.0, 0.0, 0.0], [30.0, 0.0, 0.0], [-30.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    bare = Environment(jammers=(JAMMER,)).jamming_at(place)
    found = Environment(jammers=(shielded,)).jamming_at(place, wall)
    assert_allclose(found, bare * [1.0, 0.01, 1.0, 1.0], rtol=1e-12)
    both = Environment(jammers=(shielded, other)).jamming_at(place, wall)
    assert_allclose(both, found + Environment(jammers=(other,)).jamming_at(place), rtol=1e-12)
    on_the_wall = Jammer(position=(20.05, 0, 0), radius=50.0, shielded_by_world=True)
    hidden = Environment(jammers=(on_the_wall,)).jamming_at(place[:1], wall)
    assert_allclose(hidden, LOSS * (50.0 / 10.05) ** 2, rtol=1e-12)
    assert Jammer(position=(0, 0, 0), radius=1.0).obstruction_loss == pytest.approx(
        12.64 + 3.72 * math.log10(1.57542) + 0.96 * math.log10(1.57542) ** 2, abs=0.05
    )


def test_by_default_jammers_reach_through_walls() -> None:
    """Logs of worlds with jammers would change by a bit."""
    place = np.array([[30.0, 1.0, 2.0], [15.0, 3.0, 0.5], [-7.0, 0.2, 9.0]])
    jammers = (JAMMER, Jammer(position=(3.0, 4.0, 5.0), radius=7.0))
    environment = Environment(jammers=jammers)
    assert np.array_equal(environment.jamming_at(place, wall), environment.jamming_at(place))
    # The sum of single jammers has the order of the compiled one.
    alone = [Environment(jammers=(item,)).jamming_at(place) for item in jammers]
    assert np.array_equal(environment.jamming_at(place), alone[0] + alone[1])


def test_the_ground_shields_from_a_jammer_below_it() -> None:
    """Rays would not be cast in a flight, or from elsewhere than the receiver."""
    jammer = {"position": [0, 0, -5.0], "radius": 20.0, "obstruction_loss": 30.0}
    types = []
    for shielded in (False, True):
        found = parse(WORLD | {"jammers": [jammer | {"shielded_by_world": shielded}]}, WorldSpec)
        with Simulation(found) as sim:
            gps: dict[str, Sensor] = {"gps": GPS(initial_accuracy=0.9, startup_delay=0.0)}
            vehicle = sim.add(Multirotor("iris", sensors=gps))
            sim.run(duration=0.5)
            reading = vehicle.reading(GpsReading)
            types.append(reading.fix_type.tolist())
    assert types == [[0], [3]]
    share = math.sqrt(1 + 1e-3 * LOSS * (20.0 / (5.0 + vehicle.state.position[0, 2])) ** 2)
    assert reading.eph[0] / 0.9 == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize(
    ("jammer", "field"),
    [
        ({"position": [0, 0, 0], "radius": -1.0}, "radius"),
        ({"position": [0, 0], "radius": 1.0}, "position"),
        ({"position": [0, 0, 0], "radius": 1.0, "obstruction_loss": -3.0}, "obstruction_loss"),
    ],
)
def test_bad_jammers_are_named(jammer: dict[str, Any], field: str) -> None:
    """An invalid jammer would be accepted, or the error would not name its field."""
    with pytest.raises(ConfigError, match=rf"jammers\.0\.{field}"):
        parse(WORLD | {"jammers": [jammer]}, WorldSpec)


@pytest.mark.parametrize(
    ("rtk", "field"),
    [
        ({"float_time": -1.0}, "float_time"),
        ({"float_time": 10.0, "fixed_time": 5.0}, "fixed_time"),
        ({"fixed_sigma": [0.01, -0.01, 0.01]}, "fixed_sigma"),
    ],
)
def test_bad_corrections_are_named(rtk: dict[str, Any], field: str) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.gps\.rtk\.{field}"):
        build(Sensor, SENSORS, {"model": "gps", "rtk": rtk}, field="sensors.gps")
