"""Tests of sources: a log gives the frames that the simulation had, and what lies between them."""

import numpy as np
import pytest

from pegasus import ConfigError, McapRecorder, Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from pegasus.session import LiveSource, LogSource, Session, Watch

PLATFORM = {
    "name": "platform",
    "box": [3.0, 3.0, 0.2],
    "center": [0.0, 0.0, -0.1],
    "motion": {"model": "oscillation", "position": [5, 0, 1.0], "amplitude": [1.5, 0.5, 0], "period": 9.0},
}


def controller():
    return GeometricController(
        trajectories.sequence(
            trajectories.takeoff(height=1.0), trajectories.circle(radius=1.0, height=1.0, yaw="forward")
        )
    )


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Return a log, and the live frames of the same run by step."""
    file = tmp_path_factory.mktemp("log") / "flight.mcap"
    frames = []
    with Simulation("flat", seed=4, rate=250, observers=[McapRecorder(file, state_rate=50)]) as simulation:
        watch = Watch(simulation, speed=None)
        live = LiveSource(watch)
        simulation.add(
            Multirotor("iris", count=2, position=[(0, 0, 0.1), (0, 3, 0.1)], backends=[controller()])
        )
        for step in range(1500):
            if step == 500:
                simulation.add_mover(PLATFORM)
            if step == 1000:
                simulation.add(Multirotor("crazyflie", position=(8.0, 0.0, 0.1)))
            watch._look()
            frames.append(live.frame(simulation.time))
            simulation.step()
    return file, frames


def test_a_log_has_the_frames_of_the_simulation(flown):
    """A replay would show other poses than the flight had, or vehicles before they were added."""
    file, frames = flown
    source = LogSource(file)
    assert source.vehicles == {"iris": 2, "crazyflie": 1}
    assert source.movers == {"platform": 1}
    assert source.span == (0.0, pytest.approx(1495 / 250))
    for step in range(0, 1500, 5):
        live, logged = frames[step], source.frame(step / 250)
        assert logged.time == pytest.approx(live.time)
        assert logged.vehicles.keys() == live.vehicles.keys()
        assert logged.movers.keys() == live.movers.keys()
        for name, state in live.vehicles.items():
            for field, values in vars(state).items():
                np.testing.assert_allclose(vars(logged.vehicles[name])[field], values, atol=1e-12)


def test_between_messages_a_log_is_interpolated(flown):
    """A replay in slow motion would jump from message to message, or turn the long way round."""
    file, frames = flown
    source = LogSource(file)
    for step in range(1100, 1480):
        live, logged = frames[step], source.frame(step / 250)
        iris, other = live.vehicles["iris"], logged.vehicles["iris"]
        # Linear over 20 ms: a dt^2 / 8 of some 3 m/s^2.
        np.testing.assert_allclose(other.position, iris.position, atol=5e-4)
        same = np.abs((other.orientation * iris.orientation).sum(axis=1))
        np.testing.assert_allclose(same, 1.0, atol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(other.orientation, axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(
            logged.movers["platform"].position, live.movers["platform"].position, atol=1e-4
        )


def test_frames_outside_the_span_are_those_at_its_ends(flown):
    """A viewer whose clock is ahead would get an error, or an empty frame."""
    source = LogSource(flown[0])
    first, last = source.span
    assert source.frame(-3.0).time == first
    assert source.frame(1e6).time == last
    np.testing.assert_array_equal(
        source.frame(1e6).vehicles["iris"].position, source.frame(last).vehicles["iris"].position
    )


def test_a_log_without_states_is_refused(tmp_path):
    """A viewer would wait for frames that never come."""
    file = tmp_path / "empty.mcap"
    with Simulation("flat", observers=[McapRecorder(file)]) as simulation:
        simulation.step(10)
    with pytest.raises(ConfigError, match="holds no states"):
        LogSource(file)


def test_a_session_is_a_live_source():
    """The panel would need another source for the present than for a log."""
    with Session() as session:
        source = LiveSource(session)
        assert source.span == (0.0, 0.0)
        assert source.frame(0.0).vehicles == {}
        session.exchange(lambda: Simulation({"extends": "flat", "movers": [PLATFORM]}))
        session.add(Multirotor("iris", position=(0.0, 0.0, 0.1)))
        session.step(25)
        assert source.span == (0.1, 0.1)
        assert (source.vehicles, source.movers) == ({"iris": 1}, {"platform": 1})
        frame = source.frame(0.1)
        mover = session.call(lambda simulation: simulation.movers["platform"])
        np.testing.assert_array_equal(frame.movers["platform"].position, mover.motion(0.1).position)
        assert frame.vehicles["iris"].position.shape == (1, 3)
