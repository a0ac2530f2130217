"""Tests of missions that autopilots fly by themselves: files, the protocol, and the start."""

import logging
import math
import re

import numpy as np
import pytest
from offboard_rig import ARM, SET_MODE, Ear

from pegasus import ConfigError
from pegasus.backends import PX4
from pegasus.backends.mavlink.autopilot_line import ARDUPLANE_DIALECT, PX4_DIALECT, Lines
from pegasus.backends.mavlink.messages import encode, make_message
from pegasus.backends.mavlink.mission import MissionPilot, mission_from_spec
from pegasus.contracts.state import VehicleState
from pegasus.environment.geodesy import Geodetic, local_from_geodetic

DT = 0.05
ORIGIN = Geodetic(38.7, -9.1, 90.0)
START = np.array([10.0, -20.0, 0.4])
MISSION = [
    {"takeoff": {"position": [100.0, 0.0, 30.0], "pitch": 15.0}},
    {"waypoint": {"position": [300.0, 50.0, 40.0], "radius": 20.0}},
    {"loiter": {"position": [0.0, 200.0, 40.0], "turns": 2, "radius": 60.0}},
    {"vtol_land": {"position": [0.0, 0.0, 0.0]}},
]


class Navigator:
    """An autopilot that asks for every item of a mission in turn, arms, and reports what it reaches."""

    def __init__(self, *, answer=0):
        self.ear, self.answer, self.items, self.armed = Ear(), answer, [], False

    def step(self, t):
        known = len(self.ear.heard)
        self.ear.listen(t)
        for _, message in self.ear.heard[known:]:
            if message.msgname == "MISSION_COUNT":
                self.count, self.items = message.count, []
                self._send("MISSION_REQUEST_INT", seq=0)
            elif message.msgname == "MISSION_ITEM_INT":
                assert message.seq == len(self.items)
                self.items.append(message)
                if message.seq + 1 < self.count:
                    self._send("MISSION_REQUEST_INT", seq=message.seq + 1)
                else:
                    self._send("MISSION_ACK", type=self.answer)
            elif message.msgname == "COMMAND_LONG" and message.command == ARM and t > 3.0:
                self.armed = True
        if self.armed:
            self._send("HEARTBEAT", autopilot=3, base_mode=129)

    def reach(self, number):
        self._send("MISSION_ITEM_REACHED", seq=number)

    def _send(self, name, **fields):
        self.ear._socket.sendto(encode(make_message(name, **fields), sequence=0), self.ear.pilot)


@pytest.fixture
def flown():
    """Return a function that gives a mission to an autopilot, and returns a function of a duration."""
    opened = []

    def make(navigator, dialect):
        lines = Lines(dialect, [navigator.ear.link], [3], ["A"])
        pilot = MissionPilot(mission_from_spec(MISSION), lines, ORIGIN)
        opened.extend((pilot, navigator.ear))
        state, clock = VehicleState.at_rest(1, 1), [0.0]
        state.position[...] = START

        def run(duration):
            for _ in range(round(duration / DT)):
                # ArduPlane's outputs do not tell that it is armed.
                armed = navigator.armed and not dialect.home_first
                pilot.update(clock[0], state, present=[True], armed=[armed])
                navigator.step(clock[0])
                clock[0] += DT
            return pilot

        return run

    yield make
    for one in opened:
        one.close()


@pytest.mark.parametrize("dialect", [PX4_DIALECT, ARDUPLANE_DIALECT], ids=["px4", "arduplane"])
def test_a_mission_arrives_and_is_flown(flown, dialect):
    """A waypoint would lie elsewhere, or the autopilot not arm, not start, or be called back later."""
    autopilot = Navigator()
    run = flown(autopilot, dialect)
    run(2.0)
    items = autopilot.items[1:] if dialect.home_first else autopilot.items
    assert [item.command for item in items] == [22, 16, 18, 85]
    assert [item.frame for item in items] == [6] * 4
    assert [(item.param1, item.param2, item.param3) for item in items] == [
        (15.0, 0.0, 0.0),
        (0.0, 20.0, 0.0),
        (2.0, 0.0, 60.0),
        (0.0, 0.0, 0.0),
    ]
    for item, entry in zip(items, MISSION, strict=True):
        ((_, given),) = entry.items()
        place = local_from_geodetic(
            np.array(item.x * 1e-7), np.array(item.y * 1e-7), np.array(90.0), origin=ORIGIN
        )
        np.testing.assert_allclose(place[:2], START[:2] + given["position"][:2], atol=0.02)
        assert item.z == given["position"][2]
        assert math.isnan(item.param4) != dialect.home_first
    ear = autopilot.ear
    assert ear.commands(ARM)
    # PX4 sets no home position in its mission mode.
    assert not ear.commands(SET_MODE)
    run(4.0)
    assert autopilot.armed
    assert {mode[1:] for mode in ear.commands(SET_MODE)} == {(1.0, *dialect.mission)}
    pilot = run(4.0)
    count = len(ear.commands(SET_MODE)), len(ear.commands(ARM))
    autopilot.reach(1 if dialect.home_first else 0)
    assert run(0.5).reached == [1]
    autopilot.armed = False
    run(3.0)
    assert (len(ear.commands(SET_MODE)), len(ear.commands(ARM))) == count
    assert {m.type for _, m in ear.of("HEARTBEAT")} == {6}
    assert pilot.reference.idle.all()


def test_a_mission_that_is_rejected(flown, caplog):
    """An autopilot would wait for ever without a word, or arm without its mission."""
    autopilot = Navigator(answer=5)
    run = flown(autopilot, PX4_DIALECT)
    with caplog.at_level(logging.WARNING):
        run(0.3)
        autopilot.ear.say("landing approach too steep")
        run(22.0)
    assert not autopilot.ear.commands(ARM)
    assert caplog.messages == [
        "A has not armed within 20 s: it rejects the mission: landing approach too steep"
    ]


@pytest.mark.parametrize(
    ("mission", "message"),
    [
        ([], "waypoints = []: must be a list of items; such as "),
        ([{"waypiont": {}}], "waypoints.0 = 'waypiont': no such kind of mission item; there are land, "),
        (
            ["land"],
            "waypoints.0 = 'land': must be a mapping of one name to its parameters; known are takeoff",
        ),
        ([{"land": {}}], "waypoints.0.land.position: must be three numbers; x, y, z in m"),
        (
            [{"land": {"position": [0, 0, math.nan]}}],
            "waypoints.0.land.position = [0, 0, nan]: must be three",
        ),
        (
            [{"land": {"position": [0, 0, 0], "radius": 3}}],
            "waypoints.0.land = 'radius': is no parameter; land has position",
        ),
        (
            [{"waypoint": {"position": [0, 0, 9], "radius": "wide"}}],
            "waypoints.0.waypoint = {'position': [0, 0, 9], 'radius': 'wide'}: must be numbers",
        ),
    ],
)
def test_missions_that_are_none(mission, message):
    """A wrong mission would be found by the autopilot, or in flight."""
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        PX4(waypoints=mission)


def test_a_mission_beside_others():
    """Two pilots would fly one autopilot, or a script arm a real flight controller."""
    hover = [{"takeoff": {"height": 2.0}}]
    with pytest.raises(ConfigError, match=r"^waypoints: exclude a trajectory; omit one of them"):
        PX4(waypoints=MISSION, trajectory=hover)
    with pytest.raises(ConfigError, match=r"^connection = 'tcpin:4560': allows no waypoints: Pegasus arms"):
        PX4(waypoints=MISSION, connection="tcpin:4560")
