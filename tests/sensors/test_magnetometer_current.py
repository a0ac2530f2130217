"""Tests of magnetometers near currents and steel."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec, parse
from pegasus.control import GeometricController, trajectories
from pegasus.sensors import SENSORS, BatteryMonitor, Magnetometer, Sensor
from pegasus.sensors.magnetometer import lead_field
from tests.flyers import PLAIN_IRIS

QUIET: dict[str, Any] = {"noise_density": 0.0, "bias_random_walk": 0.0, "turn_on_bias": 0.0}
BATTERY_IRIS = {
    "extends": "iris",
    "battery": {"model": "lithium_polymer", "cell_count": 4, "capacity": 5.0, "resistance": 0.012},
}
LEAD = ((-0.05, 0.01, 0.0), (0.04, 0.02, -0.01), (0.05, -0.03, 0.02))


def test_the_field_of_a_lead_is_that_of_biot_and_savart() -> None:
    """The closed form of a straight piece would have a wrong sign or factor."""
    place = np.array([0.02, 0.01, 0.06])
    total = np.zeros(3)
    for start, end in zip(np.array(LEAD[:-1]), np.array(LEAD[1:]), strict=True):
        for axis in range(3):

            def density(s: float, start: Any = start, end: Any = end, axis: int = axis) -> float:
                away = place - (start + s * (end - start))
                return float(1e-7 * np.cross(end - start, away)[axis] / np.linalg.norm(away) ** 3)

            total[axis] += quad(density, 0.0, 1.0, epsabs=1e-16)[0]
    assert_allclose(lead_field(LEAD, tuple(place)), total, rtol=1e-9)


def test_a_long_lead_has_the_field_of_an_infinite_one() -> None:
    """The field would not be mu_0 I / 2 pi r, around the current by the right hand."""
    field = lead_field(((0.0, 0.0, -1e3), (0.0, 0.0, 1e3)), (0.05, 0.0, 0.0))
    assert_allclose(field, [0.0, 2e-7 / 0.05, 0.0], rtol=1e-8)


def test_the_current_of_the_battery_adds_its_field() -> None:
    """The field would not follow the current of the flight, or turn with the soft iron."""
    iron = {"soft_iron": ((1.1, 0.0, 0.1), (0.0, 0.9, 0.0), (0.0, 0.0, 1.0)), "hard_iron": (1e-6, 0.0, 0.0)}
    per_current = (2e-8, -5e-8, 1e-8)
    with Simulation("flat", seed=2) as sim:
        sensors: dict[str, Sensor] = {
            "plain": Magnetometer(**QUIET, **iron),
            "beside": Magnetometer(
                **QUIET, **iron, current_field=per_current, lead=LEAD, position=(0.0, 0.0, 0.08)
            ),
            "battery": BatteryMonitor(rate_hz=50.0),
        }
        hold = GeometricController(trajectories.hold(height=1.5))
        vehicle = sim.add(Multirotor(BATTERY_IRIS, backends=[hold], sensors=sensors))
        currents = []
        for _ in range(4):
            sim.run(duration=0.5)
            current = vehicle.readings["battery"].current
            extra = vehicle.readings["beside"].magnetic_field - vehicle.readings["plain"].magnetic_field
            expected = (np.array(per_current) + lead_field(LEAD, (0.0, 0.0, 0.08))) * current[:, None]
            assert_allclose(extra, expected, rtol=1e-7)
            currents.append(float(current[0]))
    assert max(currents) > 1.1 * min(currents) > 0


def test_without_a_battery_there_is_no_current() -> None:
    """A vehicle without a battery would be flown without the disturbance that its file asks for."""
    for given, field in (({"current_field": (1e-8, 0.0, 0.0)}, "current_field"), ({"lead": LEAD}, "lead")):
        compass = Magnetometer(**QUIET, **given, position=(0.0, 0.0, 0.1))
        with (
            Simulation("flat") as sim,
            pytest.raises(ConfigError, match=rf"sensors\.compass\.{field}.*has no battery.*add a battery"),
        ):
            sim.add(Multirotor(PLAIN_IRIS, sensors={"compass": compass}))


def test_steel_in_the_world_disturbs_the_reading() -> None:
    """A magnetometer would read the Earth's field beside steel, or that of a place without it."""
    steel = [{"position": [1.0, 0.0, 0.1], "radius": 0.3}]
    world = parse({"name": "yard", "generator": {"model": "flat"}, "steel": steel}, WorldSpec)
    with Simulation(world) as sim:
        sensors: dict[str, Sensor] = {"compass": Magnetometer(**QUIET)}
        places = [(0.0, 0.0, 0.1), (20.0, 0.0, 0.1)]
        vehicle = sim.add(Multirotor("iris", count=2, position=places, sensors=sensors))
        sim.step()
        field = vehicle.readings["compass"].magnetic_field
        expected = sim.environment.disturbed_field_at(np.array(places))
        earth = sim.environment.magnetic_field_at(np.array(places))
    assert_allclose(field, expected, atol=1e-10)
    disturbance = np.linalg.norm(field - earth, axis=1)
    assert disturbance[0] > 1e-6
    assert disturbance[1] < 1e-9


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"current_field": [0.0, math.nan, 0.0]}, "current_field"),
        ({"lead": [[0.0, 0.0, 0.1]]}, "lead"),
        ({"lead": [[-0.1, 0.0, 0.0], [0.1, 0.0, 0.0]]}, "lead"),
        ({"lead": [[-0.1, 0.0, 1e-4], [0.1, 0.0, 1e-4]]}, "lead"),
        ({"position": [0.0, 0.0]}, "position"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], field: str) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.compass\.{field}"):
        build(Sensor, SENSORS, {"model": "magnetometer"} | parameters, field="sensors.compass")
