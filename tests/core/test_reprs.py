"""Tests of one-line reprs, and of the messages for readings and states that cannot be had or written."""

import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError


def test_simulations_vehicles_states_and_readings_print_as_one_line():
    """Printing would show addresses in memory, or screens of arrays without units."""
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", position=(1, 2, 0.1)))
        swarm = sim.add(Multirotor("x500", name="swarm", count=3, position=(9, 9, 0.3)))
        sim.step()
        assert repr(sim) == "<Simulation of flat: iris, swarm x 3, t = 0.004 s, 250 Hz, seed 0, playing>"
        assert repr(iris) == (
            "<Multirotor iris: 1.5 kg, 4 rotors, at (1.00, 2.00, 0.10) m, driven by nothing, "
            "sensors imu, gps, barometer, magnetometer, battery>"
        )
        assert repr(swarm).startswith("<Multirotor swarm x 3 (x500): ")
        gps = repr(iris.readings["gps"])
        assert gps.startswith("GpsReading(stamp=0 s, valid_at=0 s, latitude=")
        assert " deg, altitude=" in gps
        assert gps.endswith("fix_type=0, satellite_count=0)")
        assert "specific_force=array of shape (3, 3) m/s^2" in repr(swarm.readings["imu"])
        assert "VehicleState(position=[1 2 0.09" in repr(iris.state)
        for shown in (sim, iris, swarm, iris.state, swarm.state, iris.readings["imu"]):
            assert "\n" not in repr(shown)
            assert len(repr(shown)) < 600
    assert repr(sim).endswith("closed>")


def test_a_reading_that_is_not_there_says_why():
    """`readings["gps"]` would fail with `KeyError: 'gps'` alone."""
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris"))
        with pytest.raises(KeyError, match="'gps': has not been given; step the simulation first"):
            iris.readings["gps"]
        sim.step(2)
        with pytest.raises(ConfigError, match=r"no such sensor; there are imu, gps.*did you mean gps\?"):
            iris.readings["gsp"]
        with pytest.raises(KeyError, match="'gps': is not new at this step, because the sensor gives 10 a"):
            iris.new_readings["gps"]
        assert iris.new_readings.get("gps") is None


def test_a_state_cannot_be_written():
    """Writing into a position would be lost at the next step, or break the physics, without a word."""
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", position=(1, 2, 0.1)))
        for _ in range(2):
            with pytest.raises(ValueError, match="read-only"):
                iris.state.position[0] = (0.0, 0.0, 5.0)
            for name in ("position", "velocity"):
                with pytest.raises(
                    AttributeError, match=rf"{name} of vehicle 'iris' is only read.*vehicle.place"
                ):
                    setattr(iris, name, (0.0, 0.0, 5.0))
            sim.step()
        assert iris.position is iris.state.position
        copy = iris.state.copy()
        copy.position[0] = 5.0


def test_a_simulation_that_could_not_be_made_prints_too():
    """Debuggers and error reports that show it would fail with an AttributeError."""
    made = Simulation.__new__(Simulation)
    with pytest.raises(ConfigError):
        made.__init__(world="no such world")
    assert repr(made) == "<Simulation that could not be made>"
