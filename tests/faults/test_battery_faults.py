"""Tests of faults of batteries: their effect, and their end."""

import pytest
from fault_rig import flying

from pegasus import ConfigError
from pegasus.dynamics import Battery
from pegasus.dynamics.battery_step import cell_voltage
from pegasus.faults import BatteryCold, BatteryEmpty, CellFailure

PACK = Battery(cell_count=4, capacity=3.0, resistance=0.02, cutoff_voltage=2.0)


def open_voltage(vehicle):
    """Return the voltage without load: that under load and that over the resistance."""
    return vehicle.battery.voltage[0] + PACK.resistance * vehicle.battery.current[0]


def fall(vehicle):
    """Return the fall of the voltage under load, by the curve of the cells."""
    return 4 * float(cell_voltage(vehicle.battery.charge)[0]) - vehicle.battery.voltage[0]


def test_a_failed_cell_takes_its_voltage_until_it_is_healed():
    """A pack that keeps its voltage, or loses another share, would not have lost one cell of four."""
    with flying(battery=PACK) as (sim, vehicle):
        sim.step(50)
        whole = open_voltage(vehicle)
        vehicle.inject(CellFailure(1, duration=0.2))
        sim.step(40)
        assert open_voltage(vehicle) == pytest.approx(0.75 * whole, rel=1e-3)
        sim.step(30)
        assert open_voltage(vehicle) == pytest.approx(whole, rel=1e-3)


def test_a_cold_battery_has_less_capacity_and_more_resistance():
    """Factors that act on another quantity would change the voltage without load, or the discharge."""

    def drawn(vehicle, sim):
        before = vehicle.battery.charge[0]
        sim.step(100)
        current = vehicle.battery.current[0]
        return (before - vehicle.battery.charge[0]) / current

    with flying(battery=PACK) as (sim, vehicle):
        sim.step(100)
        warm = drawn(vehicle, sim)
        vehicle.inject(BatteryCold(capacity_share=0.5, resistance_factor=4.0, name="cold"))
        sim.step(100)
        assert drawn(vehicle, sim) == pytest.approx(2 * warm, rel=0.02)
        assert fall(vehicle) == pytest.approx(4 * PACK.resistance * vehicle.battery.current[0], rel=0.02)
        vehicle.heal("cold")
        sim.step(100)
        assert fall(vehicle) == pytest.approx(PACK.resistance * vehicle.battery.current[0], rel=0.02)


def test_an_empty_battery_stops_the_rotors_until_the_plug_holds_again():
    """Rotors that turn without power, or a battery that stays empty, would not be a loose plug."""
    with flying(battery=PACK) as (sim, vehicle):
        sim.step(100)
        charge = vehicle.battery.charge[0]
        vehicle.inject(BatteryEmpty(duration=0.5))
        sim.step(120)
        assert vehicle.battery.empty[0]
        assert vehicle.state.rotor_speed[0].max() < 10.0
        sim.step(6)
        # One update of the battery at most has drawn from it since.
        assert vehicle.battery.charge[0] == pytest.approx(charge, abs=1e-4)
        sim.step(94)
        assert not vehicle.battery.empty[0]
        assert vehicle.state.rotor_speed[0].min() > 100.0


def test_batteries_that_cannot_fail_so_are_refused():
    """A vehicle without a battery, or a pack that loses all its cells, must be named at once."""
    with flying() as (_, vehicle), pytest.raises(ConfigError, match="must have a battery"):
        vehicle.inject(BatteryEmpty())
    with flying(battery=PACK) as (_, vehicle):
        with pytest.raises(ConfigError, match="count = 4"):
            vehicle.inject(CellFailure(4))
        with pytest.raises(ConfigError, match="capacity_share = 0"):
            vehicle.inject(BatteryCold(capacity_share=0.0))
