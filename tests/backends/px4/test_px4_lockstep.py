"""Tests of PX4 in lockstep: message times, the step at which answers are applied, and hardware links."""

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from px4_rig import Answerer, Recorder, call, controls, free_instance, iris, sensors

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import PX4
from pegasus.backends.mavlink.airframe import OutputMap
from pegasus.backends.mavlink.link import UdpLink
from pegasus.backends.px4.hil_instance import HilInstance
from pegasus.backends.px4.lockstep import HilLockstep
from pegasus.base.system import resource
from pegasus.dynamics import IdealMotor

pytestmark = pytest.mark.usefixtures("nothing_left")
IRIS = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())


def answer_of(imu):
    """Return the rotor speeds of the echo peer: 0.5 + rate / 40 forward, right and down."""
    return 653 * (0.5 + imu.angular_velocity * [1, -1, -1] / 40) + 65


@pytest.mark.parametrize(
    ("rate", "every", "count"), [(250.0, 1, 1), (250.0, 1, 3), (500.0, 1, 1), (250.0, 2, 1)]
)
def test_no_step_of_delay(px4, rate, every, count):
    """A command would be applied a step after its answer, a delay that PX4 is not tuned for."""
    recorder = Recorder()
    with Simulation(rate=rate, seed=4, observers=[recorder]) as simulation:
        vehicle = simulation.add(iris(px4(f"--controller echo --every {every}"), recorder, count=count))
        simulation.run(0.4)
        # A step in the state: from here on the vehicle rotates.
        high = np.add(vehicle.state.position, [0, 0, 50])
        vehicle.place(high, angular_velocity=(2.0, -3.0, 4.0))
        turned = simulation.step_count
        simulation.run(0.2)
    # The peer answers each `every`-th sample; soon after the start it is in lockstep.
    sampled = [k for k, imu in enumerate(recorder.imu) if imu is not None]
    answered = [k for n, k in enumerate(sampled) if n > 50 and (n + 1) % every == 0]
    assert len(answered) >= 90 // every
    for k in range(answered[0], len(recorder.imu)):
        if k in answered:
            np.testing.assert_allclose(recorder.command[k][:, :3], answer_of(recorder.imu[k]), atol=1e-3)
        else:
            np.testing.assert_array_equal(recorder.command[k], recorder.command[k - 1])
    first = min(k for k in answered if k >= turned)
    assert first - turned < every
    # A sample is the mean since the one before: at 500 Hz the vehicle turned half-way between two of 250 Hz.
    turning = np.array([2.0, 3.0, -4.0]) * min(1.0, 250.0 / rate)
    # Noise and bias of the gyroscope are some 0.01 rad/s.
    expected = 653 * (0.5 + turning / 40) + 65
    np.testing.assert_allclose(recorder.command[first][:, :3], [expected] * count, atol=2.0)


def test_samples_that_are_not_due_at_every_step(px4):
    """With an IMU rate that does not divide the physics rate, answers would be matched to wrong samples."""
    recorder = Recorder()
    with Simulation(rate=250.0, observers=[recorder]) as simulation:
        fitted = sensors()
        fitted["imu"].rate_hz = 100.0
        simulation.add(iris(px4("--controller echo"), recorder, sensors=fitted))
        simulation.run(1.0)
    pairs = [pair for pair in zip(recorder.command, recorder.imu, strict=True) if pair[1] is not None]
    assert len(pairs) == 100
    for command, imu in pairs[30:]:
        np.testing.assert_allclose(command[:, :3], answer_of(imu), atol=1e-3)


def test_all_compute_at_the_same_time(px4):
    """Five autopilots would be served one after the other and take five times as long as one."""
    first, pause, steps = free_instance(5), 0.02, 20
    options = f"--fault late@100-:{1000 * pause}"
    with Simulation() as simulation:
        for i in range(5):
            simulation.add(iris(px4(options, instance=first + i), position=(0.0, 5.0 * i, 0.1)))
        simulation.step(105)
        begin = time.monotonic()
        simulation.step(steps)
        took = time.monotonic() - begin
    assert steps * pause < took < 2.5 * steps * pause


def test_paced_until_the_answers_come(px4, monkeypatch):
    """A starting PX4 would be rushed through its start-up, or all later flight be slowed."""
    pace, ends, begin = HilLockstep._pace, [], []

    def paced(self, t):
        begin.append(time.monotonic())
        pace(self, t)
        if self._paced_at is not None:
            ends.append((t, time.monotonic()))

    monkeypatch.setattr(HilLockstep, "_pace", paced)
    with Simulation() as simulation:
        simulation.add(iris(px4("--silent 150")))
        simulation.run(0.7)
        assert len(ends) > 140
        assert all(wall - begin[0] >= t - ends[0][0] for t, wall in ends)
        begin.clear()
        simulation.run(10.0)
    assert begin == []


def half(message, _):
    """Answer like an armed PX4 that holds all outputs at one half."""
    return controls(message, *[0.5] * 16)


