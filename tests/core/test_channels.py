"""Vehicles whose channels are not their rotors, through step, backends, faults and snapshots."""

import re

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.faults import CommandDelay, MotorLoss, MotorStuck
from pegasus.model.machine import Channel
from pegasus.panel.telemetry import telemetry
from pegasus.session.snapshot import snapshot
from tests.core.plain_step import advance_in_python
from tests.seaplane import Seaplane, Stick

HIGH = (0.0, 0.0, 50.0)
UNUSED = {
    "number": 1,
    "generation": 1,
    "speed": None,
    "real_time_factor": 1.0,
    "recording": None,
    "suggested_viewpoint": None,
}
"""Arguments of a snapshot that telemetry does not show."""


class Anew(Stick):
    """Commands both copies alike, also those that start anew."""

    def command(self, t):
        return np.repeat(self.commands, 2, axis=0)

    def reset_copies(self, rows):
        pass


def test_channels_of_a_multirotor_are_the_speeds_of_its_rotors():
    """If this fails, parts that speak of channels know other commands than those of the motors."""
    channels = Multirotor("iris").channels
    assert [str(channel) for channel in channels] == [f"rotor_{j} [rad/s], 0 to 718" for j in range(4)]


def test_a_shared_throttle_and_an_elevator_fly():
    """If this fails, a machine must have one channel for each rotor, in rad/s."""
    with Simulation("flat") as sim:
        plane = sim.add(Seaplane(position=HIGH, backends=[Stick(0.5, 0.2)]))
        assert plane.command.shape == (1, 2)
        assert plane.state.rotor_speed.shape == (1, 4)
        sim.step(10)
        np.testing.assert_array_equal(plane.state.rotor_speed, 350.0)
        np.testing.assert_array_equal(plane.rotor_command, [[0.5, 0.2]])


def test_commands_are_clipped_to_the_limits_of_their_channels():
    """If this fails, an elevator is clipped to the limits of a motor."""
    with Simulation("flat") as sim:
        plane = sim.add(Seaplane(position=HIGH, backends=[Stick(1.5, -2.0)]))
        sim.step()
        np.testing.assert_array_equal(plane.rotor_command, [[1.0, -0.4]])


def test_channels_beside_others_have_the_bits_of_python():
    """If this fails, rows of vehicles with other numbers of channels are mixed up when they are compiled."""
    with Simulation("flat") as sim:
        sim.add(Seaplane(position=HIGH, count=2))
        sim.add(Multirotor("iris", position=(8.0, 0.0, 50.0), sensors={}))
        sim.step(2)
        columns = sim.vehicles._plant.columns
        columns["command"][...] = [[0.6, 0.3, 0, 0], [1.2, -0.1, 0, 0], [500.0, 510.0, 520.0, 900.0]]
        kept = {name: values.copy() for name, values in columns.items()}
        sim.vehicles._plant.advance(0.004)
        advance_in_python(list(sim.vehicles), kept, 0.004)
        for name in ("limited_command", "rotor_speed", "free_velocity", "free_angular_velocity", "torque"):
            np.testing.assert_array_equal(columns[name], kept[name], err_msg=name)
        assert columns["rotor_speed"][:, 0].tolist()[:2] == [0.6 * 700.0, 700.0]


def test_without_a_command_channels_rest():
    """If this fails, a vehicle that nobody drives keeps other commands than those at rest."""
    with Simulation("flat") as sim:
        plane = sim.add(Seaplane(position=HIGH, count=2))
        sim.step()
        np.testing.assert_array_equal(plane.command, [[0.0, 0.1]] * 2)


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (
            (0.5, 0.1, 0.1),
            "shape of command of Stick for vehicle 'iris' at t = 0 s = (1, 3): must have shape (1, 2): "
            "for each copy throttle, 0 to 1, elevator [rad], -0.4 to 0.5",
        ),
        (
            (0.5, np.nan),
            "command of Stick for vehicle 'iris' at t = 0 s, copy 0, channel elevator = nan: must be finite: "
            "elevator [rad], -0.4 to 0.5",
        ),
    ],
)
def test_wrong_commands_are_told_by_channel(commands, message):
    """If this fails, a wrong command is told as one of rotors that the vehicle does not have."""
    with Simulation("flat") as sim:
        sim.add(Seaplane(position=HIGH, backends=[Stick(*commands)]))
        with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
            sim.step()


