"""Tests of guided flight of autopilots: commands, set-points, modes, and their end."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from offboard_rig import ARM, SET_MODE, TAKE_OFF, StrictAutopilot
from scipy.spatial.transform import Rotation

from pegasus import Simulation
from pegasus.backends import GuidedArduPilot, GuidedPX4
from pegasus.backends.mavlink.autopilot_line import ARDUPILOT_DIALECT, PX4_DIALECT, Lines
from pegasus.backends.mavlink.guided import AutopilotMission, GuidedPilot
from pegasus.base.errors import ConfigError
from pegasus.contracts.state import VehicleState
from pegasus.control.guided_commands import GuidedCommands

DT = 0.01
START = np.array([10.0, 20.0, 0.5])


def above(x, y, z):
    """Return a point relative to the first start."""
    return START + np.array([x, y, z])


class Fleet(GuidedCommands):
    """Guided autopilots, which are a simulation for `wait` as well."""

    height, speed, acceleration = 1.5, 3.0, 3.0

    def __init__(self, dialect, *, count=1, ready=2.5):
        self.autopilots = [
            StrictAutopilot(dialect, 3 + i, above(0.0, 3.0 * i, 0.0), ready=ready) for i in range(count)
        ]
        self.mission = AutopilotMission(count=count, height=1.5, speed=3.0, acceleration=3.0)
        self.estimates = SimpleNamespace(
            local_position=np.full((count, 3), np.nan),
            estimate=SimpleNamespace(velocity=np.full((count, 3), np.nan)),
        )
        lines = Lines(dialect, [a.ear.link for a in self.autopilots], [3 + i for i in range(count)], "ABC")
        self.pilot = GuidedPilot(self.mission, self.estimates, lines, lambda thrust, tilt: thrust * tilt / 40)
        self.state = VehicleState.at_rest(count, 4)
        self.step_count, self.estimated = 0, True
        self.stepper = SimpleNamespace(require_free=lambda: None)

    @property
    def guided(self):
        return self.mission

    @property
    def time(self):
        return self.step_count * DT

    def step(self):
        for row, autopilot in enumerate(self.autopilots):
            self.state.position[row], self.state.velocity[row] = autopilot.position, autopilot.velocity
            turn = Rotation.from_rotvec([0.0, 0.0, autopilot.heading])
            self.state.rotation[row], self.state.orientation[row] = turn.as_matrix(), turn.as_quat()
            if self.estimated:
                self.estimates.local_position[row] = autopilot.local
                self.estimates.estimate.velocity[row] = autopilot.velocity
        present, armed = [True] * len(self.autopilots), [a.armed for a in self.autopilots]
        self.pilot.update(self.time, self.state, present=present, armed=armed)
        for autopilot in self.autopilots:
            autopilot.step(self.time, DT)
        self.step_count += 1

    def thrust_limits(self):
        weight = np.full(len(self.autopilots), 15.0)
        return weight, 2.0 * weight

    def run(self, duration):
        for _ in range(round(duration / DT)):
            self.step()

    def reason(self, copy):
        return self.pilot.reasons(copy)


@pytest.fixture
def fleet():
    """Return a function that makes a fleet; all are closed after the test."""
    made = []

    def make(*arguments, **options):
        made.append(Fleet(*arguments, **options))
        return made[-1]

    yield make
    for one in made:
        one.pilot.close()
        for autopilot in one.autopilots:
            autopilot.close()


@pytest.fixture(params=[PX4_DIALECT, ARDUPILOT_DIALECT], ids=["px4", "ardupilot"])
def dialect(request):
    return request.param


def test_stands_until_told(fleet, dialect):
    """An autopilot would arm by itself, or one that the user has armed be sent to land."""
    one = fleet(dialect)
    one.run(5.0)
    (autopilot,) = one.autopilots
    assert autopilot.ear.of("COMMAND_LONG") == []
    autopilot.armed, autopilot.mode = True, "of the user"
    one.run(3.0)
    assert autopilot.ear.of("COMMAND_LONG") == []
    with pytest.raises(ConfigError, match="vehicle: is not in the air; take off first"):
        one.goto([1.0, 2.0, 3.0])


def test_a_mission(fleet, dialect):
    """A command would lead elsewhere, be done too early, or the vehicle not disarm."""
    one = fleet(dialect)
    (autopilot,) = one.autopilots
    one.takeoff(height=2.0).wait(one)
    assert autopilot.armed
    np.testing.assert_allclose(autopilot.position, above(0, 0, 2.0), atol=0.16)
    asked = [t for t, *_ in autopilot.ear.commands(ARM)]
    np.testing.assert_allclose(asked, [0.0, 1.0, 2.0, 3.0], atol=0.06)
    target = above(4.0, -3.0, 1.0)
    one.goto(target, yaw=math.pi / 2, speed=2.0).wait(one)
    np.testing.assert_allclose(autopilot.position, target, atol=0.15)
    assert autopilot.heading == pytest.approx(math.pi / 2, abs=0.05)
    one.velocity([1.0, 0.0, 0.0], frame="body").wait(one)
    before = autopilot.position.copy()
    one.run(2.0)
    # Forward is north by now.
    np.testing.assert_allclose(autopilot.position - before, [0.0, 2.0, 0.0], atol=0.2)
    m = autopilot.ear.of("SET_POSITION_TARGET_LOCAL_NED")[-1][1]
    assert [m.vx, m.vy, m.vz] == pytest.approx([1.0, 0.0, 0.0], abs=0.1)
    here = autopilot.position.copy()
    one.hold().wait(one)
    one.run(5.0)
    np.testing.assert_allclose(autopilot.position, here, atol=0.1)
    landing = one.time
    down = one.land()
    one.run(1.0)
    assert not down.done.any()
    down.wait(one)
    assert not autopilot.armed
    assert autopilot.on_ground
    one.run(2.0)
    modes = [command[2:] for command in autopilot.ear.commands(SET_MODE, since=landing)]
    assert set(modes) == {dialect.land}
    assert autopilot.ear.commands(ARM, since=landing) == []
    one.takeoff(height=1.0).wait(one)
    assert autopilot.position[2] == pytest.approx(START[2] + 1.0, abs=0.16)


def test_ardupilot_takes_off_no_higher_than_asked(fleet):
    """ArduPilot would rise to its usual 1.5 m, then come down."""
    one = fleet(ARDUPILOT_DIALECT)
    one.takeoff(height=0.8).wait(one)
    (autopilot,) = one.autopilots
    heights = [m.param7 for _, m in autopilot.ear.of("COMMAND_LONG") if m.command == TAKE_OFF]
    assert heights == pytest.approx([0.8] * len(heights))
    assert heights


def test_the_mode_of_a_vehicle_that_flies_is_left_alone(fleet, dialect):
    """A user or a failsafe that takes over would have to fight for the mode every second."""
    one = fleet(dialect)
    one.takeoff().wait(one)
    one.goto(above(3.0, 0.0, 2.0)).wait(one)
    (autopilot,) = one.autopilots
    since = one.time
    one.run(5.0)
    assert autopilot.ear.of("COMMAND_LONG", since=since) == []


def test_a_landing_is_broken_off(fleet, dialect):
    """The autopilot would stay in its landing mode, and land in spite of the next command."""
    one = fleet(dialect)
    one.takeoff(height=4.0).wait(one)
    down = one.land()
    one.run(2.0)
    (autopilot,) = one.autopilots
    assert autopilot.mode == dialect.land
    one.hold().wait(one)
    one.run(5.0)
    assert autopilot.mode == dialect.guided
    assert autopilot.position[2] > START[2] + 1.5
    with pytest.raises(ConfigError, match="land: was replaced by a later command"):
        down.wait(one)


def test_copies_follow_their_own_commands(fleet, dialect):
    """A command for one copy would move another, or a landed one end the flight of all."""
    one = fleet(dialect, count=3)
    one.autopilots[2].ready = 6.0
    up = one.takeoff()
    one.run(6.0)
    # Each takes off when it is ready.
    assert (one.state.position[:2, 2] > START[2] + 0.5).all()
    assert one.state.position[2, 2] == START[2]
    up.wait(one)
    one.goto(above(5.0, 0.0, 2.0), copies=0)
    one.land(copies=1).wait(one)
    one.run(5.0)
    first, second, third = one.autopilots
    np.testing.assert_allclose(first.position, above(5.0, 0.0, 2.0), atol=0.15)
    assert not second.armed
    np.testing.assert_allclose(third.position, above(0.0, 6.0, 1.5), atol=0.15)
    with pytest.raises(ConfigError, match="copy 1: is not in the air"):
        one.goto([0.0, 0.0, 3.0], copies=1)
    one.takeoff(height=1.0, copies=1).wait(one)
    np.testing.assert_allclose(second.position, above(0.0, 3.0, 1.0), atol=0.15)
    np.testing.assert_allclose(third.position, above(0.0, 6.0, 1.5), atol=0.15)
    one.land().wait(one)
    assert not any(a.armed for a in one.autopilots)


def test_attitudes_and_body_rates(fleet, dialect):
    """An axis would be turned over, a thrust be another one's, or a later point not be sent."""
    one = fleet(dialect, count=2)
    one.takeoff().wait(one)
    one.attitude(roll=0.3, pitch=-0.2, yaw=0.9, thrust=20.0, copies=1)
    one.step()
    first, second = one.autopilots
    since = one.time - DT
    ((_, sent),) = second.ear.of("SET_ATTITUDE_TARGET")
    assert second.ear.of("SET_POSITION_TARGET_LOCAL_NED", since) == []
    # Roll and pitch of the FRD body in NED: right side down, nose up; yaw clockwise from north.
    wxyz = np.array(sent.q)
    angles = Rotation.from_quat(np.roll(wxyz, -1)).as_euler("ZYX")
    np.testing.assert_allclose(angles, [math.pi / 2 - 0.9, 0.2, 0.3], atol=1e-6)
    assert sent.type_mask == 7
    assert sent.thrust == pytest.approx(20.0 * math.cos(0.3) * math.cos(0.2) / 40, abs=1e-6)
    one.run(1.0)
    assert len(second.ear.of("SET_ATTITUDE_TARGET")) == pytest.approx(20, abs=2)
    one.body_rates([1.0, 2.0, 3.0], copies=1)
    one.step()
    sent = second.ear.of("SET_ATTITUDE_TARGET")[-1][1]
    assert (sent.body_roll_rate, sent.body_pitch_rate, sent.body_yaw_rate) == (1.0, -2.0, -3.0)
    assert sent.type_mask == 128
    assert first.ear.of("SET_ATTITUDE_TARGET") == []
    with pytest.raises(ConfigError, match=r"thrust = 31.0: must be from 0 to 30 N"):
        one.body_rates([0.0, 0.0, 1.0], thrust=31.0)
    one.goto(above(1.0, 3.0, 2.0), copies=1).wait(one)
    np.testing.assert_allclose(second.position, above(1.0, 3.0, 2.0), atol=0.15)


