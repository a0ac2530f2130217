"""Tests of pausing, resuming and resetting a simulation through ROS 2."""

import threading

import pytest
from ros2_rig import TRANSPORT, begin
from ros2_types import Bool

from pegasus import Multirotor, Playback, Simulation
from pegasus.backends import ROS2
from pegasus.backends.ros2.graph import RELIABLE
from pegasus.backends.ros2.messages import encode
from pegasus.backends.ros2.remote_control import RemoteControl
from pegasus.backends.ros2.transport import open_transport
from tests.waits import wait_until

pytest.importorskip("cyclonedds")


@pytest.fixture(scope="module", autouse=True)
def begun(domain):  # noqa: ARG001
    """Begin on the domain of the tests."""
    begin()


def test_pause_resume_reset(nothing_stays):  # noqa: ARG001
    """A simulation could not be paused, resumed or reset from another node."""
    with Simulation("flat") as sim, RemoteControl(sim, transport=TRANSPORT):
        iris = sim.add(Multirotor("iris", position=(0, 0, 50), backends=[ROS2("d", transport=TRANSPORT)]))
        other = open_transport(TRANSPORT)
        node = other.node("tester")
        pause, reset = (node.publisher(Bool, f"/pegasus/{name}", RELIABLE) for name in ("pause", "reset"))
        wait_until(lambda: pause.matched and reset.matched)
        # A stopped simulation stays stopped.
        pause.publish(encode(Bool(False)))
        runner = threading.Thread(target=sim.run, args=(1e6,), kwargs={"speed": 1.0})
        runner.start()
        wait_until(lambda: iris.state.position[0, 2] < 49.9)
        pause.publish(encode(Bool(True)))
        wait_until(lambda: sim.playback is Playback.PAUSED)
        still = sim.step_count
        reset.publish(encode(Bool(True)))
        # It stops for a moment, then continues as before.
        wait_until(lambda: sim.step_count == 0 and sim.playback is Playback.PAUSED)
        assert still > 0
        assert iris.state.position[0, 2] == 50.0
        pause.publish(encode(Bool(False)))
        wait_until(lambda: sim.step_count > 10)
        sim.stop()
        runner.join()
        other.close()


def test_a_reset_that_fails(nothing_stays, caplog):  # noqa: ARG001
    """A reset in which an autopilot fails to start would make the simulation deaf for good."""
    with Simulation("flat") as sim, RemoteControl(sim, transport=TRANSPORT):
        failures = [RuntimeError("PX4 0 did not start"), OSError("no space left")]

        def reset():
            if failures:
                raise failures.pop(0)
            sim.play()

        sim.reset = reset
        other = open_transport(TRANSPORT)
        publisher = other.node("tester").publisher(Bool, "/pegasus/reset", RELIABLE)
        wait_until(lambda: publisher.matched)
        for number in range(1, 3):
            publisher.publish(encode(Bool(True)))
            wait_until(lambda number=number: len(caplog.records) == number)
        publisher.publish(encode(Bool(True)))
        wait_until(lambda: sim.playback is Playback.PLAYING)
        other.close()
    assert "invalid command to the simulation: PX4 0 did not start" in caplog.records[0].getMessage()