@pytest.fixture
def fly():
    """Return a function that runs an Iris for some time with an answerer; they are closed after the test."""

    def run(answer=half, duration=0.2, *, connect=call, model="iris", motor=None, **options):
        backend = PX4(launch=False, **options)
        answerer, recorder = Answerer(connect, answer), Recorder()
        with Simulation(seed=8, observers=[recorder]) as simulation:
            parts = [backend, answerer, recorder]
            simulation.add(Multirotor(model, backends=parts, sensors=sensors(), motor=motor))
            simulation.run(duration)
        answerer.number = backend.first_instance
        return answerer, recorder

    return run


def test_what_is_sent_when(fly):
    """PX4's clock would jump or begin in the past, or messages be repeated, late or missing.

    The first sample sets the clock; nothing else is sent before it.
    """
    answerer, _ = fly(duration=1.0)
    steps = list(range(1, 251))
    assert [m.time_usec for m in answerer.messages if m.msgname == "HIL_SENSOR"] == [4000 * k for k in steps]
    assert [m.time_usec for m in answerer.messages if m.msgname == "HIL_GPS"] == [
        4000 * k for k in steps[25::25]
    ]
    truth = [m.time_usec for m in answerer.messages if m.msgname == "HIL_STATE_QUATERNION"]
    assert truth == [4000 * k for k in steps if k % 5 == 0]
    # Magnetometer and barometer at 50 Hz, all others at every step.
    fields = [m.fields_updated for m in answerer.sensors]
    assert fields == [0x3F + (0x1BC0 if k % 5 == 1 else 0) for k in steps]


def test_frames(fly):
    """Two vehicles would have one system id, or PX4 would count lost messages where none are."""
    answerer, _ = fly(duration=1.2, instance=free_instance() + 3)
    frames, at = [], 0
    while at < len(answerer.frames):
        size = answerer.frames[at + 1] + 12
        frames.append(answerer.frames[at : at + size])
        at += size
    assert {frame[5] for frame in frames} == {answerer.number + 1}
    assert [frame[4] for frame in frames] == [k % 256 for k in range(len(frames))]
    assert len(frames) > 256


def test_each_copy_hears_of_itself():
    """All copies of a vehicle would get the position of one, or some get fewer messages."""
    answerers = [Answerer(lambda vehicle, i=i: call(vehicle, copy=i), half) for i in range(3)]
    with Simulation(seed=8) as simulation:
        vehicle = simulation.add(iris(PX4(launch=False), *answerers, count=3, spacing=100.0))
        simulation.run(0.2)
        latitude, longitude, _ = vehicle.environment.geodetic(vehicle.state.position)
    kinds = [[message.msgname for message in answerer.messages] for answerer in answerers]
    assert kinds[0] == kinds[1] == kinds[2]
    for i, answerer in enumerate(answerers):
        for kind in ("HIL_GPS", "HIL_STATE_QUATERNION"):
            last = [message for message in answerer.messages if message.msgname == kind][-1]
            assert last.lat / 1e7 == pytest.approx(latitude[i], abs=1e-5)
            assert last.lon / 1e7 == pytest.approx(longitude[i], abs=1e-5)
    assert len({answerer.sensors[-1].xacc for answerer in answerers}) == 3


def test_a_clock_for_each_that_comes():
    """A restarted PX4 would begin at the time of its predecessor, hours from zero."""
    before = []

    def answer(message, number):
        if number == 50 and not before:
            before.extend(answerer.messages)
            answerer.stop()
            answerer.bind(vehicle)
            return b""
        return half(message, number)

    answerer = Answerer(call, answer)
    with Simulation(seed=8) as simulation:
        vehicle = simulation.add(iris(PX4(launch=False), answerer))
        simulation.run(0.4)
    for messages in (before, answerer.messages):
        steps = list(range(1, 51))
        assert [m.time_usec for m in messages if m.msgname == "HIL_SENSOR"] == [4000 * k for k in steps]
        # No other message has a timestamp: each is sent before the sample of its instant.
        times = [m.time_usec for m in messages]
        assert times == sorted(times)
        assert {m.msgname for m in messages} == {"HIL_SENSOR", "HIL_GPS", "HIL_STATE_QUATERNION"}


def test_a_receiver_on_the_backend():
    """The sticks would not reach PX4, or be sent with every message and crowd a serial line."""
    backend, answerer = PX4(launch=False), Answerer(call, half)
    backend.rc_channels = [1500, 1600]
    with Simulation() as simulation:
        simulation.add(iris(backend, answerer))
        simulation.run(0.2)
        backend.rc_channels = [1500] * 19
        with pytest.raises(ConfigError, match=r"rc_channels = .*: must be at most 18, from 0 to 65534 us"):
            simulation.run(0.1)
    sent = [m for m in answerer.messages if m.msgname == "RC_CHANNELS"]
    assert [m.time_boot_ms for m in sent] == [20 * k for k in range(1, 11)]
    assert {(m.chan1_raw, m.chan2_raw, m.chan3_raw) for m in sent} == {(1500, 1600, 65535)}


