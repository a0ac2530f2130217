"""Tests of the sheet of a vehicle against closed forms."""

import math

import pytest
import yaml

from pegasus.base.system import resource
from pegasus.design.vehicle_sheet import vehicle_sheet

IRIS = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())


@pytest.fixture
def sheet(tmp_path):
    """Return the sheet of an Iris with changes, by label."""

    def of(**changes):
        path = tmp_path / "vehicle.yaml"
        path.write_text(yaml.safe_dump(IRIS | changes, sort_keys=False))
        return dict(vehicle_sheet(path))

    return of


def numbers(text):
    """Return the numbers of a text."""
    words = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    return [float(word) for word in words if word.lstrip("-")[:1].isdigit()]


def test_hover(sheet):
    """Speed, thrust, torque, power or thrust to weight would not be those of equal shares of the weight."""
    rows = sheet()
    # A quarter of m g each, g = 9.80 m/s^2 at 38.7 deg north, 90 m above the sea;
    # F = C_T rho n^2 D^4, Q = C_P D F / (2 pi C_T).
    force = 1.5 * 9.80 / 4
    density = 1.225 * (1 - 2.25577e-5 * 90) ** 4.2559
    speed = 2 * math.pi * math.sqrt(force / (0.123 * density * 0.254**4))
    ratio = 0.0497 * 0.254 / (2 * math.pi * 0.123)
    assert numbers(rows["hover"]) == pytest.approx([speed, force, ratio * force], rel=2e-3)
    assert numbers(rows["shaft power in hover"]) == pytest.approx([4 * ratio * force * speed], rel=2e-3)
    assert numbers(rows["thrust to weight"])[0] == pytest.approx((718 / speed) ** 2, rel=2e-3)
    assert rows["controllable"].startswith("yes")


def test_tilted_rotors(sheet):
    """Tilted rotors would carry the weight as upright ones do, or their tilt not be shown."""
    tilted = [rotor | {"axis": [0.0, math.sin(0.3), math.cos(0.3)]} for rotor in IRIS["rotors"]]
    upright, rows = sheet(), sheet(rotors=tilted)
    ratio = numbers(rows["hover"])[1] / numbers(upright["hover"])[1]
    assert ratio == pytest.approx(1 / math.cos(0.3), rel=1e-3)
    assert rows["rotor 0"].endswith("axis (0, 0.29552, 0.955336)")


def test_vehicles_that_cannot_hover(sheet):
    """An airframe that does not lift or steer would give infinite figures, or none at all."""
    down = [rotor | {"axis": [0.0, 0.0, -1.0]} for rotor in IRIS["rotors"]]
    assert sheet(rotors=down)["hover"].startswith("none")
    same = [rotor | {"direction": "ccw"} for rotor in IRIS["rotors"]]
    assert sheet(rotors=same)["controllable"].startswith("no: ")


def test_figures_of_the_file(sheet):
    """What the file says would be shown as something else, or be left out."""
    rows = sheet(inertia=[0.03, 0.03, 0.05, 0.001, 0.0, -0.002], sensors={"eye": {"model": "gps"}}, drag=None)
    assert numbers(rows["inertia"])[:6] == [0.03, 0.03, 0.05, 0.001, 0.0, -0.002]
    assert rows["motor"].startswith("first_order: time_constant_up 0.0125")
    assert rows["drag"] == "none"
    assert rows["sensor eye"].startswith("GPS at ")
    assert "sensor imu" not in rows
    assert rows["rotor 1"] == "(-0.125, 0.219, 0.023) m, ccw"


def test_electric_motors_draw_their_own_power(sheet):
    """The hover time of electric motors would be that of an efficiency, their lag that of other motors."""
    kind = {"model": "electric", "kv": 920, "resistance": 0.12, "no_load_current": 0.5, "inertia": 1.0e-5}
    drive = {"speed_control": "open_loop", "nominal_voltage": 11.1, "max_speed": 718}
    rows = sheet(motor=kind | drive, propeller={"diameter": 0.254, "inertia": 3.0e-5})
    speed, _, torque = numbers(rows["hover"])
    constant = 30.0 / (math.pi * 920)
    current = torque / constant + 0.5
    power = 4 * current * (0.12 * current + constant * speed)
    assert numbers(rows["power of the motors in hover"])[0] == pytest.approx(power, rel=5e-3)
    damping = constant**2 / 0.12 + 2 * torque / speed
    assert numbers(rows["motor lag in hover"])[0] == pytest.approx(1e3 * 4.0e-5 / damping, abs=0.6)
    shaft, usual = numbers(rows["shaft power in hover"])[0], sheet()
    assert numbers(usual["power of the motors in hover"])[0] == pytest.approx(shaft / 0.75, rel=5e-3)