def test_a_command_beyond_a_limit_is_told_by_channel(caplog):
    """If this fails, degrees for a deflection in radians are clipped without a word."""
    with Simulation("flat") as sim:
        sim.add(Seaplane(position=HIGH, backends=[Stick(0.5, 20.0)]))
        sim.step(3)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.endswith("copy 0: 20 is beyond elevator [rad], -0.4 to 0.5, and clipped")


def test_a_restored_snapshot_has_the_commands_by_channel():
    """If this fails, snapshots take as many commands as rotors."""
    with Simulation("flat") as sim:
        plane = sim.add(Seaplane(position=HIGH, backends=[Stick(0.5, 0.2)]))
        sim.step(5)
        saved = sim.snapshot()
        sim.step(5)
        end = plane.columns["velocity"].copy()
        sim.restore(saved)
        np.testing.assert_array_equal(plane.command, [[0.5, 0.2]])
        sim.step(5)
        np.testing.assert_array_equal(plane.columns["velocity"], end)


def test_a_copy_that_starts_anew_holds_the_commands_at_rest():
    """If this fails, an elevator goes to 0 after a reset where its channel rests elsewhere."""
    with Simulation("flat") as sim:
        plane = sim.add(Seaplane(position=HIGH, count=2, backends=[Anew(0.5, 0.2)]))
        plane.inject(CommandDelay(delay=0.04, start=0.0))
        sim.step(20)
        plane.reset(copies=[1])
        np.testing.assert_array_equal(plane.command, [[0.5, 0.2], [0.0, 0.1]])
        sim.step()
        np.testing.assert_array_equal(plane.rotor_command, [[0.5, 0.2], [0.0, 0.1]])


def test_an_infinite_limit_is_written():
    """If this fails, a channel without a limit has no name."""
    assert str(Channel("rotor_0", "rad/s", 0.0, np.inf)) == "rotor_0 [rad/s], 0 to inf"


def test_telemetry_shows_channels_with_their_units():
    """If this fails, panel and window show rotors in rad/s for any vehicle."""
    with Simulation("flat") as sim:
        plane = sim.add(Seaplane(position=HIGH, backends=[Stick(0.5, -0.2)]))
        sim.step(2)
        seen = snapshot(sim, **UNUSED)
        actuators = telemetry(seen, plane.name).actuators
        assert actuators == [("throttle", "0.50", 0.5), ("elevator", "-0.20 rad", 0.4)]


def test_a_held_command_is_held_by_channel():
    """If this fails, faults of commands need a vehicle with rotors."""
    with Simulation("flat") as sim:
        stick = Stick(0.5, 0.2)
        plane = sim.add(Seaplane(position=HIGH, backends=[stick]))
        sim.step(2)
        plane.inject(MotorStuck())
        sim.step()
        stick.commands = np.array([[0.9, -0.1]])
        sim.step(2)
        np.testing.assert_array_equal(plane.rotor_command, [[0.5, 0.2]])
        with pytest.raises(ConfigError, match="vehicle = 'iris': is not commanded by the speeds of rotors"):
            plane.inject(MotorLoss(2))


def test_the_panel_shows_rotors_and_joints():
    """The panel would show what a plane was told instead of what its propeller and its surfaces do."""
    with Simulation("flat") as simulation:
        plane = simulation.add(Multirotor("plane", position=(0, 0, 5), sensors={}))
        simulation.step()
        plane.columns["rotor_speed"][...] = 1750.0
        plane.columns["joint_angle"][0, 4] = -0.265
        seen = snapshot(simulation, **UNUSED)
        shown = {bar.name: bar for bar in telemetry(seen, "plane").actuators}
    assert (shown["rotor_0"].text, shown["rotor_0"].share) == ("1750 rad/s", 0.5)
    assert (shown["elevator"].text, shown["elevator"].share) == ("-0.27 rad", 0.5)
