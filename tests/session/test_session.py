"""Tests of the session's simulation thread: calls between steps, pacing, world changes and recording."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

from pegasus import Backend, Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.config.files import load_world
from pegasus.core.simulation import Playback
from pegasus.recording.reader import read_log
from pegasus.session import Session
from tests.flyers import PLAIN_IRIS
from tests.waits import LIMIT, wait_until


class Failing(Backend):
    """A backend that raises an error at a chosen step."""

    drives = True

    def __init__(self, error, at=0.1):
        self.error, self.at, self.stopped = error, at, 0

    def command(self, t):
        if t >= self.at:
            raise self.error

    def stop(self):
        self.stopped += 1


@pytest.fixture
def session():
    """A session with an empty flat world that runs at full speed."""
    with Session() as session:
        session.exchange(lambda: Simulation("flat"))
        session.set_speed(None)
        yield session


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "pegasus-session"]


def test_thread_ends():
    """A closed session would leave its thread running, or closing it twice would wait for ever."""
    before = len(threads())
    session = Session()
    assert len(threads()) == before + 1
    session.close()
    session.close()
    assert len(threads()) == before
    with pytest.raises(RuntimeError, match="closed"):
        session.play()


def test_without_a_world():
    """A call before a world is loaded would block forever or end the thread."""
    with Session() as session:
        for action in (session.play, session.pause, session.stop, session.reset, session.step):
            with pytest.raises(ConfigError, match="no world is loaded; load one first"):
                action()
        assert session.snapshot.world is None
        session.clear()


def test_steps_are_those_of_the_simulation(session):
    """The session would step differently from the simulation alone, or lose steps."""
    with Simulation("flat", seed=0) as alone:
        there = alone.add(Multirotor("iris", position=(0, 0, 2)))
        alone.step(200)
        session.add(Multirotor("iris", position=(0, 0, 2)))
        session.step(150)
        session.step(50)
        seen = session.snapshot
        assert (seen.step_count, seen.playback) == (200, Playback.PAUSED)
        np.testing.assert_array_equal(seen.vehicles[0].position, there.state.position)
        np.testing.assert_array_equal(seen.vehicles[0].orientation, there.state.orientation)


def test_snapshot_stays_as_it_is(session):
    """A snapshot would change while a client draws it."""
    session.add(Multirotor("iris", position=(0, 0, 5)))
    session.step()
    before = session.snapshot
    height = before.vehicles[0].position[0, 2]
    session.step(100)
    assert before.vehicles[0].position[0, 2] == height
    assert session.snapshot.vehicles[0].position[0, 2] < height - 0.5
    assert session.snapshot.number > before.number


def test_snapshot_follows_an_action(session):
    """The snapshot would not yet contain an added vehicle or a pause when the action returns."""
    for _ in range(20):
        session.play()
        assert session.snapshot.playback is Playback.PLAYING
        session.pause()
        assert session.snapshot.playback is Playback.PAUSED
    session.add(Multirotor("iris", name="seen"))
    assert session.snapshot.vehicle("seen") is not None
    session.remove("seen")
    assert session.snapshot.vehicles == ()


def test_real_time_is_not_overtaken(session):
    """Simulated time would run faster than the chosen speed, or pacing would not restart after a pause."""
    session.set_speed(2.0)
    began = time.perf_counter()
    session.play()
    for _ in range(10):
        time.sleep(0.03)
        assert session.snapshot.time <= 2.0 * (time.perf_counter() - began) + 2 / 250
    wait_until(lambda: session.snapshot.real_time_factor > 0, "the factor")
    assert session.snapshot.real_time_factor <= 2.0 + 0.01
    session.pause()
    assert session.snapshot.real_time_factor == 0
    stood = session.snapshot.time
    time.sleep(0.1)
    began = time.perf_counter()
    session.play()
    time.sleep(0.05)
    assert session.snapshot.time - stood <= 2.0 * (time.perf_counter() - began) + 2 / 250


def test_the_simulation_knows_its_speed(session):
    """An autopilot would wait for a ground station with the clock of a former speed factor."""
    speeds = []
    for change in (lambda: None, lambda: session.set_speed(2.0), lambda: session.exchange(Simulation)):
        change()
        speeds.append(session.call(lambda simulation: simulation.speed))
    assert speeds == [None, 2.0, 2.0]


def test_as_fast_as_it_goes(session):
    """An empty world at full speed would be held back to real time."""
    session.play()
    began = time.perf_counter()
    wait_until(lambda: session.snapshot.time > 5.0, "five simulated seconds")
    assert time.perf_counter() - began < 5.0


@pytest.mark.parametrize("speed", [0.0, 0.05, -1.0, 1001.0, float("nan")])
def test_speeds_that_are_not_allowed(session, speed):
    """A speed of zero or a negative speed would be accepted."""
    with pytest.raises(ConfigError, match=r"speed = .*: must be from 0.1 to 1000 times real time, or max"):
        session.set_speed(speed)
    assert session.snapshot.speed is None


@pytest.mark.parametrize("error", [ConfigError("is gone", field="pilot"), ZeroDivisionError("x")])
def test_failed_run(session, error):
    """A failing backend would end the thread, go unreported, or leave the other backends running."""
    failures = []
    leave = session.watch(on_failure=failures.append)
    pilot = Failing(error)
    session.add(Multirotor("iris", backends=[pilot], position=(0, 0, 9)))
    session.play()
    wait_until(lambda: failures, "the failure")
    wait_until(lambda: session.snapshot.playback is Playback.STOPPED, "the stop")
    assert failures == [error]
    assert pilot.stopped
    assert session.snapshot.vehicles[0].position[0, 2] == pytest.approx(9.0)
    leave()
    with pytest.raises(type(error)):
        session.step(100)
    session.remove("iris")
    session.play()
    wait_until(lambda: session.snapshot.time > 0.5, "the next run")
    assert failures == [error]


def test_watcher_that_fails(session, caplog):
    """An error in an observer would end the run."""

    def fault(snapshot):
        raise ValueError(f"fault of a watcher at snapshot {snapshot.number}")

    leave = session.watch(on_snapshot=fault)
    seen = []
    session.watch(on_snapshot=seen.append)
    session.play()
    wait_until(lambda: len(seen) > 2, "snapshots")
    assert "a snapshot callback has failed" in caplog.text
    leave()
    session.step()


def test_exchange(session):
    """A world that cannot be built would remove the present one, or a replaced world would stay open."""
    session.add(Multirotor("iris"))
    old = session.call(lambda simulation: simulation)
    generation = session.snapshot.generation
    with pytest.raises(ConfigError):
        session.exchange(lambda: Simulation("no_such_world"))
    assert (session.snapshot.world, len(session.snapshot.vehicles)) == ("flat", 1)
    assert session.snapshot.generation == generation
    other = load_world("flat")[0].model_copy(update={"name": "other"})
    session.exchange(lambda: Simulation(other))
    assert (session.snapshot.world, session.snapshot.vehicles) == ("other", ())
    assert session.snapshot.generation == generation + 1
    assert session.snapshot.playback is Playback.STOPPED
    with pytest.raises(RuntimeError, match="closed"):
        old.play()
    session.clear()
    assert (session.snapshot.world, session.snapshot.scene) == (None, None)


class Unstoppable(Backend):
    """A backend that raises an error when it is stopped."""

    def stop(self):
        raise ConfigError("does not stop", field="listener")


def test_old_world_that_cannot_be_closed(session):
    """The new world would be closed instead of the old one, or the error would go unreported."""
    failures = []
    session.watch(on_failure=failures.append)
    session.add(Multirotor("iris", backends=[Unstoppable()]))
    session.exchange(lambda: Simulation("flat"))
    assert [str(failure) for failure in failures] == ["listener: does not stop"]
    session.add(Multirotor("iris"))
    session.step(10)
    assert session.snapshot.step_count == 10


def test_what_cannot_be_shown(session, caplog):
    """An error while a snapshot is taken would end the thread and block callers forever."""
    failures = []
    session.watch(on_failure=failures.append)
    session.call(lambda simulation: setattr(simulation, "environment", None))
    with pytest.raises(AttributeError):
        session.set_wind({"model": "none"})
    time.sleep(0.1)
    assert len(failures) == 1
    assert "the run has failed" in caplog.text
    session.exchange(lambda: Simulation("flat"))
    session.step(5)
    assert session.snapshot.step_count == 5


def test_what_is_put_off_and_fails(session):
    """An error in a deferred action would end the thread."""
    failures = []
    session.watch(on_failure=failures.append)

    def fault():
        raise ConfigError("is late", field="watch")

    session.set_timeout("key", 0.01, fault)
    wait_until(lambda: failures, "the failure")
    session.step()


def test_closing_while_others_ask():
    """A call made while the session closes would block forever."""
    for _ in range(20):
        session = Session()
        ended = []

        def ask(session=session, ended=ended):
            try:
                while True:
                    session.set_speed(2.0)
            except RuntimeError:
                ended.append(True)

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        session.close()
        for asker in askers:
            asker.join(timeout=LIMIT)
        assert ended == [True] * 3


def test_nothing_is_left_of_old_worlds():
    """Each replaced world would stay in memory or leave a thread running."""
    kept = []
    with Session() as session:
        for _ in range(5):
            session.exchange(lambda: Simulation("flat"))
            session.add(Multirotor("iris"))
            session.step(3)
            session.call(lambda simulation: kept.append(weakref.ref(simulation)))
        session.clear()
        gc.collect()
        assert [reference() for reference in kept] == [None] * 5
    assert threads() == []


def test_calls_from_many_threads(session):
    """Concurrent callers would get each other's results or block each other forever."""
    session.play()
    answers = {}

    def ask(number):
        answers[number] = [session.call(lambda _, k=k: (number, k)) for k in range(50)]

    askers = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(timeout=LIMIT)
    assert answers == {i: [(i, k) for k in range(50)] for i in range(6)}


