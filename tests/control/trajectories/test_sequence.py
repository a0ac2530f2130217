"""Tests of sequences: smooth joints, transfers, and headings."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories
from pegasus.control.trajectories import Point, Trajectory


@dataclass(frozen=True)
class Loop(Trajectory):
    """A circle at constant speed: it begins and ends in motion."""

    name = "loop"
    duration: float = 2 * math.pi

    def sample(self, t):
        c, s = math.cos(t), math.sin(t)
        return Point((c, s, 2.0), (-s, c, 0.0), (-c, -s, 0.0), (s, -c, 0.0))


def mission(**start):
    parts = (
        trajectories.takeoff(3.0),
        trajectories.square(5.0, yaw="forward"),
        trajectories.hold(duration=1.5),
        trajectories.circle(4.0, height=2.0, yaw=2.0),
        trajectories.waypoints(((0, 0, 2), (3, 0, 4), (3, 3, 3))),
        trajectories.lemniscate(3.0, yaw="forward"),
        trajectories.land(),
    )
    return trajectories.sequence(*parts, start=Point(**start)) if start else trajectories.sequence(*parts)


def test_joints_are_smooth_up_to_the_jerk(oracle):
    """If this fails, the reference jumps between two parts."""
    oracle.assert_joined(mission(position=(0.3, -0.2, 0.06), yaw=0.5, idle=True))
    oracle.assert_joined(mission())


def test_joints_with_moving_parts_are_smooth(oracle):
    """If this fails, a user's trajectory that begins in motion begins with a jump."""
    flight = trajectories.sequence(
        trajectories.hold(position=(3, 0, 1), duration=1.0), Loop(), Loop(), Loop()
    )
    oracle.assert_joined(flight)
    names = [part.name for part in flight.parts]
    assert names == ["hold", "transfer", "loop", "loop", "loop"]
    oracle.assert_exact_derivatives(flight, tolerance=1e-4)


def test_derivatives_are_exact(oracle):
    """If this fails, a transfer's or the heading's feed-forward is wrong."""
    oracle.assert_exact_derivatives(mission(position=(0.3, -0.2, 0.06), yaw=0.5, idle=True), count=300)


def test_transfers_keep_to_their_limits(oracle):
    """If this fails, the way between two parts is flown too fast or too hard."""
    flight = trajectories.sequence(
        trajectories.hold(position=(0, 0, 2), duration=1.0),
        trajectories.circle(10.0, height=5.0),
        speed=1.2,
        acceleration=0.7,
    )
    transfer = flight.parts[1]
    assert transfer.name == "transfer"
    motion = oracle.samples(transfer)
    assert np.linalg.norm(motion[:, 1], axis=1).max() == pytest.approx(1.2)
    assert np.linalg.norm(motion[:, 2], axis=1).max() == pytest.approx(0.7, rel=1e-4)
    line = np.cross(motion[:, 0] - [0, 0, 2], [10, 0, 3])
    np.testing.assert_allclose(line, 0.0, atol=1e-9)


def test_no_transfer_where_parts_meet():
    """If this fails, the vehicle stops between parts for nothing."""
    flight = trajectories.sequence(
        trajectories.takeoff(3.0), trajectories.lemniscate(2.0), trajectories.hold(duration=1.0)
    )
    assert [part.name for part in flight.parts] == ["takeoff", "lemniscate", "hold"]


def test_from_the_ground_it_climbs_first():
    """If this fails, the vehicle leaves the ground sideways."""
    flight = trajectories.sequence(
        trajectories.circle(10.0, height=3.0), start=Point((0.0, 0.0, 0.1), idle=True)
    )
    assert [part.name for part in flight.parts] == ["takeoff", "transfer", "circle"]
    np.testing.assert_allclose(flight.parts[1].sample(0.0).position, [0, 0, 3])
    again = trajectories.sequence(
        trajectories.hold(height=2.0, duration=1.0),
        trajectories.land(),
        trajectories.idle(2.0),
        trajectories.circle(2.0, height=3.0),
    )
    assert [part.name for part in again.parts] == ["hold", "land", "idle", "takeoff", "transfer", "circle"]
    in_the_air = trajectories.sequence(trajectories.circle(10.0), start=Point((0.0, 0.0, 0.1)))
    assert [part.name for part in in_the_air.parts] == ["transfer", "circle"]


