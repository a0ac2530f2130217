"""Tests of Hector's sonar of nine rays against closed forms."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.base.arrays import Array
from pegasus.base.components import build
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.contracts.engine import RayHits
from pegasus.contracts.state import VehicleState
from pegasus.sensors import SENSORS, Rangefinder, RangeReading, Sensor, Sonar
from pegasus.sensors.rangefinder import cone_directions

QUIET: dict[str, float] = {"noise_sigma": 0.0, "proportional_noise": 0.0}
HALF = math.radians(20.0)
RAYS = cone_directions(np.array([0.0, 0.0, -1.0]), angle=2 * HALF, count=9)


def heard(ground: Callable[[Array], Array], *, roll: float = 0.0, yaw: Any = 0.0) -> RangeReading:
    """Return a sonar's reading; `ground` maps unit vectors in the world (K, 3) to ray lengths (K,)."""
    count = np.size(yaw)
    state = VehicleState.at_rest(count, 4)
    state.orientation[:] = quaternion_from_euler(roll, 0.0, yaw)
    state.rotation[:] = matrix_from_quaternion(state.orientation)

    def raycast(directions: Array, max_range: float, **_: Any) -> RayHits:
        world = (directions @ state.rotation.swapaxes(1, 2)).reshape(-1, 3)
        length = ground(world)
        length = np.where(length <= max_range, length, np.inf)
        return RayHits(np.isfinite(length), length, world, np.full(len(length), -1))

    sonar = Sonar(**QUIET)
    vehicle: Any = SimpleNamespace(count=count, raycast=raycast)
    environment: Any = None
    sonar.bind(vehicle, environment, np.random.default_rng(0))
    return sonar.measure(state, 0.0)


def floor(height: float) -> Callable[[Array], Array]:
    """Return a function from ray directions to distances to level ground."""
    return lambda ways: np.where(ways[:, 2] < 0, height / np.maximum(-ways[:, 2], 1e-12), np.inf)


def test_it_is_hectors_sonar() -> None:
    """The preset would differ from nine rays, downward, to 3 m (Hector 2012, sec. 3.3)."""
    sonar = build(Sensor, SENSORS, {"model": "sonar"}, field="sensors.sonar")
    assert isinstance(sonar, Rangefinder)
    assert (sonar.ray_count, sonar.max_range, sonar.direction) == (9, 3.0, (0.0, 0.0, -1.0))
    assert sonar.cone_angle == pytest.approx(2 * HALF)


@pytest.mark.parametrize("tilt", [0.0, 0.1, 0.3, 0.6])
def test_over_a_slanted_plane_the_nearest_ray_counts(tilt: float) -> None:
    """The axis or the farthest ray would be used in place of the nearest ray.

    Tilted by less than the half angle, the cone holds the foot of the perpendicular, at the distance h; by
    more, its nearest ray is h / cos(tilt - half angle) long. Nine rays come within one gap of that.
    """
    distance = heard(floor(2.0), roll=tilt, yaw=np.linspace(0.0, 6.0, 24)).distance
    off = max(tilt - HALF, 0.0)
    fine = cone_directions(np.array([0.0, 0.0, -1.0]), angle=2 * HALF, count=4000)
    gap = float(np.arccos(np.minimum((fine @ RAYS.T).max(axis=1), 1.0)).max())
    assert gap < HALF
    assert np.all(distance >= 2.0 / math.cos(off) - 1e-12)
    assert np.all(distance <= 2.0 / math.cos(min(off + gap, tilt)) + 1e-12)


def test_a_step_within_the_cone_is_heard() -> None:
    """An obstacle off the axis would be missed: a table 1 m below, where y is above an edge."""

    def step(edge: float) -> Callable[[Array], Array]:
        def ground(ways: Array) -> Array:
            to_table = -1.0 / ways[:, 2]
            return np.where(ways[:, 1] * to_table > edge, to_table, -2.0 / ways[:, 2])

        return ground

    to_table = -1.0 / RAYS[:, 2]
    over = RAYS[:, 1] * to_table > 0.1
    assert 0 < over.sum() < 9
    assert heard(step(0.1)).distance[0] == pytest.approx(to_table[over].min(), rel=1e-12)
    # At that height the cone is tan(20 deg) = 0.36 m wide.
    assert heard(step(0.4)).distance[0] == pytest.approx(2.0, rel=1e-12)


def test_out_of_range_is_not_valid() -> None:
    """An autopilot would use the limit of 3 m as a height."""
    readings = [heard(floor(height)) for height in (0.01, 2.9, 3.1)]
    assert [bool(reading.valid[0]) for reading in readings] == [False, True, False]
    assert_allclose([reading.distance[0] for reading in readings], [0.03, 2.9, 3.0])
