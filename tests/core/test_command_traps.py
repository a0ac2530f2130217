"""Backends that would leave a vehicle on the ground without a word."""

import logging

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Backend, ConfigError, Multirotor, Simulation


class Driver(Backend):
    """Returns what it is made with."""

    drives = True

    def __init__(self, answer):
        self.answer = answer

    def command(self, t):
        return self.answer(t) if callable(self.answer) else self.answer


def warnings(caplog, answer, duration=6.0):
    """Fly with a command; return the warnings."""
    with caplog.at_level(logging.WARNING), Simulation("flat") as sim:
        sim.add(Multirotor("iris", sensors={}, backends=[Driver(answer)]))
        sim.run(duration)
    return [record.getMessage() for record in caplog.records]


def test_a_command_that_nobody_calls_is_refused():
    """If this fails, a backend without `drives` stays silent and the vehicle on the ground."""

    class Silent(Backend):
        def command(self, t):
            return np.zeros((1, 4))

    with pytest.raises(ConfigError, match=r"backends.0 = 'Silent': has a command.*write drives = True"):
        Multirotor("iris", backends=[Silent()])


def test_a_backend_may_say_that_it_only_listens():
    """If this fails, a bridge cannot be switched to listening."""

    class Bridge(Driver):
        def __init__(self):
            self.drives = False

    class Listener(Bridge):
        drives = False

    for backend in (Bridge(), Listener()):
        assert Multirotor("iris", backends=[backend]).backends.driver is None


def test_none_for_ever_is_told_once(caplog):
    """If this fails, a forgotten return keeps the rotors at rest without a reason."""
    (line,) = warnings(caplog, None, 11.0)
    assert line == (
        "command of Driver for vehicle 'iris' has returned None for 5 s: it gets the commands at rest; "
        "return an array of shape (1, 4), for each copy rotor_0 [rad/s], 0 to 718, "
        "rotor_1 [rad/s], 0 to 718, rotor_2 [rad/s], 0 to 718, rotor_3 [rad/s], 0 to 718"
    )


def test_throttles_in_place_of_rotor_speeds_are_told_once(caplog):
    """If this fails, a command of 0.6 turns rotors at 0.6 rad/s and nobody says why nothing flies."""
    (line,) = warnings(caplog, np.full((1, 4), 0.6))
    assert line == (
        "all commands of Driver for vehicle 'iris' are from 0 to 1, like throttles; "
        "it takes rotor_0 [rad/s], 0 to 718"
    )


def test_commands_beyond_the_limits_are_told_once(caplog):
    """If this fails, a command in revolutions per minute flies at full power and nobody says why."""
    (line,) = warnings(caplog, np.full((1, 4), 5000.0), 1.0)
    assert line == (
        "command of Driver for vehicle 'iris' at t = 0 s, copy 0: 5000 is beyond "
        "rotor_0 [rad/s], 0 to 718, and clipped"
    )


def test_idle_rotors_of_an_autopilot_are_no_throttles(caplog):
    """A program that idles at less than 1 rad/s would be said to return throttles."""

    class Mapped(Driver):
        maps_outputs = True

    with caplog.at_level(logging.WARNING), Simulation("flat") as sim:
        sim.add(Multirotor("iris", sensors={}, backends=[Mapped(np.full((1, 4), 0.5))]))
        sim.run(2.0)
    assert not caplog.records


@pytest.mark.parametrize(
    "answer",
    [
        lambda t: None if t < 4.0 else np.full((1, 4), 500.0),
        lambda t: np.full((1, 4), min(t, 0.2) * 3000.0),
        np.zeros((1, 4)),
    ],
    ids=["waits before it starts", "spins up from rest", "rests"],
)
def test_what_may_be_meant_is_not_warned_of(caplog, answer):
    """If this fails, the warnings are noise."""
    assert warnings(caplog, answer) == []
