"""Tests of the check that battery, motors and propellers of a vehicle fit."""

import logging
import re
from dataclasses import replace

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.dynamics import Battery
from tests.flyers import HIGH, MULTIROTORS, PLAIN_IRIS, Constant

WEAK = Battery(cell_count=4, capacity=1.8, resistance=0.0333, rated_voltage=14.8, avionics_power=10.0)
"""A pack of 15 milliohm per cell and A h: 2019 W at most, where the racer's motors take 2316 W."""


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("name", MULTIROTORS)
def test_every_shipped_battery_feeds_full_throttle(name, caplog):
    """A shipped vehicle would be cut off by its own battery."""
    fastest = Multirotor(name).motor.max_speed
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor(name, sensors={}, position=HIGH, backends=[Constant(fastest)]))
        sim.run(duration=2.0)
        assert vehicle.battery is None or not vehicle.battery.empty.any()
        assert vehicle.state.rotor_speed.min() > 0.95 * fastest
    assert warnings(caplog) == []


def test_a_battery_that_full_throttle_cuts_off_is_told_at_once(caplog):
    """The rotors would stop in flight without a word before, or the figures be those of another load."""
    with Simulation("flat") as sim:
        sim.add(Multirotor("racer", sensors={}, battery=WEAK))
        (line,) = warnings(caplog)
        found = re.fullmatch(
            r"racer: the full battery has 4 cells and 0.0333 ohm; with all rotors at 2332 rad/s, which take "
            r"([\d.]+) W with the avionics, it gives ([\d.]+) V at ([\d.]+) A, below its cut-off of 12 V; "
            r"the rotors stop until the load ends; battery.resistance up to ([\d.]+) ohm would do",
            line,
        )
        power, voltage, current, most = map(float, found.groups())
        # No more than U^2 / (4 R), at half of the voltage.
        full = 4 * 4.1029
        assert power > full**2 / (4 * WEAK.resistance)
        assert (voltage, current) == pytest.approx((full / 2, full / 2 / WEAK.resistance), rel=0.01)
        # With that resistance the voltage under load is the cut-off: (U - V) / R = P / V.
        assert (full - 12.0) / most == pytest.approx(power / 12.0, rel=0.01)
        caplog.clear()
        fits = replace(WEAK, resistance=0.99 * most)
        sim.add(Multirotor("racer", name="fits", sensors={}, position=(5, 0, 1), battery=fits))
        assert warnings(caplog) == []


def test_a_brown_out_in_flight_ends_with_the_load(caplog):
    """A full battery would stay cut off after a burst of full throttle, or be reported again and again."""
    pilot = Constant(Multirotor("racer").motor.max_speed)
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("racer", sensors={}, position=HIGH, backends=[pilot], battery=WEAK))
        caplog.clear()
        lowest = []
        for _ in range(250):
            sim.step()
            lowest.append(float(vehicle.state.rotor_speed.min()))
        # It falters: the rotors stop, and start again without their load.
        assert min(lowest[50:]) < 0.5 * max(lowest[50:])
        assert warnings(caplog) == [
            "racer at t = 0.1 s: 0 batteries low, 0 empty, 1 below the cut-off voltage under load"
        ]
        pilot.answer[...] = 1000.0
        sim.run(duration=1.0)
        assert not vehicle.battery.empty.any()
        np.testing.assert_allclose(vehicle.state.rotor_speed, 1000.0, rtol=1e-6)
        assert len(warnings(caplog)) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"resistance": 0.5}, "below its cut-off of 12 V"),
        ({"rated_voltage": 40.0}, r"which allows 4\d\d rad/s"),
    ],
)
def test_a_battery_that_cannot_feed_a_hover_is_refused(changes, reason):
    """The vehicle would fall from its first second on, without a reason."""
    pack = Battery(**({"cell_count": 4, "capacity": 5.0, "resistance": 0.01} | changes))
    with (
        Simulation("flat") as sim,
        pytest.raises(ConfigError, match=f"cannot hover: the full battery.*{reason}"),
    ):
        sim.add(Multirotor(PLAIN_IRIS, sensors={}, battery=pack))
