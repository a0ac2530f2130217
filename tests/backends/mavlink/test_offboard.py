"""Tests of offboard flight: set-points, commands, their times and their frames."""

import math

import numpy as np
import pytest
from offboard_rig import ARM, SET_MODE, TAKE_OFF, Ear
from scipy.spatial.transform import Rotation

from pegasus.backends.mavlink.autopilot_line import ARDUPILOT_DIALECT, PX4_DIALECT, Lines
from pegasus.backends.mavlink.local_axes import LocalAxes
from pegasus.backends.mavlink.offboard import OffboardPilot
from pegasus.contracts.state import VehicleState
from pegasus.control.trajectories import trajectory_from_spec

DT = 0.01
SQUARE = [{"takeoff": {"height": 5.0}}, {"square": {"side": 4.0, "height": 5.0, "speed": 2.0}}, {"land": {}}]
START = np.array([10.0, 20.0, 0.5])
HEADING = 0.3
# East, north, up to north, east, down: half a turn about the horizontal direction between north and east.
ENU_TO_NED = Rotation.from_rotvec(math.pi * np.array([1, 1, 0]) / math.sqrt(2))


class School:
    """An offboard pilot, autopilot ports, and vehicles that follow the set-points exactly."""

    def __init__(self, spec=SQUARE, *, dialect=PX4_DIALECT, count=1, axes=()):
        self.ears = [Ear() for _ in range(count)]
        self.systems = [3 + i for i in range(count)]
        self.names = [f"PX4 {2 + i}" for i in range(count)]
        links = [ear.link for ear in self.ears]
        self.pilot = OffboardPilot(
            trajectory_from_spec(spec), Lines(dialect, links, self.systems, self.names, axes=axes)
        )
        self.state = VehicleState.at_rest(count, 4)
        self.state.position[...] = START + np.arange(count)[:, None] * [0, 3, 0]
        self.state.rotation[...] = Rotation.from_rotvec([0, 0, HEADING]).as_matrix()
        self.present, self.armed = [True] * count, [False] * count
        self.step_count = 0
        self.references = {}

    @property
    def t(self):
        return self.step_count * DT

    def run(self, duration=math.inf, until=lambda: False):
        """Run for a time, or until a condition holds."""
        for _ in range(round(min(duration, 120.0) / DT)):
            if until():
                return
            self.pilot.update(self.t, self.state, present=self.present, armed=self.armed)
            reference = self.pilot.reference
            for ear in self.ears:
                ear.listen(self.t)
            self.references[self.t] = (
                reference.position.copy(),
                reference.velocity.copy(),
                reference.acceleration.copy(),
                reference.yaw.copy(),
            )
            flying = ~reference.idle
            self.state.velocity[...] = 0.0
            self.state.position[flying] = np.maximum(reference.position[flying], [-np.inf, -np.inf, START[2]])
            self.state.velocity[flying] = reference.velocity[flying]
            on_ground = self.state.position[:, 2] <= START[2]
            self.state.velocity[on_ground] = 0.0
            self.step_count += 1
        assert duration < math.inf, "not within the limit"

    def close(self):
        self.pilot.close()
        for ear in self.ears:
            ear.close()