def test_points_are_those_of_the_estimate(fleet, dialect):
    """A drift of the GPS would keep the vehicle from arriving, or one before the start move its points."""
    one = fleet(dialect)
    (autopilot,) = one.autopilots
    autopilot.drift[...] = [0.4, 0.0, 0.3]
    one.takeoff().wait(one)
    np.testing.assert_allclose(autopilot.position, above(0, 0, 1.5), atol=0.16)
    autopilot.drift += [0.5, 0.0, 0.0]
    target = above(2.0, 2.0, 2.0)
    one.goto(target).wait(one)
    np.testing.assert_allclose(autopilot.position, target - [0.5, 0.0, 0.0], atol=0.15)


def test_without_estimates(fleet, dialect):
    """An autopilot that sends no estimates would never be done."""
    one = fleet(dialect)
    one.estimated = False
    one.takeoff().wait(one)
    np.testing.assert_allclose(one.autopilots[0].position, above(0, 0, 1.5), atol=0.16)


def test_disarmed_in_flight(fleet, dialect):
    """A crashed vehicle would be armed again, or take commands."""
    one = fleet(dialect)
    one.takeoff().wait(one)
    (autopilot,) = one.autopilots
    autopilot.armed, since = False, one.time
    one.run(3.0)
    assert autopilot.ear.of("COMMAND_LONG", since=since + 0.1) == []
    with pytest.raises(ConfigError, match="is not in the air"):
        one.velocity([1.0, 0.0, 0.0])


