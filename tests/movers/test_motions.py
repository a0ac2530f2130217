"""Tests of the motions of movers: they pass their points at their times, and refuse what cannot be."""

import math

import numpy as np
import pytest

from pegasus import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.environment import ConstantWind, Environment
from pegasus.movers import AlongTrajectory, Hinge, Motion, Oscillation, SolidMover, TimedWaypoints, Windsock
from pegasus.movers.keyframes import Keyframes

HINGE = {"position": [0, 0, 0], "times": [0, 1], "angles": [0, 1]}


def angle(orientation):
    """Return the angle about the vertical [rad]."""
    return 2.0 * math.atan2(orientation[2], orientation[3])


def test_waypoints_are_passed_at_their_times_without_overshoot():
    """A point would be missed, or the curve swing beyond its neighbours as a spline does."""
    motion = TimedWaypoints((1.0, 2.0, 5.0), ((0, 0, 1), (4, 0, 1), (4, 2, 1)), headings=(0.0, 1.0, 1.0))
    for t, point, heading in ((0.0, (0, 0, 1), 0), (1, (0, 0, 1), 0), (2, (4, 0, 1), 1), (9, (4, 2, 1), 1)):
        position, orientation = motion.pose(t)
        np.testing.assert_allclose(position, point, atol=1e-12)
        assert angle(orientation) == pytest.approx(heading)
    between = np.array([motion.pose(t)[0] for t in np.linspace(0, 6, 400)])
    assert between.min() >= 0.0
    assert between[:, 0].max() <= 4.0
    assert between[:, 1].max() <= 2.0


def test_a_repeated_path_goes_on_smoothly():
    """The rate would jump where the path begins again."""
    frames = Keyframes.checked((0.0, 1.0, 2.0, 4.0), [(0.0,), (1.0,), (1.5,), (0.0,)], repeat=True, field="v")
    rates = [(frames.at(t + 1e-5)[0] - frames.at(t)[0]) / 1e-5 for t in np.arange(0.0, 8.0, 1e-3)]
    assert np.abs(np.diff(rates)).max() < 0.02
    assert frames.at(4.7) == pytest.approx(frames.at(0.7))


def test_a_hinge_turns_about_its_axis():
    """A door would turn the wrong way, or leave its hinge."""
    motion = Hinge(position=(1.0, 2.0, 0.0), times=(0.0, 2.0), angles=(0.0, math.pi / 2), axis=(0, 0, 3.0))
    assert angle(motion.pose(1.0)[1]) == pytest.approx(math.pi / 4)
    assert angle(motion.pose(5.0)[1]) == pytest.approx(math.pi / 2)
    np.testing.assert_array_equal(motion.pose(1.3)[0], [1.0, 2.0, 0.0])


def test_a_windsock_is_lifted_towards_where_the_wind_blows():
    """It would point into the wind, jump where a wind begins, or stand straight in a breeze."""
    sock = Windsock(position=(0.0, 0.0, 5.0), half_speed=3.0)
    np.testing.assert_array_equal(sock.pose(1.0)[1], [0.0, 0.0, 0.0, 1.0])
    for wind, hang in (
        ([0.0, 0.0, 0.0], [0.0, 0.0, -1.0]),
        ([1e-6, 0.0, 0.0], [0.0, 0.0, -1.0]),
        ([3.0, 0.0, 0.0], [math.sqrt(0.5), 0.0, -math.sqrt(0.5)]),
        ([0.0, -6.0, 0.0], [0.0, -4 / math.sqrt(17), -1 / math.sqrt(17)]),
    ):
        sock.bind(Environment(wind=ConstantWind(mean_velocity=tuple(wind))))
        position, orientation = sock.pose(2.0)
        np.testing.assert_array_equal(position, [0.0, 0.0, 5.0])
        turn = matrix_from_quaternion(orientation[None])[0]
        np.testing.assert_allclose(turn @ [0.0, 0.0, -1.0], hang, atol=1e-9)


def test_an_oscillation_and_a_trajectory_are_where_they_say():
    """A lemniscate as vehicles fly it would be another one as a mover."""
    swing = Oscillation(position=(0, 0, 1), amplitude=(2.0, 0, 0), period=4.0)
    np.testing.assert_allclose(swing.pose(1.0)[0], [2.0, 0, 1])
    np.testing.assert_allclose(swing.pose(401.0)[0], [2.0, 0, 1])
    path = AlongTrajectory(
        [{"lemniscate": {"radius": 3.0, "height": 1.0, "speed": 1.0}}], (5.0, 0, 0), repeat=True
    )
    np.testing.assert_allclose(path.pose(0.0)[0], [5.0, 0, 1])
    points = np.array([path.pose(t)[0] for t in np.arange(0.0, 60.0, 0.05)])
    assert points[:, 0].max() == pytest.approx(8.0, abs=0.01)
    x, y = points[:, 0] - 5.0, points[:, 1]
    # Gerono: x^4 = r^2 (x^2 - y^2).
    np.testing.assert_allclose(x**4, 9.0 * (x**2 - y**2), atol=1e-9)


def test_velocities_are_derivatives_of_the_poses():
    """Contacts and labels would have other velocities than the motion."""

    class Rolling(Motion):
        def pose(self, t):
            w = 1.3
            return np.array([math.sin(t), 2 * t, 0.5 * t * t]), np.array(
                [math.sin(w * t / 2), 0, 0, math.cos(w * t / 2)]
            )

    mover = SolidMover({"name": "ball", "sphere": 0.3}, motion=Rolling())
    for t in (0.0, 0.7, 5.0):
        motion = mover.motion(t)
        np.testing.assert_allclose(motion.velocity, [[math.cos(t), 2.0, t]], atol=1e-4 if t == 0 else 1e-8)
        np.testing.assert_allclose(motion.angular_velocity, [[1.3, 0, 0]], atol=1e-9)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "exactly one of box, sphere, cylinder and usd must be given"),
        ({"box": [1, 1, 1], "sphere": 1}, "exactly one of box, sphere, cylinder and usd"),
        ({"box": [1, 0, 1]}, "box.1"),
        ({"box": [1, 1, 1], "name": "a b"}, "name"),
        ({"sphere": 1, "motion": {"model": "hing"}}, "motion.model"),
        (
            {
                "sphere": 1,
                "motion": {"model": "hinge", "position": [0, 0, 0], "times": [0, 1], "angles": [0]},
            },
            "angles",
        ),
        (
            {
                "sphere": 1,
                "motion": {"model": "waypoints", "times": [1, 1], "points": [[0, 0, 0], [1, 0, 0]]},
            },
            "motion.times",
        ),
        ({"sphere": 1, "colour": [1, 0, 0]}, "colour"),
        ({"usd": "missing.usda"}, "missing.usda"),
    ],
)
def test_a_wrong_description_is_refused_in_one_line(fields, message):
    """A wrong field would be ignored, or end in an error without its name."""
    still = {"model": "oscillation", "position": [0, 0, 1], "amplitude": [0, 0, 0], "period": 1.0}
    with pytest.raises(ConfigError) as caught:
        SolidMover({"name": "thing", "motion": still, **fields})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