def test_call_within_a_call(session):
    """A call from the session's own thread would deadlock."""
    assert session.call(lambda _: session.call(lambda simulation: simulation.world_name)) == "flat"


def test_reset(session):
    """A reset would not restore the start, or would resume a paused run."""
    session.add(Multirotor("iris", position=(0, 0, 5)))
    session.step(50)
    session.reset()
    seen = session.snapshot
    assert (seen.step_count, seen.playback) == (0, Playback.PAUSED)
    assert seen.vehicles[0].position[0, 2] == pytest.approx(5.0)
    session.play()
    session.reset()
    assert session.snapshot.playback is Playback.PLAYING
    session.stop()
    session.reset()
    assert session.snapshot.playback is Playback.STOPPED


@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_wrong_step_count(session, count):
    """A step count of zero or a fraction would be accepted."""
    with pytest.raises(ConfigError, match=r"count = .*must be a whole number from 1 up"):
        session.step(count)


def test_wind(session):
    """A new wind would not blow, would be lost at a reset, or would not act on rotors and drag."""
    session.add(Multirotor(PLAIN_IRIS, position=(0, 0, 50)))
    session.step(250)
    assert abs(session.snapshot.vehicles[0].velocity[0, 0]) < 1e-6
    session.set_wind({"model": "constant", "mean_velocity": (8.0, 0.0, 0.0)})
    session.step(100)
    assert session.snapshot.wind == (8.0, 0.0, 0.0)
    assert session.snapshot.vehicles[0].velocity[0, 0] > 0.05
    session.set_wind({"model": "gusts", "mean_velocity": (1.0, 2.0, 0.0), "intensity": 2.0})
    session.stop()
    first = session.snapshot.wind
    session.step(10)
    session.stop()
    assert session.snapshot.wind == first
    assert first != (1.0, 2.0, 0.0)
    with pytest.raises(ConfigError, match=r"wind.model = 'storm': must be one of constant, "):
        session.set_wind({"model": "storm"})


