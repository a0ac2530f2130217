"""Tests of take-off, landing, hold and idle segments."""

import math

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories
from pegasus.control.trajectories import Point


@pytest.mark.parametrize(
    "part",
    [
        trajectories.takeoff(3.0, start=(1.0, 2.0, 0.1)),
        trajectories.land(height=0.2, start=(1.0, 2.0, 5.0)),
    ],
)
def test_vertical_parts_have_exact_derivatives_and_limits(part, oracle):
    """If this fails, take-off or landing is not what its parameters say."""
    oracle.assert_exact_derivatives(part)
    motion = oracle.samples(part)
    np.testing.assert_allclose(motion[:, 0, :2], [[1.0, 2.0]] * len(motion))
    assert np.abs(motion[:, 1]).max() == pytest.approx(part.speed)
    assert np.abs(motion[:, 2]).max() == pytest.approx(part.acceleration, rel=1e-4)
    assert np.all(np.diff(motion[:, 0, 2]) * (part.height - part.start[2]) >= 0)
    assert motion[-1, 0, 2] == pytest.approx(part.height, abs=1e-12)


def test_manoeuvres_begin_where_the_part_before_ended():
    """If this fails, a take-off starts from the origin instead of from under the vehicle."""
    here = Point((3.0, -1.0, 2.0))
    assert trajectories.takeoff(5.0).starting_at(here).sample(0.0).position == (3.0, -1.0, 2.0)
    assert trajectories.land(height=0.0).starting_at(here).sample(0.0).position == (3.0, -1.0, 2.0)
    assert trajectories.idle().starting_at(here).sample(0.5).position == (3.0, -1.0, 2.0)
    assert trajectories.hold().starting_at(here).sample(9.0).position == (3.0, -1.0, 2.0)
    assert trajectories.hold(height=4.0).starting_at(here).sample(9.0).position == (3.0, -1.0, 4.0)
    assert trajectories.hold(position=(0, 0, 1)).starting_at(here).sample(9.0).position == (0, 0, 1)


def test_only_idling_is_idle():
    """If this fails, rotors idle in flight or turn on the ground."""
    assert trajectories.idle().sample(0.0).idle
    assert not trajectories.takeoff(3.0).sample(0.0).idle
    assert trajectories.hold().duration == math.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: trajectories.takeoff(math.nan), "height = nan: must be a finite number of metres"),
        (lambda: trajectories.takeoff(3.0, speed=0.0), "speed = 0.0: must be above 0 m/s"),
        (lambda: trajectories.takeoff(3.0, acceleration=-1.0), "acceleration = -1.0: must be above 0 m/s^2"),
        (lambda: trajectories.land(speed=-1.0), "speed = -1.0: must be above 0 m/s"),
        (lambda: trajectories.land(height=math.inf), "height = inf: must be a finite number of metres"),
        (lambda: trajectories.idle(0.0), "duration = 0.0: must be above 0 s"),
        (lambda: trajectories.hold(duration=-1.0), "duration = -1.0: must be above 0 s"),
        (
            lambda: trajectories.hold(height=1.0, position=(0, 0, 1)),
            "height = 1.0: must be left out when a position is given",
        ),
    ],
)
def test_bad_parameters_are_named(make, message):
    """If this fails, a mistake in a mission shows up in the air."""
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize("yaw", ["forward", float("nan")])
def test_a_hold_has_a_heading_of_its_own(yaw):
    """If this fails, a heading along a path that is none ends the flight in the air."""
    with pytest.raises(ConfigError, match=r"^yaw = .*: must be an angle in radians"):
        trajectories.hold(height=2.0, yaw=yaw)


@pytest.mark.parametrize("place", [{"height": float("nan")}, {"position": (0.0, float("inf"), 1.0)}])
def test_a_hold_is_somewhere(place):
    """If this fails, a reference that is no number is found out in the air."""
    with pytest.raises(ConfigError, match=r"^height or position = .*: must be finite"):
        trajectories.hold(**place)
