"""Tests of the warnings of figures that suggest wrong units."""

import pytest

from pegasus import Multirotor, Simulation
from pegasus.config.settings import names
from pegasus.core.plausibility import unlikely_figures

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")
GRAMS = {"extends": "iris", "inertia": [29.125, 29.125, 55.225]}
MILLIMETRES = {
    "extends": "iris",
    "rotors": [
        {"position": [x, y, 0.06], "direction": spin}
        for x, y, spin in ((150, -150, "ccw"), (-150, 150, "ccw"), (150, 150, "cw"), (-150, -150, "cw"))
    ],
}
REVOLUTIONS = {"extends": "iris", "motor": {"model": "ideal", "max_speed": 8000.0}}


def lines(caplog, model, **options):
    caplog.clear()
    with Simulation("flat") as simulation:
        simulation.add(Multirotor(model, position=(0.0, 0.0, 300.0), **options))
    return [record.getMessage() for record in caplog.records]


def test_wrong_units_are_told_once(caplog):
    """Inertia in g m^2, arms in mm and speeds in rev/min would be flown in silence."""
    (line,) = lines(caplog, GRAMS, count=3)
    assert "inertia of 55.2 kg m^2 and mass of 1.5 kg mean a radius of gyration of 6.07 m" in line
    assert "0.255 m from the centre of mass at most; check the units" in line
    assert any(
        "a rotor is 212 m from the centre of mass, more than 10 m" in x for x in lines(caplog, MILLIMETRES)
    )
    tip, ratio = lines(caplog, REVOLUTIONS)
    assert "motor.max_speed of 8000 rad/s" in tip
    assert "tip speed of Mach 3, above 0.9" in tip
    assert "times the weight, above 15" in ratio


def test_copies_that_differ_are_told(caplog):
    """The one copy with a wrong mass of a varied vehicle would pass."""
    gyration, ratio = lines(caplog, "iris", count=2, variation={"mass": [1.5, 0.15]})
    assert "mass of 0.15 kg" in gyration
    assert "22.3 times the weight" in ratio


@pytest.mark.parametrize("name", names("vehicles"))
def test_shipped_vehicles_are_plausible(name):
    """Warnings that shipped vehicles give would be ignored."""
    assert unlikely_figures(Multirotor(name)) == []
