"""Tests of trajectory specifications in scenario files."""

import math
from dataclasses import dataclass

import pytest

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories
from pegasus.control.trajectories import Point, Trajectory, trajectory_from_spec
from pegasus.control.trajectories.maneuvers import Land


@dataclass(frozen=True)
class Spiral(Trajectory):
    """A user's own trajectory."""

    name = "spiral"
    turns: float
    duration: float = 10.0

    def sample(self, t):
        return Point((math.cos(self.turns * t), math.sin(self.turns * t), 0.1 * t + 1.0))


def test_reads_the_scenario_of_the_documentation():
    """If this fails, the mission of the default scenario does not load."""
    flight = trajectory_from_spec(
        [
            {"takeoff": {"height": 3.0}},
            {"square": {"side": 5.0, "speed": 2.0}},
            {"circle": {"radius": 10, "speed": 4.0, "yaw": "forward"}},
            {"lemniscate": {"radius": 5.0, "speed": 3.0}},
            {"waypoints": {"points": [[0, 0, 3], [1, 1, 3]], "stop": True}},
            {"hold": {"duration": 2.0}},
            {"land": {}},
        ]
    )
    made = trajectories.sequence(
        trajectories.takeoff(3.0),
        trajectories.square(5.0, speed=2.0),
        trajectories.circle(10.0, speed=4.0, yaw="forward"),
        trajectories.lemniscate(5.0, speed=3.0),
        trajectories.waypoints(((0, 0, 3), (1, 1, 3)), stop=True),
        trajectories.hold(duration=2.0),
        trajectories.land(),
    )
    assert flight.duration == made.duration
    assert all(flight.sample(t) == made.sample(t) for t in range(0, 100, 3))


def test_bare_names_and_empty_parameters():
    """If this fails, `- land` and `- land:` in YAML are refused for no reason."""
    for entry in ("land", {"land": None}, {"land": {}}):
        assert trajectory_from_spec([entry]).parts[0].name == "land"


def test_takes_a_users_own():
    """If this fails, a user cannot fly an own trajectory from a scenario file."""
    flight = trajectory_from_spec([{f"{__name__}:Spiral": {"turns": 2}}])
    assert isinstance(flight.parts[0], Spiral)
    assert flight.parts[0].turns == 2.0


KNOWN = (
    "circle, csv, hold, idle, land, lemniscate, minimum_snap, race_line, relay, square, takeoff, turn, "
    "waypoints"
)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            [],
            "trajectory = []: must be a list of parts; "
            "such as [{takeoff: {height: 3.0}}, {circle: {radius: 10.0}}, {land: {}}]",
        ),
        (
            {"land": {}},
            "trajectory = {'land': {}}: must be a list of parts; "
            "such as [{takeoff: {height: 3.0}}, {circle: {radius: 10.0}}, {land: {}}]",
        ),
        (
            ["land", {"sqare": {}}],
            f"trajectory.1 = 'sqare': must be one of {KNOWN}; did you mean square? or package.module:Class",
        ),
        (
            [{"land": {}, "hold": {}}],
            "trajectory.0 = {'land': {}, 'hold': {}}: must be a mapping of one name to its parameters; "
            f"known are {KNOWN}",
        ),
        ([{"square": 5}], "trajectory.0.square = 5: must be a mapping of parameters"),
        ([{"square": {"side": -5}}], "trajectory.0.square.side = -5.0: must be above 0 m"),
        ([{"square": {}}], "trajectory.0.square.side: required field is missing"),
        (
            [{"takeoff": {"height": "high"}}],
            "trajectory.0.takeoff.height = 'high': must be a number",
        ),
        (
            [{"land": {"spede": 1.0}}],
            "trajectory.0.land.spede: unknown field; did you mean speed? "
            "allowed here: acceleration, height, speed, start",
        ),
        (
            [{"hold": {}}, {"land": {}}],
            "trajectory.0: is endless, so the parts after it are never flown: hold; "
            "give it a duration or a number of laps, or put it last",
        ),
    ],
)
def test_bad_specs_are_named(spec, message):
    """If this fails, a user searches a scenario file for a mistake by trial and error."""
    with pytest.raises(ConfigError) as caught:
        trajectory_from_spec(spec)
    assert str(caught.value) == message


def test_objects_and_functions_are_taken_as_they_are():
    """If this fails, a function of time flies a controller, but no autopilot or mover."""
    land = Land()
    assert trajectory_from_spec(land) is land
    flight = trajectory_from_spec(lambda t: (t, 0.0, 2.0))
    assert flight.sample(3.0).position == pytest.approx((3.0, 0.0, 2.0))
    with pytest.raises(ConfigError, match=r"^path = 1.0: must give three or four finite numbers"):
        trajectory_from_spec(lambda t: t + 1.0, field="path")