@pytest.fixture
def school():
    """Return a function that makes a pilot with its vehicles; all are closed after the test."""
    made = []

    def make(*arguments, **options):
        made.append(School(*arguments, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def flown(one):
    """Fly the whole trajectory: arm at the third request, disarm two seconds after landing."""
    (ear,) = one.ears
    one.run(until=lambda: len(ear.commands(ARM)) == 3)
    armed = one.t
    one.armed = [True]
    one.run(until=lambda: ear.commands(SET_MODE)[-1][2:] == one.land)
    landing = one.t
    one.run(2.0)
    one.armed = [False]
    one.run(3.0)
    return ear, armed, landing


@pytest.fixture
def told(school):
    """Return the messages of a whole flight to PX4."""
    one = school()
    one.land = (4.0, 6.0)
    return one, *flown(one)


def test_it_is_asked_until_it_arms(told):
    """PX4 would be asked to arm only once, or without a pause."""
    _, ear, armed, _ = told
    asked = [t for t, *_ in ear.commands(ARM)]
    assert asked == pytest.approx([0.0, 1.0, 2.0])
    assert {command[1] for command in ear.commands(ARM)} == {1.0}
    # OFFBOARD is main mode 6; it is requested again after arming, as PX4 leaves it when it is disarmed.
    modes = ear.commands(SET_MODE)
    assert [command[1:] for command in modes[:3]] == [(1.0, 6.0, 0.0)] * 3
    assert all(mode[0] == pytest.approx(t) for mode, t in zip(modes, asked, strict=False))
    assert ear.commands(ARM, since=armed) == []


def test_who_speaks(told):
    """PX4 would not recognise a companion computer, or assume messages for another vehicle."""
    one, ear, *_ = told
    beats = [t for t, _ in ear.of("HEARTBEAT")]
    np.testing.assert_allclose(np.diff(beats), 1.0, atol=DT)
    assert {(m.type, m.autopilot) for _, m in ear.of("HEARTBEAT")} == {(18, 8)}
    for kind in ("COMMAND_LONG", "SET_POSITION_TARGET_LOCAL_NED"):
        assert {(m.target_system, m.target_component) for _, m in ear.of(kind)} == {(one.systems[0], 1)}


def test_set_points_never_cease(told):
    """PX4 does not enter its offboard mode without set-points, and leaves it after 0.5 s without one."""
    _, ear, *_ = told
    times = [t for t, _ in ear.of("SET_POSITION_TARGET_LOCAL_NED")]
    assert times[0] == 0.0
    # Each at the first step at or after its time.
    assert np.diff(times).min() > 0.05 - DT / 2
    assert np.diff(times).max() < 0.05 + 3 * DT / 2
    assert [m.time_boot_ms for _, m in ear.of("SET_POSITION_TARGET_LOCAL_NED")] == [
        round(t * 1e3) for t in times
    ]
    # All fields but the yaw rate are used, in the local NED frame.
    messages = [m for _, m in ear.of("SET_POSITION_TARGET_LOCAL_NED")]
    assert {(m.type_mask, m.coordinate_frame) for m in messages} == {(1 << 11, 1)}


def test_set_points_are_the_trajectory(told):
    """PX4 would fly mirrored, rotated, or about the world's origin instead of its start."""
    one, ear, armed, landing = told
    followed = [(t, m) for t, m in ear.of("SET_POSITION_TARGET_LOCAL_NED") if armed + 1.5 < t < landing]
    assert len(followed) > 200
    for t, m in followed:
        position, velocity, acceleration, yaw = (array[0] for array in one.references[t])
        np.testing.assert_allclose([m.x, m.y, m.z], ENU_TO_NED.apply(position - START), atol=1e-5)
        np.testing.assert_allclose([m.vx, m.vy, m.vz], ENU_TO_NED.apply(velocity), atol=1e-5)
        np.testing.assert_allclose([m.afx, m.afy, m.afz], ENU_TO_NED.apply(acceleration), atol=1e-5)
        north, east, _ = ENU_TO_NED.apply([math.cos(yaw), math.sin(yaw), 0.0])
        assert [math.cos(m.yaw), math.sin(m.yaw)] == pytest.approx([north, east], abs=1e-6)
    path = np.array([(m.x, m.y, m.z) for _, m in followed])
    # Heights of a trajectory are above the world's ground.
    assert path[:, 2].min() == pytest.approx(-(5.0 - START[2]), abs=1e-3)
    assert np.ptp(path[:, 0]) == pytest.approx(4.0, abs=1e-3)
    assert np.ptp(path[:, 1]) == pytest.approx(4.0, abs=1e-3)


def test_set_points_have_the_axes_of_the_autopilot(school):
    """PX4 would fly a course that is turned, where true north is not y."""
    one = school(axes=[LocalAxes(math.cos(0.2), math.sin(0.2))])
    one.land = (4.0, 6.0)
    ear, armed, landing = flown(one)
    north_is_left = Rotation.from_euler("z", -0.2)
    followed = [(t, m) for t, m in ear.of("SET_POSITION_TARGET_LOCAL_NED") if armed + 1.5 < t < landing]
    for t, m in followed:
        vectors = [array[0] for array in one.references[t][:3]]
        vectors[0] = vectors[0] - START
        sent = [m.x, m.y, m.z], [m.vx, m.vy, m.vz], [m.afx, m.afy, m.afz]
        for vector, numbers in zip(vectors, sent, strict=True):
            np.testing.assert_allclose(numbers, ENU_TO_NED.apply(north_is_left.apply(vector)), atol=1e-5)
        yaw = one.references[t][3][0]
        assert math.cos(m.yaw - (math.pi / 2 - yaw + 0.2)) == pytest.approx(1.0, abs=1e-9)
    assert max(abs(m.vy) for _, m in followed) > 1.0


def test_it_stays_where_it_is_until_it_flies(told):
    """PX4 would be sent up, or turned, as soon as it is armed."""
    _, ear, armed, _ = told
    waiting = [m for t, m in ear.of("SET_POSITION_TARGET_LOCAL_NED") if t <= armed]
    assert len(waiting) == pytest.approx(armed / 0.05, abs=2)
    for m in waiting:
        assert [m.x, m.y, m.z, m.vx, m.vy, m.vz] == pytest.approx([0.0] * 6, abs=1e-6)
        assert m.yaw == pytest.approx(math.pi / 2 - HEADING)


def test_it_lands_by_itself(told):
    """PX4 would get no command to land, or get it again on the ground."""
    one, ear, _, landing = told
    modes = [(t, parameters) for t, *parameters in ear.commands(SET_MODE, since=landing - DT)]
    # AUTO is main mode 4, LAND sub mode 6; repeated each second until it disarms, then no more.
    assert [parameters for _, parameters in modes] == [[1.0, 4.0, 6.0]] * len(modes)
    assert [t - landing for t, _ in modes] == pytest.approx([-DT, 1 - DT, 2 - DT], abs=DT)
    assert one.pilot.reference.idle.all()


def test_disarmed_in_flight(school):
    """A crashed vehicle, or one disarmed by its pilot, would be armed again."""
    one = school()
    one.armed = [True]
    one.run(5.0)
    assert one.state.position[0, 2] > 2.0
    one.armed = [False]
    one.run(5.0)
    (ear,) = one.ears
    assert ear.commands(ARM, since=5.0) == []
    assert ear.commands(SET_MODE, since=5.0) == []
    assert one.pilot.reference.idle.all()


def test_nobody_there(school):
    """A late autopilot would miss its start, or be flown from a wrong position."""
    one = school()
    one.present = [False]
    one.run(2.5)
    (ear,) = one.ears
    assert ear.heard == []
    one.state.position[...] += [1.0, 2.0, 0.0]
    one.present = [True]
    one.run(0.5)
    assert ear.of("HEARTBEAT")[0][0] == pytest.approx(2.5)
    first = ear.of("SET_POSITION_TARGET_LOCAL_NED")[0][1]
    assert [first.x, first.y, first.z] == [0.0, 0.0, 0.0]


def test_a_port_that_opens_late(school):
    """An autopilot that does not listen yet would end the run, or never get messages."""
    one = school()
    (ear,) = one.ears
    ear.deaf = True
    one.run(1.5)
    ear.deaf = False
    one.run(1.0)
    assert ear.of("HEARTBEAT")[0][0] == pytest.approx(2.0)


def test_one_that_does_not_arm_is_reported_once_with_what_it_says(school, caplog):
    """No message would explain why a vehicle does not arm."""
    one = school()
    one.run(1.5)
    one.ears[0].say("Preflight Fail: Compass Sensor 0 missing")
    one.ears[0].say("logging started", severity=6)
    one.run(18.0)
    assert caplog.records == []
    one.run(10.0)
    assert [record.getMessage() for record in caplog.records] == [
        "PX4 2 has not armed within 20 s: Preflight Fail: Compass Sensor 0 missing"
    ]


def test_one_that_has_landed_is_not_reported(school, caplog):
    """Every flight would end with a warning that the vehicle does not arm."""
    one = school([{"takeoff": {"height": 2.0}}, {"land": {}}])
    one.run(1.0)
    one.armed = [True]
    one.run(15.0)
    one.armed = [False]
    one.run(30.0)
    assert caplog.records == []


def test_each_its_own(school):
    """Two vehicles would fly to the same point, or get each other's messages."""
    one = school(count=2)
    one.armed = [True, False]
    one.run(6.0)
    first, second = one.ears
    for ear, system in zip(one.ears, one.systems, strict=True):
        assert {m.target_system for _, m in ear.of("SET_POSITION_TARGET_LOCAL_NED")} == {system}
    assert first.of("SET_POSITION_TARGET_LOCAL_NED")[-1][1].z < -2.0
    assert second.of("SET_POSITION_TARGET_LOCAL_NED")[-1][1].z == 0.0
    assert first.commands(ARM) == []
    assert len(second.commands(ARM)) == 6
    assert one.pilot.reference.idle.tolist() == [False, True]


def test_each_flies_from_its_own_place(school):
    """Autopilots on a slope would climb from and land at the height of the first one."""
    one = school([{"takeoff": {"height": 5.0}}, {"land": {}}], count=3)
    starts = START + np.arange(3)[:, None] * [0.0, 3.0, 0.8]
    one.state.position[...] = starts
    one.armed = [True] * 3
    one.run(1.5)
    one.run(until=lambda: all(ear.commands(SET_MODE)[-1][2:] == (4.0, 6.0) for ear in one.ears))
    flight = np.array([position for position, *_ in one.references.values()])
    for k, path in enumerate(np.moveaxis(flight, 1, 0)):
        flying = path[np.abs(path).max(axis=1) > 0.0]
        np.testing.assert_allclose(flying[[0, -1]], [starts[k]] * 2, atol=0.02)
        assert flying[:, 2].max() == pytest.approx(5.0, abs=1e-6)


def test_ardupilot_takes_off_first(school):
    """ArduPilot, which ignores set-points on the ground, would wait there until it disarms."""
    one = school(dialect=ARDUPILOT_DIALECT)
    (ear,) = one.ears
    one.run(1.5)
    # GUIDED is mode 4 of ArduCopter.
    assert [command[1:] for command in ear.commands(SET_MODE)] == [(1.0, 4.0, 0.0)] * 2
    assert len(ear.commands(ARM)) == 2
    assert ear.commands(TAKE_OFF) == []
    one.armed = [True]
    one.run(2.0)
    heights = {m.param7 for _, m in ear.of("COMMAND_LONG") if m.command == TAKE_OFF}
    assert len(heights) == 1
    assert ear.of("SET_POSITION_TARGET_LOCAL_NED") == []
    one.state.position[:, 2] = START[2] + heights.pop()
    before = one.t
    one.run(1.5)
    assert ear.of("SET_POSITION_TARGET_LOCAL_NED")[0][0] == pytest.approx(before, abs=0.06)
    assert ear.commands(TAKE_OFF, since=before + 0.1) == []
    one.run(until=lambda: ear.commands(SET_MODE)[-1][2:] == (9.0, 0.0))