def test_lands_where_the_mission_started():
    """If this fails, a vehicle that started on a roof descends through it."""
    flight = trajectories.sequence(
        trajectories.takeoff(9.0), trajectories.land(), start=Point((1.0, 2.0, 5.0), idle=True)
    )
    np.testing.assert_allclose(flight.sample(flight.duration).position, [1.0, 2.0, 5.0], atol=1e-12)
    assert flight.lands
    assert trajectories.sequence(trajectories.land(height=0.5)).sample(99.0).position[2] == 0.5


def test_headings_carry_over_and_turn_the_short_way():
    """If this fails, the vehicle spins around between two parts, or forgets its heading."""
    flight = trajectories.sequence(
        trajectories.hold(position=(0, 0, 1), duration=1.0, yaw=3.0),
        trajectories.hold(duration=1.0, yaw=-3.0),
        trajectories.hold(duration=1.0),
    )
    turn = flight.parts[1]
    yaws = [flight.sample(t).yaw for t in np.linspace(0, flight.duration, 500)]
    assert max(yaws) == pytest.approx(2 * math.pi - 3.0)
    assert min(yaws) == -3.0
    # 0.283 rad at 2 rad/s^2, too short for the rate of 1.5 rad/s: T = 2 sqrt(15/8 * 0.283 / 2).
    assert turn.duration == pytest.approx(2 * math.sqrt(15 / 8 * (2 * math.pi - 6) / 2))
    assert flight.sample(flight.duration).yaw == -3.0


def test_no_heading_anywhere_leaves_it_to_the_vehicle():
    """If this fails, every vehicle of a fleet turns to the heading of the first."""
    flight = trajectories.sequence(
        trajectories.takeoff(2.0), trajectories.circle(2.0), start=Point((0, 0, 0), yaw=1.0, idle=True)
    )
    assert all(flight.sample(t).yaw is None for t in np.linspace(0, flight.duration, 50))


def test_names_segments():
    """If this fails, errors are booked under the wrong part of the flight."""
    flight = trajectories.sequence(trajectories.takeoff(3.0), trajectories.circle(2.0), trajectories.land())
    names = [flight.segment(t) for t in np.linspace(0, flight.duration + 1, 2000)]
    assert list(dict.fromkeys(names)) == ["takeoff", "transfer", "circle", "land"]
    inner = trajectories.sequence(trajectories.takeoff(3.0), trajectories.circle(2.0))
    assert trajectories.sequence(inner, trajectories.land()).duration == flight.duration


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: trajectories.sequence(), "parts: must have at least one part"),
        (
            lambda: trajectories.sequence(
                trajectories.takeoff(3.0), trajectories.hold(), trajectories.land()
            ),
            "parts.1: is endless, so the parts after it are never flown: hold; "
            "give it a duration or a number of laps, or put it last",
        ),
        (
            lambda: trajectories.sequence(trajectories.land(), speed=0.0),
            "speed = 0.0: must be above 0 m/s",
        ),
        (
            lambda: trajectories.sequence(trajectories.land(), acceleration=-1.0),
            "acceleration = -1.0: must be above 0 m/s^2",
        ),
        (
            lambda: trajectories.sequence(trajectories.takeoff(3.0), "land"),
            "parts.1 = 'land': must be a trajectory; such as takeoff(height=2.0)",
        ),
    ],
)
def test_bad_sequences_are_named(make, message):
    """If this fails, a mission that cannot be flown is only found out in the air."""
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value) == message