def test_answers_that_become_more_frequent(fly):
    """A PX4 that answered every second sample at its start would stay a step late forever."""

    def hastening(message, number):
        return controls(message, number / 1000) if number % 2 == 0 or number > 40 else b""

    _, recorder = fly(hastening, 0.4)
    speeds = [command[0, 0] for command in recorder.command]
    np.testing.assert_allclose(speeds[42:], [65 + 0.653 * k for k in range(43, 101)], rtol=1e-6)


@pytest.mark.parametrize(
    ("outputs", "speeds"),
    [
        ((0.0, 0.25, 0.5, 1.0), (65, 228.25, 391.5, 718)),
        ((-0.5, 1.5, 1e30, -1e30), (65, 718, 718, 65)),
        ((np.nan, 0.5, np.inf, -np.inf), (0, 391.5, 0, 0)),
    ],
)
def test_outputs_become_speeds(fly, outputs, speeds):
    """Rotor speeds would differ from PX4's outputs, or one NaN output end the run for all."""
    _, recorder = fly(lambda message, _: controls(message, *outputs))
    np.testing.assert_allclose(recorder.command[-1], [speeds], rtol=1e-6)


def test_outputs_that_turn_rotors_backwards(fly):
    """Reversible rotors would only turn one way, or their offset have the wrong sign."""
    motor = IdealMotor(min_speed=-718.0, max_speed=718.0)
    outputs = (-1.0, -0.25, 0.0, 0.5)
    _, recorder = fly(lambda message, _: controls(message, *outputs), motor=motor)
    np.testing.assert_allclose(recorder.command[-1], [(-718, -228.25, 0, 391.5)], rtol=1e-6)


def test_each_rotor_has_its_output(fly):
    """A vehicle with another motor order, or different motors, would flip over."""
    wiring = {
        "channels": [15, 0, 2, 1],
        "scale": [1000.0, 900.0, 800.0, 700.0],
        "offset": [0.0, 10.0, 20.0, 30.0],
    }
    model = IRIS | {"px4": IRIS["px4"] | wiring}
    outputs = (0.1, 0.2, 0.3, *[0.9] * 12, 0.4)
    _, recorder = fly(lambda message, _: controls(message, *outputs), model=model)
    np.testing.assert_allclose(recorder.command[-1], [(400, 100, 260, 170)], rtol=1e-6)


def test_disarmed_rotors_rest(fly):
    """Rotors would turn while PX4 is disarmed, at least at their offset."""

    def disarming(message, number):
        return controls(message, 0.5, 0.5, 0.5, 0.5, mode=128 + 1 if number < 40 else 1)

    _, recorder = fly(disarming)
    speeds = np.array(recorder.command)[:, 0]
    assert (speeds[20:39] == 391.5).all()
    assert (speeds[39:] == 0).all()


def test_hardware_keeps_its_own_time(fly):
    """A flight controller, which has no lockstep, would be rushed, or its outputs be rejected."""

    def hardware(message, number):
        return controls(message._replace(time_usec=777_000_000 + number), number / 1000, mode=129, flags=0)

    begin = time.monotonic()
    _, recorder = fly(hardware, 0.8)
    took = time.monotonic() - begin
    assert took > 0.78
    speeds = np.array([command[0, 0] for command in recorder.command])
    np.testing.assert_allclose(speeds[10:], [65 + 0.653 * k for k in range(11, 201)], rtol=1e-6)


def test_hardware_that_stops(fly, caplog):
    """A flight controller that hangs would leave the rotors turning forever."""

    def hardware(message, number):
        return controls(message, 0.5, 0.5, 0.5, 0.5, flags=0) if number <= 50 else b""

    _, recorder = fly(hardware, 0.6, hold_time=0.2)
    speeds = np.array([command[0, 0] for command in recorder.command])
    assert (speeds[49:99] == 391.5).all()
    assert (speeds[101:] == 0).all()
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "no longer answers" in warnings[0]


def test_hardware_is_paced_without_drift(monkeypatch):
    """Each wait that takes too long would add up: the world of a flight controller would run 12 % slow.

    A wait of epoll ends at the next whole millisecond.
    """
    link, rotors = UdpLink("127.0.0.1", 9), OutputMap((), (), (), ())
    instance = HilInstance("PX4", link, rotors, system=1, hold_time=0.5)
    lockstep = HilLockstep([instance], step_timeout=1.0, start_timeout=60.0, note=lambda *_: None)
    began = now = time.monotonic()

    def wait(timeout):
        nonlocal now
        now += math.ceil(timeout * 1e3) * 1e-3

    monkeypatch.setattr(lockstep, "_listen", wait)
    monkeypatch.setattr("pegasus.backends.px4.lockstep.time", SimpleNamespace(monotonic=lambda: now))
    late = []
    for k in range(500):
        lockstep.collect(0.004 * k)
        late.append(now - began - 0.004 * k)
        # Half a millisecond of work is part of each step's 4 ms; one step includes a long interruption.
        now += 3.0 if k == 250 else 0.0005
    link.close()
    assert max(late[:251]) < 0.002
    # The time lost in it is not made up in a burst.
    assert 2.9 < min(late[252:]) <= max(late[252:]) < 3.01
