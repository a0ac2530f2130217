"""Tests of PX4 faults: the run and the other vehicles continue, and no process or file remains.

Two vehicles fly, and the PX4 of one has a fault. The other vehicle must fly bit for bit as without the fault;
so must the first one if the fault is within the tolerances of a link.
"""

import logging
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest
from px4_rig import (
    Answerer,
    Elsewhere,
    PX4Tree,
    Recorder,
    call,
    controls,
    distance,
    fly_until,
    free_instance,
    iris,
    phases,
)

from pegasus import Simulation
from pegasus.backends import PX4
from pegasus.backends.px4.hil_instance import Phase
from tests import waits

pytestmark = pytest.mark.usefixtures("nothing_left")
MISSION = "--mission hover --ready 0.5 --height 1"
AT, END = 2.0, 3.2
"""When it goes wrong, and when the flight is over [s]."""
LIMIT, HOLD = 0.2, 0.3
"""How long an answer is waited for [s] of wall time, and how long rotors go on [s] of simulated time."""
PATIENCE = 5.0
"""How long an answer is waited for where nothing is wrong [s]."""
SLACK = 1.0
"""How much longer than its limit a step may take on a machine that does other things as well [s]."""


class Flight(NamedTuple):
    """Result of a flight of two vehicles."""

    sick: Recorder
    sound: Recorder
    phase: Phase
    armed: bool
    paced: bool
    """Whether the simulation is held at real time for it."""
    longest_step: float
    warnings: list[str]
    said: dict[str, float]
    """When its PX4 came to each phase, by its own clock [s]."""


def flight(tree, options="", *, end=END, back=False, limited=(AT - 0.02, AT + 0.3), **arguments):
    """Fly two vehicles, the first with the given options of its peer; on request, until it is back.

    The short limit of the tests for its answers holds only between two times [s]. At all others the limit is
    long, so that a busy machine causes no fault. That of its start holds once both are connected.
    """
    first = free_instance(2)
    tree.say(MISSION)
    tree.say(f"{MISSION} {options}", instance=first)
    limit, patience = arguments.pop("step_timeout", LIMIT), arguments.pop("start_timeout", PX4.start_timeout)
    arguments = {"hold_time": HOLD} | arguments
    backends = [
        PX4(tree.folder, instance=first, step_timeout=PATIENCE, **arguments),
        PX4(tree.folder, instance=first + 1, step_timeout=PATIENCE),
    ]
    for backend in backends:
        backend.run_folder = tree.folder / "run"
    recorders = [Recorder() for _ in backends]
    longest = 0.0
    with Simulation(seed=9, observers=recorders) as simulation:
        for i, pair in enumerate(zip(backends, recorders, strict=True)):
            simulation.add(iris(*pair, position=(0.0, 5.0 * i, 0.1)))
        simulation.step()
        backends[0]._lockstep._start_timeout = patience
        simulation.step(19)
        while simulation.time < end:
            is_limited = limited[0] <= simulation.time < limited[1]
            backends[0]._lockstep._step_timeout = limit if is_limited else PATIENCE
            begin = time.monotonic()
            simulation.step()
            if is_limited:
                longest = max(longest, time.monotonic() - begin)
        instance, deadline = backends[0]._instances[0], time.monotonic() + waits.LIMIT
        # Wall-clock delays of the peer may cover more simulated time than the others' flight has.
        while back and instance.phase is not Phase.LOCKSTEP and time.monotonic() < deadline:
            simulation.step()
        simulation.step(250 if back else 1)
        assert backends[1]._instances[0].phase is Phase.LOCKSTEP
        said = phases(tree.folder / "run" / f"px4_{first}.log")
        paced = backends[0]._lockstep._paced_at is not None
        return Flight(*recorders, instance.phase, instance.armed, paced, longest, [], said)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """Return a flight without faults."""
    folder = tmp_path_factory.mktemp("healthy")
    flown = flight(PX4Tree(folder / "PX4-Autopilot"), end=5.0)
    # The comparison is meaningful only if they fly, and hover at the end.
    for recorder in (flown.sick, flown.sound):
        above = np.add(recorder.between(0.9, 1.0)[-1], [0, 0, 1.0])
        assert distance(recorder.between(4.0, 5.0), above).max() < 0.2
        assert recorder.between(AT, AT + 0.1)[0, 0, 2] > 0.5
    return flown


@pytest.fixture
def fly(tree, caplog, healthy):
    """Return a function that flies with a fault and checks the rules that hold for all faults."""

    def run(options="", **arguments):
        flown = flight(tree, options, **arguments)
        steps = min(len(healthy.sound.position), len(flown.sound.position))
        np.testing.assert_array_equal(flown.sound.position[:steps], healthy.sound.position[:steps])
        assert flown.longest_step < LIMIT + SLACK
        assert flown.sick.t == flown.sound.t
        warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
        return flown._replace(warnings=warnings)

    return run


