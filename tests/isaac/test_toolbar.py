"""Tests of scripts whose window is used: pause, stop and play of its toolbar, and its end."""

import pytest

from pegasus import Multirotor, Simulation
from pegasus.core.simulation import Playback
from tests.flyers import PLAIN_IRIS
from tests.isaac.contract import NEWEST, VERSIONS

FRAMES_PER_STEP = 1 / 5
"""Frames that a script at 250 Hz renders at 50 Hz."""


@pytest.fixture
def script(isaac):
    """Return a function that makes a simulation with a window whose user acts in given frames."""
    made = []

    def start(version=NEWEST, acts=None):
        kit = isaac(version)
        from pegasus.isaac.engine import IsaacEngine

        simulation = Simulation("flat", engine=IsaacEngine(rate=250, frame_rate=50.0), rate=250)
        simulation.add(Multirotor(PLAIN_IRIS, position=(0.0, 0.0, 5.0)))
        made.append(simulation)
        began = kit.frames

        def act():
            if (call := (acts or {}).get(kit.frames - began)) is not None:
                call(kit)

        kit.at_frame.append(act)
        return kit, simulation

    yield start
    for simulation in made:
        simulation.close()


def pause(kit):
    kit.timeline.pause()


def play(kit):
    kit.timeline.play()


def stop(kit):
    kit.timeline.stop()


def close(kit):
    kit.quit_code = 0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("by_steps", [False, True])
def test_time_waits_while_the_toolbar_is_paused(script, version, by_steps):
    """The vehicle would fly on, 50 of 50 steps."""
    seen = []
    kit, simulation = script(version, {3: pause, 8: lambda _: seen.append(simulation.step_count), 20: play})
    if by_steps:
        assert all(simulation.step() for _ in range(50))
    else:
        simulation.run(0.2)
    # The click of frame 3 takes effect in frame 4, after 20 steps.
    assert seen == [20]
    assert simulation.step_count == 50
    assert kit.frames - 50 * FRAMES_PER_STEP >= 16
    assert kit.physics.steps_by["update"] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_stop_ends_a_run(script, version):
    """Vehicles would fly on from the start."""
    kit, simulation = script(version, {3: stop})
    simulation.run(0.2)
    assert simulation.playback is Playback.STOPPED
    assert simulation.time == 0.0
    assert kit.physics.steps_by["step"] == 20
    # A script that steps on shows frames until its user presses play.
    frames = kit.frames
    assert not any(simulation.step() for _ in range(10))
    simulation.run(0.2)
    assert kit.frames == frames + 11
    assert kit.physics.steps_by["step"] == 20
    kit.timeline.play()
    assert not simulation.step()
    simulation.run(0.02)
    vehicle = next(iter(simulation.vehicles))
    assert simulation.step_count == 5
    assert 4.9 < vehicle.state.position[0, 2] < 5.0


@pytest.mark.parametrize("version", VERSIONS)
def test_stop_after_pause_ends_a_run(script, version):
    """The script would wait forever."""
    kit, simulation = script(version, {3: pause, 10: stop})
    simulation.run(0.2)
    assert simulation.playback is Playback.STOPPED
    assert kit.physics.steps_by["step"] == 20


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("paused", [False, True])
def test_a_closed_window_ends_a_run(script, version, paused):
    """The script would fly on without a window."""
    kit, simulation = script(version, {3: pause, 10: close} if paused else {4: close})
    simulation.run(0.2)
    assert simulation.host_closed
    # What was flown is kept.
    assert simulation.step_count == 20
    with pytest.raises(SystemExit) as end:
        simulation.run(0.2)
    assert not end.value.code
    assert kit.physics.steps_by["step"] == 20


def test_a_closed_window_ends_a_loop_of_steps(script):
    """A script that never looks at its window would fly on forever."""
    _, simulation = script(acts={4: close})
    done = iter(simulation.step, None)
    with pytest.raises(SystemExit) as end:
        list(done)
    assert not end.value.code
    assert simulation.step_count == 20


def test_a_loop_can_look_at_its_window(script):
    """A script would have no way to do something after its loop."""
    _, simulation = script(acts={4: close})
    while simulation.step():
        pass
    assert simulation.step_count == 20


def test_code_of_the_script_may_pause_the_timeline(script):
    """`rep.orchestrator.step()`, which pauses the timeline, would block a script without a window."""
    kit, simulation = script()
    simulation.run(0.02)
    kit.timeline.pause()
    kit.timeline.commit()
    simulation.run(0.02)
    assert simulation.step_count == 10


def test_a_stop_in_the_frame_of_a_camera(isaac):
    """The step of the camera would start the timeline again."""
    kit = isaac()
    from pegasus.cameras import Camera

    with Simulation("flat", engine="isaac", rate=250) as simulation:
        simulation.add(
            Multirotor(PLAIN_IRIS, position=(0.0, 0.0, 5.0), extra_sensors={"front": Camera(rate_hz=50.0)})
        )
        kit.at_frame.append(lambda: kit.frames == 20 and kit.timeline.stop())
        simulation.run(2.0)
        assert simulation.playback is Playback.STOPPED
        assert kit.timeline.is_stopped()
        assert kit.physics.steps_by["step"] < 100


def test_a_scenario_ends_with_its_window(isaac, tmp_path):
    """A flight would lose its summary, or never end."""
    kit = isaac()
    from pegasus.experiments.flight import Flight
    from pegasus.isaac.launch import FRAME_RATE_SETTING

    kit.settings.set(FRAME_RATE_SETTING, 50.0)
    flight = Flight("first_flight", {"duration": 2.0})
    assert flight.simulation.engine.frame_rate == 50.0
    began = kit.frames
    kit.at_frame.append(lambda: kit.frames == began + 10 and close(kit))
    run = flight.fly(out=tmp_path)
    assert not run.interrupted
    assert flight.simulation.host_closed
    assert (run.folder / "summary.json").is_file()