def test_a_take_off_is_called_off(fleet, dialect):
    """The vehicle would take off after the user has ordered it to land."""
    one = fleet(dialect)
    up = one.takeoff()
    one.run(3.5)
    (autopilot,) = one.autopilots
    assert autopilot.armed
    one.land()
    one.run(5.0)
    assert not autopilot.armed
    assert autopilot.on_ground
    with pytest.raises(ConfigError, match="takeoff: was replaced by a later command"):
        up.wait(one)


def test_one_that_does_not_arm(fleet, dialect, caplog):
    """A wait would end without the autopilot's reason."""
    one = fleet(dialect, ready=math.inf)
    up = one.takeoff(height=2.0)
    one.run(0.5)
    one.autopilots[0].ear.say("Preflight Fail: Compass Sensor 0 missing")
    match = r"takeoff: vehicle, copy 0, is not done after 5 s, 2 m away: .*Compass Sensor 0 missing"
    with pytest.raises(TimeoutError, match=match):
        up.wait(one, timeout=5.0)
    one.run(dialect.patience)
    (record,) = caplog.records
    assert "A has not armed within" in record.getMessage()


@pytest.mark.parametrize("kind", [GuidedPX4, GuidedArduPilot])
def test_wrong_input(kind):
    """A trajectory would be ignored, or a command fail deep in the arithmetic."""
    with pytest.raises(ConfigError, match=r"trajectory = .*: is not allowed with commands: the commands"):
        kind(trajectory=[{"takeoff": {"height": 2.0}}])
    with pytest.raises(ConfigError, match=r"height = 0.0: must be above 0 m"):
        kind(height=0.0)
    with pytest.raises(ConfigError, match="vehicle: is not in the air"):
        kind().body_rates([0.0, 0.0, 1.0])
    with pytest.raises(ConfigError, match="yaw = 90: must be in radians"):
        kind().goto([1.0, 2.0, 3.0], yaw=90)


def test_one_without_a_vehicle():
    """A wait for an autopilot that is not in the simulation would fail inside."""
    with Simulation("flat") as simulation, pytest.raises(TimeoutError, match=r"is not done after 0.1 s"):
        GuidedPX4().takeoff().wait(simulation, timeout=0.1)


def test_no_commands_for_hardware():
    """A script without sight of the vehicle would arm a real flight controller."""
    with pytest.raises(ConfigError, match="connection = 'serial:/dev/ttyACM0:921600': is not allowed"):
        GuidedPX4(connection="serial:/dev/ttyACM0:921600")


@pytest.mark.parametrize("kind", [GuidedPX4, GuidedArduPilot])
def test_commands_after_a_run_are_for_the_next_one(kind):
    """A second flight could not be commanded before it begins."""
    backend = kind()
    backend.takeoff()
    with pytest.raises(ConfigError, match="has taken off already"):
        backend.takeoff()
    backend.stop()
    backend.takeoff()