def steps_in(folder):
    """Return the number of recorded states; they are recorded at 100 Hz."""
    log = read_log(folder)
    assert log.complete
    return len(log["iris/state"])


def test_recording(session, tmp_path):
    """A run would be recorded into another's folder, be cut off, or continue after being switched off."""
    session.add(Multirotor("iris"))
    session.record(tmp_path)
    assert session.snapshot.recording is None
    session.step(100)
    first = session.snapshot.recording
    session.reset()
    session.step(50)
    second = session.snapshot.recording
    session.record(None)
    session.step(50)
    assert session.snapshot.recording is None
    assert [steps_in(first), steps_in(second)] == [50, 25]
    session.record(tmp_path)
    session.step(10)
    third = session.snapshot.recording
    assert {path.name for path in tmp_path.iterdir()} == {p.name for p in (first, second, third)}
    session.clear()
    assert steps_in(third) == 5
    assert session.snapshot.recording is None


def test_recording_into_nowhere(session, tmp_path):
    """An unwritable folder would end the run, or be retried forever."""
    (tmp_path / "file").touch()
    session.step()
    with pytest.raises(ConfigError, match="cannot be used as a folder for runs"):
        session.record(tmp_path / "file")
    session.step()
    session.stop()
    session.step()


def test_what_is_put_off(session):
    """A deferred action would run at once, never, or after it was replaced or cancelled."""
    done = []
    session.set_timeout("key", 0.05, lambda: done.append("first"))
    session.set_timeout("key", 0.02, lambda: done.append("second"))
    session.set_timeout("other", 0.01, lambda: done.append("never"))
    session.set_timeout("other", None, lambda: None)
    assert done == []
    wait_until(lambda: done, "what was put off")
    time.sleep(0.1)
    assert done == ["second"]


def test_ray(session):
    """A click would miss the ground or hit it at another point."""
    hits = session.raycast((1.0, 2.0, 3.0), (0.0, 0.0, -1.0))
    assert hits.distance[0] == pytest.approx(3.0)
    assert not session.raycast((1.0, 2.0, 3.0), (0.0, 0.0, 1.0)).hit[0]