FIRST_BAD_STEP = round(AT * 250) - 1
"""The first step that is not answered as it should be: the clock of PX4 is a step ahead."""


def check_rotors_ran_out(flown):
    """Assert that the rotors held the last command for the time limit, then stopped."""
    commands = np.array(flown.sick.command)[:, 0]
    bad, hold = FIRST_BAD_STEP, round(HOLD * 250)
    assert (commands[bad - 1] > 300).all()
    np.testing.assert_array_equal(commands[bad : bad + hold - 1], np.tile(commands[bad - 1], (hold - 1, 1)))
    assert (commands[bad + hold + 2 :] == 0).all()
    assert not flown.armed


def test_what_a_link_may_do(fly, healthy):
    """An answer that is late, repeated, split or surrounded by other bytes would change the flight."""
    faults = [
        "stale-first@2.0s-2.1s:2",
        "double@2.2s-2.3s",
        "garbage@2.4s-2.5s:100",
        "garbage@2.6s:1000000",
        "split@2.7s:100",
        "late@2.8s:100",
        "freeze@2.9s:100",
        *("stale-first@3.0s-3.1s:20", "double@3.0s-3.1s", "garbage@3.0s-3.1s"),
    ]
    flown = fly(" ".join(f"--fault {fault}" for fault in faults), step_timeout=5.0)
    assert flown.warnings == []
    steps = len(flown.sick.position)
    differs = (np.array(flown.sick.position) != healthy.sick.position[:steps]).any(axis=(1, 2))
    assert not differs.any(), f"first at {flown.sick.t[int(differs.argmax())]} s of {faults}"


@pytest.mark.parametrize(
    ("fault", "warnings"),
    [
        (f"silence@{AT}s-", ["has not answered within 0.2 s"]),
        (f"freeze@{AT}s", ["has not answered within 0.2 s"]),
        (f"close@{AT}s", ["is gone"]),
        (f"truncate@{AT}s", ["is gone"]),
        (f"exit@{AT}s:3", ["is gone", "has ended with status 3; its last words: "]),
        (f"kill@{AT}s", ["is gone", "was killed by SIGKILL; its last words: "]),
    ],
)
def test_an_autopilot_that_is_lost(fly, fault, warnings):
    """The run would end or hang, the rotors turn forever, or no message name the cause."""
    flown = fly(f"--fault {fault}")
    check_rotors_ran_out(flown)
    assert len(flown.warnings) == len(warnings)
    for said, expected in zip(flown.warnings, warnings, strict=True):
        assert expected in said
        assert "PX4" in said


@pytest.mark.parametrize(
    "fault",
    [
        f"silence@{AT}s-2.1s",
        f"late@{AT}s:300",
        f"freeze@{AT}s:400",
        f"stale@{AT}s-2.1s",
    ],
)
def test_an_autopilot_that_comes_back(fly, fault):
    """An autopilot that is silent for a moment would be dropped for good."""
    flown = fly(f"--fault {fault}", end=3.0, back=True, start_timeout=0.5)
    assert flown.phase is Phase.LOCKSTEP
    assert flown.armed
    assert 1 <= len(flown.warnings) <= 2
    assert all("has not answered within 0.2 s" in said for said in flown.warnings)
    # From then on it is answered in the same step: its rotors follow every sample.
    commands = np.array(flown.sick.command)[-50:, 0]
    assert (np.abs(np.diff(commands, axis=0)).max(axis=1) > 0).all()


def test_an_autopilot_that_is_always_a_message_behind(fly):
    """A constant delay of one message would cause a time-out and a warning every few steps."""
    flown = fly(f"--fault stale@{AT}s-", end=3.0, limited=(AT, np.inf))
    # In 250 messages, with the time limit doubled at each miss.
    assert 1 <= len(flown.warnings) <= 6
    # It flies, though less accurately.
    assert flown.sick.position[-1][0, 2] == pytest.approx(1.1, abs=0.4)


def test_outputs_that_are_no_numbers(fly):
    """One NaN output would end the run of all vehicles."""
    flown = fly(f"--fault nan@{AT}s-2.02s", end=4.0)
    assert flown.warnings == []
    commands = np.array(flown.sick.command)[:, 0]
    bad = FIRST_BAD_STEP
    assert (commands[bad : bad + 5] == 0).all()
    assert (commands[bad + 7 :] > 0).all()
    assert flown.sick.position[-1][0, 2] == pytest.approx(1.1, abs=0.4)


