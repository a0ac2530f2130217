"""Battery in flight: current, recorded values, and the landing when it is empty."""

import logging

import numpy as np
import pytest
import yaml

from pegasus import Multirotor, Simulation
from pegasus.backends.ardupilot.json_fdm import OptionalReadings
from pegasus.base.errors import ConfigError
from pegasus.design.vehicle_sheet import vehicle_sheet
from pegasus.dynamics import Battery
from pegasus.recording import McapRecorder, read_log
from pegasus.sensors import BatteryMonitor
from tests.flyers import HIGH, PLAIN_IRIS, Constant

SPEED = 650.0
# F = c w^2 and Q = 0.06 m F for each of four rotors, at 75 %.
POWER = 4 * 0.06 * 8.54858e-6 * SPEED**3 / 0.75
IRIS = yaml.safe_load(PLAIN_IRIS.read_text())


def pack(**changes):
    """Return a battery that the Iris can fly on."""
    return Battery(**({"cell_count": 4, "capacity": 5.0, "resistance": 0.01} | changes))


def test_a_flight_draws_the_power_of_its_rotors(tmp_path):
    """Current or charge would not be those of the rotors' power, or would not be recorded."""
    simulation = Simulation("flat", observers=[McapRecorder(tmp_path / "run.mcap")])
    with simulation:
        iris = simulation.add(
            Multirotor(PLAIN_IRIS, position=HIGH, backends=[Constant(SPEED)], battery=pack())
        )
        simulation.run(duration=2.0)
        assert iris.battery.voltage[0] * iris.battery.current[0] == pytest.approx(POWER, rel=1e-6)
        # The rotors take their speed within some hundredths of a second.
        used = (1.0 - iris.battery.charge[0]) * 5.0 * 3600
        assert used == pytest.approx(POWER / 16.0 * 2.0, rel=0.04)
        reading = iris.readings["battery"]
        assert reading.stamp == pytest.approx(1.9)
        text = OptionalReadings(simulation.environment, iris.battery)
        text.take(iris.readings, iris.state.position)
        voltage, current = iris.battery.voltage[0], iris.battery.current[0]
        assert f'"battery":{{"voltage":{voltage:.12f},"current":{current:.12f}}}' in text.text(0)
    recorded = read_log(tmp_path / "run.mcap")["iris/sensors/battery"]
    assert len(recorded) == 20
    assert recorded.charge[-1, 0] == reading.charge[0]
    assert recorded.voltage[0, 0] == pytest.approx(4 * 4.1029)


def test_a_battery_that_suffices_changes_nothing():
    """A vehicle would fly differently only because its battery is recorded."""
    states = []
    for battery in None, pack(rated_voltage=1.0, resistance=1e-6):
        with Simulation("flat") as simulation:
            iris = Multirotor(PLAIN_IRIS, position=HIGH, backends=[Constant(700.0)], battery=battery)
            simulation.add(iris)
            simulation.run(duration=1.0)
            states.append(iris.state.copy())
    for name in "position", "velocity", "orientation", "rotor_speed":
        np.testing.assert_array_equal(getattr(states[0], name), getattr(states[1], name))


def test_an_empty_battery_ends_the_flight(caplog):
    """A vehicle would fly on for ever, fall without a message, or stay empty after a reset."""
    with Simulation("flat") as simulation, caplog.at_level(logging.WARNING):
        pilots = [Constant(SPEED)]
        iris = simulation.add(
            Multirotor(PLAIN_IRIS, count=2, position=HIGH, backends=pilots, battery=pack(capacity=0.02))
        )
        simulation.run(duration=3.0)
        assert iris.battery.empty.all()
        assert (iris.state.rotor_speed < 1.0).all()
        assert [record.getMessage() for record in caplog.records] == [
            "iris at t = 1.2 s: 2 of 2 batteries low, 0 empty",
            "iris at t = 1.5 s: 0 of 2 batteries low, 2 empty",
        ]
        simulation.stop()
        assert (iris.battery.charge == 1.0).all()
        simulation.run(duration=0.5)
        assert (iris.state.rotor_speed > SPEED - 1).all()


def test_a_file_gives_the_battery_and_its_sheet_the_time(tmp_path):
    """The section of a file would be ignored, or the hover time be wrong."""
    file = tmp_path / "own.yaml"
    battery = {"model": "lithium_polymer", "cell_count": 4, "capacity": 5.0, "resistance": 0.01}
    file.write_text(yaml.safe_dump(IRIS | {"battery": battery}))
    vehicle = Multirotor(file)
    assert vehicle.battery.battery == pack()
    assert vehicle.sensors["battery"].rate_hz == 10.0
    rows = dict(vehicle_sheet(file))
    shaft = float(rows["shaft power in hover"].split()[0])
    assert float(rows["hover time"].split()[0]) == pytest.approx(
        pack().endurance(shaft / 0.75) / 60, abs=0.06
    )
    # Some 74 W h minus what stays below the cut-off, for 4/3 of the power.
    assert float(rows["hover time"].split()[0]) == pytest.approx(74 / (shaft / 0.75) * 60, rel=0.1)
    file.write_text(yaml.safe_dump(IRIS | {"battery": battery | {"capacity": -1}}))
    with pytest.raises(ConfigError, match=r"battery\.capacity"):
        Multirotor(file)
    assert "battery" not in Multirotor(PLAIN_IRIS).sensors


def test_a_monitor_without_a_battery_is_refused():
    """A reading would come from nothing."""
    with Simulation("flat") as simulation, pytest.raises(ConfigError, match="no battery"):
        simulation.add(Multirotor(PLAIN_IRIS, extra_sensors={"power": BatteryMonitor()}))
