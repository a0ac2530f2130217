"""Tests of the panel through a user's steps, without a window."""

import gc
import logging
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from panel_rig import last_error

from pegasus.core.simulation import Playback
from pegasus.panel import Panel, Topic
from pegasus.panel.board import Board
from pegasus.session import Session
from tests.waits import LIMIT, wait_until


def test_no_toolkit():
    """The panel would not open where no browser panel is installed, or inside Isaac Sim."""
    code = (
        "import pegasus.panel, sys; print([m for m in ('viser', 'omni', 'matplotlib') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_from_the_world_to_the_landing(panel):
    """One of the steps from loading a world to landing would not work."""
    assert panel.world.loaded is None
    assert panel.world.choose("flat")
    assert panel.world.load()
    assert panel.world.loaded == "flat"
    assert panel.vehicle.choose("iris")
    assert panel.vehicle.add()
    assert [v.name for v in panel.snapshot.vehicles] == ["iris"]
    assert panel.simulation.set_speed("max")
    assert panel.simulation.play()
    wait_until(lambda: panel.telemetry.position[2] > 1.0, "the climb")
    assert panel.simulation.pause()
    assert panel.snapshot.playback is Playback.PAUSED
    paused_at = panel.snapshot.time
    assert panel.simulation.step(5)
    assert panel.snapshot.time == pytest.approx(paused_at + 5 / 250)
    assert panel.simulation.play()
    wait_until(lambda: panel.snapshot.time > 8.0, "the hover")
    assert panel.pilot.land()
    wait_until(lambda: panel.telemetry.segment == "landed", "the landing")
    assert panel.simulation.reset()
    assert panel.snapshot.time < 8.0
    assert panel.simulation.stop()
    assert panel.snapshot.time == 0.0
    assert panel.vehicle.remove("iris")
    assert panel.snapshot.vehicles == ()
    assert panel.world.clear()
    assert panel.world.loaded is None
    assert not any(message.error for message in panel.messages)


@pytest.mark.parametrize(
    "act",
    [
        lambda panel: panel.vehicle.add(),
        lambda panel: panel.vehicle.remove("iris"),
        lambda panel: panel.vehicle.place((0, 0, 5), (0, 0, -1)),
        lambda panel: panel.simulation.play(),
        lambda panel: panel.simulation.step(),
        lambda panel: panel.simulation.set_wind(1, 0),
        lambda panel: panel.pilot.hover(),
    ],
)
def test_before_a_world_is_loaded(panel, act):
    """A button that needs a world would show no message, or stop working for good."""
    assert act(panel) is False
    assert last_error(panel) == "world: no world is loaded; load one first"


def test_closing_leaves_the_world(flat, session):
    """Closing the panel would close the world, or a closed panel would still receive events."""
    assert flat.vehicle.add()
    assert flat.simulation.play()
    told = []
    flat.subscribe(told.append)
    flat.close()
    count = len(told)
    assert session.snapshot.world == "flat"
    assert session.snapshot.playback is Playback.PLAYING
    before = session.snapshot.time
    wait_until(lambda: session.snapshot.time > before + 0.1, "time to go on")
    session.pause()
    assert len(told) == count
    again = Panel(session)
    assert [v.name for v in again.snapshot.vehicles] == ["iris"]
    again.close()


@pytest.mark.usefixtures("config")
def test_nothing_is_left_of_closed_panels(session):
    """Each closed panel would stay in memory and slow the simulation down."""
    kept = []
    for _ in range(5):
        panel = Panel(session)
        kept.append(weakref.ref(panel))
        panel.close()
        del panel
    session.set_speed(2.0)
    gc.collect()
    assert [reference() for reference in kept] == [None] * 5


def test_listeners(flat):
    """A listener would get no events, get them after leaving, or block others by its error."""
    told = []

    def fault(topic):
        raise ValueError(topic)

    leave_fault = flat.subscribe(fault)
    leave = flat.subscribe(told.append)
    flat.view.draw(axes=True)
    assert Topic.VIEW in told
    flat.world.set_origin(91, 0, 0)
    assert {Topic.WORLD, Topic.MESSAGES} <= set(told)
    flat.vehicle.add()
    assert Topic.VEHICLES in told
    flat.backend.set_launch(False)
    assert Topic.BACKEND in told
    flat.view.screenshot()
    assert Topic.SCREENSHOT in told
    told.clear()
    flat.session.play()
    wait_until(lambda: Topic.SIMULATION in told, "word of what somebody else has started")
    leave()
    leave_fault()
    flat.simulation.pause()
    wait_until(lambda: flat.snapshot.playback is Playback.PAUSED, "the pause")
    told.clear()
    flat.view.draw(axes=False)
    assert told == []


def test_what_is_going_on(panel):
    """The page would not show that the world is loading, or show it forever."""
    seen = []
    panel.subscribe(lambda _: seen.append(panel.busy))
    panel.world.choose("flat")
    panel.world.load()
    assert "loading the world" in seen
    assert panel.busy == ""
    panel.world.load_scenario("none")
    assert panel.busy == ""


def test_faults_of_the_program_are_shown(caplog):
    """An internal error would vanish, or break the page."""
    board = Board()
    error = KeyError("x")
    error.add_note("a note")
    board.fail(error)
    assert board.messages[-1].text == "KeyError; the terminal shows details; a note"
    assert board.messages[-1].error
    assert "an action of the panel has failed" in caplog.text


def test_warnings_are_messages(panel):
    """The end of an autopilot would be told in the terminal alone, which a user of the page does not see."""
    log = logging.getLogger("pegasus.backends.px4.lockstep")
    log.warning("PX4 %d: was killed by %s", 0, "SIGKILL")
    assert (panel.messages[-1].text, panel.messages[-1].error) == ("PX4 0: was killed by SIGKILL", False)
    log.error("two\nlines")
    assert (panel.messages[-1].text, panel.messages[-1].error) == ("two lines", True)
    panel.close()
    log.warning("after the end")
    assert panel.messages[-1].text == "two lines"


def test_messages_are_limited():
    """Messages would fill the memory of a panel that is open for weeks."""
    board = Board()
    for k in range(1000):
        board.report(str(k))
    assert len(board.messages) == 200
    assert board.messages[-1].text == "999"
    assert len({message.number for message in board.messages}) == 200


def test_failed_run_is_shown(flat):
    """A run that fails would stop without a message, or with a second one that says nothing."""
    flat.vehicle.add()

    def broken(*step):
        raise RuntimeError(f"step {step} fails")

    flat.session.call(lambda s: setattr(s.vehicles, "actuate", broken))
    flat.simulation.play()
    wait_until(lambda: flat.messages[-1].error, "the message")
    wait_until(lambda: flat.snapshot.playback is Playback.STOPPED, "the stop")
    assert [message.text for message in flat.messages if message.error] == ["step (0.0, 0.004) fails"]


def test_several_users(flat):
    """Two browsers that act at the same time would deadlock or corrupt the panel."""
    flat.subscribe(lambda _: (flat.messages, flat.snapshot, flat.telemetry))
    flat.simulation.play()

    def first():
        for k in range(6):
            flat.vehicle.set_position(3 * k, 0, 1)
            flat.vehicle.add()

    def second():
        for k in range(30):
            flat.simulation.pause() if k % 2 else flat.simulation.play()
            flat.view.draw(trails=bool(k % 2))

    def third():
        for k in range(30):
            flat.simulation.set_wind(k, 0)
            flat.history.columns()

    users = [threading.Thread(target=use) for use in (first, second, third)]
    for user in users:
        user.start()
    for user in users:
        user.join(timeout=LIMIT)
        assert not user.is_alive()
    assert len(flat.snapshot.vehicles) == 6
    assert not any(message.error for message in flat.messages)


def test_loading_does_not_hold_up_others(flat, monkeypatch):
    """While one user loads a large world, another could not pause the present one."""
    entered, go_on = threading.Event(), threading.Event()

    def slow(spec, **options):
        entered.set()
        assert go_on.wait(20)
        raise MemoryError(f"{spec.name} at {options['rate']:g} Hz is too large")

    monkeypatch.setattr("pegasus.panel.world_part.Simulation", slow)
    loader = threading.Thread(target=flat.world.load)
    loader.start()
    assert entered.wait(20)
    assert flat.simulation.play()
    assert flat.simulation.pause()
    go_on.set()
    loader.join(timeout=LIMIT)
    assert last_error(flat) == "MemoryError; the terminal shows details"
    assert flat.world.loaded == "flat"


def test_closed_session(panel, session):
    """An action on a closed session would wait forever."""
    session.close()
    assert panel.simulation.play() is False
    assert last_error(panel) == "this session is closed; make a new one"


def test_history(flat):
    """The plots would mix two vehicles or two runs, or differ from the simulation."""
    flat.vehicle.add()
    flat.simulation.play()
    wait_until(lambda: len(flat.history.columns()["time"]) > 5, "samples")
    flat.simulation.pause()
    columns = flat.history.columns()
    assert (np.diff(columns["time"]) > 0).all()
    assert columns["z"][-1] == flat.snapshot.vehicles[0].position[0, 2]
    assert columns["reference_z"][-1] == flat.snapshot.vehicles[0].reference_position[0, 2]
    assert len({len(column) for column in columns.values()}) == 1
    flat.simulation.stop()
    assert flat.history.columns()["time"].tolist() == [0.0]
    flat.vehicle.add()
    flat.view.follow("iris1")
    flat.simulation.step()
    # The panel may have looked between the choice of the vehicle and the step.
    assert flat.history.columns()["time"].tolist() in ([1 / 250], [0.0, 1 / 250])


@pytest.mark.usefixtures("config")
def test_threads_end():
    """A panel or a session would leave a thread that keeps the program from ending."""
    before = set(threading.enumerate())
    with Session() as session:
        panel = Panel(session)
        panel.world.choose("flat")
        panel.world.load()
        panel.simulation.play()
    assert set(threading.enumerate()) == before
    panel.close()


def test_nothing_is_followed_before_the_first_step(flat):
    """If this fails, a waiting vehicle shows a tracking error relative to the world's origin."""
    assert flat.vehicle.set_position(3.0, 4.0, 0.1)
    assert flat.vehicle.add()
    assert (flat.telemetry.reference, flat.telemetry.error) == (None, None)
    assert np.isnan(flat.history.columns()["reference_x"]).all()
    flat.simulation.step(50)
    np.testing.assert_allclose(flat.telemetry.reference, (3.0, 4.0, 0.1), atol=0.05)
    assert flat.telemetry.error < 0.05
