"""Tests of UWB ranging: geometry by closed forms, line of sight by real scenes, statistics of the errors."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.sensors import SENSORS, UWB, Sensor, UwbReading

HIGH, LOW = (3.0, 4.0, 5.0), (0.0, 0.0, -3.0)
EXACT: dict[str, Any] = {"noise_sigma": 0.0, "nlos_bias": 0.0, "nlos_dropout": 0.0}


@contextmanager
def flown(sensor: UWB, *, count: int = 1, heading: float = 0.0, others: Any = ()) -> Iterator[Multirotor]:
    """Yield vehicles in a simulation over flat ground at z = 0, at a height of 5 m."""
    with Simulation("flat", seed=3) as sim:
        places = [(20.0 * k, 0.0, 5.0) for k in range(count)]
        vehicle = sim.add(
            Multirotor("iris", count=count, position=places, heading=heading, sensors={"uwb": sensor})
        )
        for place in others:
            sim.add(Multirotor("iris", name=f"other{place[0]:g}", position=place))
        sim.step()
        yield vehicle


def readings(vehicle: Multirotor, sensor: UWB, number: int) -> tuple[Any, Any]:
    """Return distances and validity of readings of the same state, shape (number, N, A)."""
    taken = [sensor.measure(vehicle.state, float(k)) for k in range(number)]
    return np.array([r.distance for r in taken]), np.array([r.valid for r in taken])


def test_distances_are_those_from_the_tag() -> None:
    """The tag would be at the body's origin, not turn with it, or copies and anchors be exchanged."""
    sensor = UWB(**EXACT, anchors=(HIGH, (40.0, -2.0, 1.0)), position=(0.2, 0.0, 0.1))
    with flown(sensor, count=2, heading=math.pi / 2) as vehicle:
        reading = sensor.measure(vehicle.state, 0.25)
        assert isinstance(reading, UwbReading)
        tags = vehicle.state.position + np.array([0.0, 0.2, 0.1])
        expected = [[math.dist(tag, anchor) for anchor in sensor.anchors] for tag in tags]
    assert reading.stamp == 0.25
    assert_allclose(reading.distance, expected, rtol=1e-9)
    assert reading.valid.all()


def test_a_hidden_anchor_seems_farther_by_an_exponential_excess() -> None:
    """The excess would have another distribution, shorten distances, or reach anchors in line of sight."""
    sensor = UWB(anchors=(HIGH, LOW), noise_sigma=0.0, nlos_bias=0.6, nlos_dropout=0.0)
    with flown(sensor) as vehicle:
        distance, valid = readings(vehicle, sensor, 4000)
        true = [math.dist(vehicle.state.position[0], anchor) for anchor in (HIGH, LOW)]
    assert valid.all()
    assert_allclose(distance[:, 0, 0], true[0], rtol=1e-12)
    excess = distance[:, 0, 1] - true[1]
    assert excess.min() >= -1e-12
    assert abs(excess.mean() / 0.6 - 1) < 5 / math.sqrt(4000)
    # An exponential distribution: a share of exp(-x) is above x times the mean.
    for x in (0.5, 1.0, 2.0):
        share = math.exp(-x)
        assert abs((excess > 0.6 * x).mean() - share) < 5 * math.sqrt(share * (1 - share) / 4000)


def test_dropouts_have_their_shares() -> None:
    """The share of missing distances would be that of the other state, or a missing one have a value."""
    sensor = UWB(anchors=(HIGH, LOW), dropout=0.1, nlos_dropout=0.7)
    with flown(sensor) as vehicle:
        distance, valid = readings(vehicle, sensor, 4000)
    for anchor, share in ((0, 0.1), (1, 0.7)):
        missing = 1 - valid[:, 0, anchor].mean()
        assert abs(missing - share) < 5 * math.sqrt(share * (1 - share) / 4000)
    assert np.array_equal(distance == -1.0, ~valid)


def test_noise_in_line_of_sight_is_unbiased_and_of_each_copy() -> None:
    """Copies or anchors would share their noise, or it would have a bias or another standard deviation."""
    sensor = UWB(anchors=(HIGH, (-3.0, 1.0, 6.0)), noise_sigma=0.2)
    with flown(sensor, count=2) as vehicle:
        distance, _ = readings(vehicle, sensor, 4000)
        true = np.linalg.norm(np.array(sensor.anchors) - vehicle.state.position[:, None], axis=-1)
    errors = (distance - true).reshape(4000, 4) / 0.2
    assert np.all(np.abs(errors.mean(axis=0)) < 5 / math.sqrt(4000))
    assert np.all(np.abs(np.corrcoef(errors.T) - np.eye(4)) < 5 / math.sqrt(4000))
    assert np.all(np.abs(errors.std(axis=0) - 1) < 5 / math.sqrt(8000))


def test_a_copy_has_its_errors_in_any_company() -> None:
    """The errors of a copy would depend on the number of copies."""
    found = []
    for count in (1, 3):
        sensor = UWB(anchors=(HIGH, LOW))
        with flown(sensor, count=count) as vehicle:
            found.append(readings(vehicle, sensor, 5)[0][:, 0])
    assert np.array_equal(*found)


@pytest.mark.parametrize(("clearance", "hidden"), [(0.0, True), (0.1, False)])
def test_the_mount_of_an_anchor_does_not_hide_it(clearance: float, hidden: bool) -> None:
    """An anchor just within a wall would never be in line of sight, or one behind it always."""
    sensor = UWB(anchors=((0.0, 0.0, -0.05),), noise_sigma=0.0, nlos_dropout=1.0, clearance=clearance)
    with flown(sensor) as vehicle:
        assert sensor.measure(vehicle.state, 0.0).valid[0, 0] != hidden


def test_another_vehicle_hides_an_anchor_and_its_own_body_does_not() -> None:
    """Only the scene would hide anchors, or the body of the tag's vehicle all of them."""
    anchors = (0.0, 6.0, 5.0), (6.0, 0.0, 5.0), (3.0, 3.0, 5.0), (-3.0, 3.0, 5.0)
    sensor = UWB(anchors=anchors, noise_sigma=0.0, nlos_dropout=1.0)
    with flown(sensor, others=[(3.0, 0.0, 5.0)]) as vehicle:
        valid = sensor.measure(vehicle.state, 0.0).valid[0]
    assert valid.tolist() == [True, False, True, True]


def test_beyond_its_range_there_is_no_distance() -> None:
    """An anchor out of reach would be measured."""
    sensor = UWB(**EXACT, anchors=((8.0, 0.0, 5.0), (12.0, 0.0, 5.0)), max_range=10.0)
    with flown(sensor) as vehicle:
        assert sensor.measure(vehicle.state, 0.0).valid.tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"anchors": []}, "anchors"),
        ({"anchors": [[0.0, 0.0]]}, "anchors"),
        ({"noise_sigma": -0.1}, "noise_sigma"),
        ({"nlos_dropout": 1.5}, "nlos_dropout"),
        ({"max_range": 0.0}, "max_range"),
        ({"rate_hz": 0.0}, "rate_hz"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], field: str) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.uwb\.{field}"):
        build(Sensor, SENSORS, {"model": "uwb", "anchors": [HIGH]} | parameters, field="sensors.uwb")