@pytest.mark.parametrize("every", [2, 4])
def test_answers_to_every_nth_sample(fly, every):
    """A PX4 that answers only every Nth sample would cause time-outs, or never be awaited."""
    flown = fly(f"--every {every}", end=4.8)
    assert flown.warnings == []
    assert flown.phase is Phase.LOCKSTEP
    commands = np.array(flown.sick.command)[-601:, 0]
    changed = np.abs(np.diff(commands, axis=0)).max(axis=1) > 0
    # One change in so many steps, always at the same phase: no step is late.
    assert changed.reshape(-1, every).sum(axis=0).tolist().count(len(changed) // every) == 1
    assert changed.sum() == len(changed) // every
    assert flown.sick.position[-1][0, 2] == pytest.approx(1.1, abs=0.3)


def test_an_autopilot_that_is_started_again(fly):
    """A restarted PX4 would get a clock that does not begin at zero, or the former outputs be used."""
    flown = fly(f"--silent 120 --fault close@{AT}s:50", end=5.0, back=True)
    assert len(flown.warnings) == 1
    assert "is gone" in flown.warnings[0]
    assert flown.phase is Phase.LOCKSTEP
    commands = np.array(flown.sick.command)[:, 0]
    # The new one takes longer to answer than the rotors keep running.
    rest = np.flatnonzero((commands[FIRST_BAD_STEP:] == 0).all(axis=1))
    assert rest[0] == pytest.approx(HOLD * 250, abs=2)
    # It arms half a second after it connects, or as soon as the vehicle is at rest: it falls from 1.1 m, and
    # rocks on its skids for a second.
    assert 0.5 < flown.said["ARMED"] < 2.5
    assert flown.armed
    assert (commands[-50:] > 0).all()


def test_an_autopilot_that_never_answers(fly, tree):
    """An autopilot that never gets ready would hold all others at real time forever."""
    # It is paced for as long as its start may take.
    assert flight(tree, "--silent 1000000", end=0.6, start_timeout=60.0).paced
    flown = fly("--silent 1000000", start_timeout=0.5)
    assert not flown.paced
    assert flown.phase is Phase.SILENT
    assert len(flown.warnings) == 1
    assert "has not answered within 0.5 s" in flown.warnings[0]
    assert (np.array(flown.sick.command) == 0).all()


def test_an_autopilot_that_does_not_want_to_end(tree):
    """A run would hang at its end, or leave a PX4 process."""
    tree.say("--ignore-term --linger")
    begin = None
    with Simulation() as simulation:
        simulation.add(iris(PX4(tree.folder), count=3))
        simulation.run(0.1)
        begin = time.monotonic()
    # All share the same two seconds, instead of waiting one after the other.
    assert time.monotonic() - begin < 4.0


def test_a_link_that_is_flooded(caplog):
    """An endless stream of bytes would keep the simulation reading forever."""
    flood = []

    def answer(message, number):
        if number < 100:
            return controls(message, 0.5, 0.5, 0.5, 0.5)
        if not flood:
            flood.append(threading.Thread(target=pour, args=(answerer._link,)))
            flood[0].start()
        return b""

    def pour(link):
        try:
            while True:
                link.sendall(bytes(65536))
        except OSError:
            return

    backend = PX4(launch=False, step_timeout=LIMIT, hold_time=HOLD)
    answerer = Answerer(call, answer)
    with Simulation() as simulation:
        simulation.add(iris(backend, answerer))
        simulation.step(99)
        begin = time.monotonic()
        simulation.step(3)
        assert LIMIT < time.monotonic() - begin < LIMIT + SLACK
        # Its bytes are read until the link is given up; that takes some time, but does not stop the others.
        simulation.step(20)
        assert time.monotonic() - begin < 2 * SLACK
    flood[0].join()
    assert [r.getMessage() for r in caplog.records if "has not answered" in r.getMessage()]


def test_restart_of_a_px4_that_was_started_elsewhere(tmp_path, caplog):
    """A restart of PX4 by hand would require a restart of the simulation."""
    number = free_instance()
    options = ("--mission", "hover", "--ready", "0.5", "--height", "1")
    backend = PX4(launch=False, instance=number, step_timeout=LIMIT, hold_time=HOLD)
    with Simulation(seed=10) as simulation:
        vehicle = simulation.add(iris(backend))
        with Elsewhere(tmp_path, number, *options) as process:
            fly_until(simulation, lambda: vehicle.state.position[0, 2] > 0.5)
            process.kill()
            fly_until(simulation, lambda: not backend.armed[0])
        simulation.run(3.0)
        assert vehicle.state.position[0, 2] < 0.3
        with Elsewhere(tmp_path, number, *options):
            # While it is not connected the simulation runs at full speed: wait by wall time.
            deadline = time.monotonic() + waits.LIMIT
            while backend._instances[0].phase is Phase.ABSENT and time.monotonic() < deadline:
                simulation.step()
            fly_until(simulation, lambda: vehicle.state.position[0, 2] > 0.5)
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "is gone" in warnings[0]


def test_one_that_came_while_the_simulation_was_busy():
    """A simulation that compiles its step for a minute would then report that PX4 has not connected."""
    peer = Answerer(call, lambda message, _: controls(message, 0.5, 0.5, 0.5, 0.5))
    with Simulation() as simulation:
        simulation.add(iris(PX4(launch=False, start_timeout=0.05), peer))
        simulation.play()
        time.sleep(0.1)
        simulation.step(3)
    assert len(peer.sensors) == 3
