"""Tests of vehicle, world and scenario files: each error is one line with file, field, value and remedy."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.config.files import load_scenario, load_vehicle, load_world, read_file
from pegasus.config.rotor_specs import RotorRing
from pegasus.config.scenario import VehicleSpec, inertia_tensor, parse
from pegasus.config.settings import names

MINIMAL = {
    "name": "small",
    "mass": 1.0,
    "inertia": [0.01, 0.01, 0.018],
    "rotors": {"count": 6, "radius": 0.3},
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
}


@pytest.mark.parametrize(
    ("kind", "load"), [("vehicles", load_vehicle), ("worlds", load_world), ("scenarios", load_scenario)]
)
def test_every_shipped_file_loads(kind, load):
    """A shipped file would be rejected by its own model."""
    assert names(kind)
    for name in names(kind):
        assert load(name)[0].name == name


def test_a_ring_of_rotors():
    """Rotors would be off the ring, or two neighbours turn the same way, without control of yaw."""
    rotors = RotorRing(count=6, radius=0.3, height=0.05).rotors()
    points = np.array([rotor.position for rotor in rotors])
    np.testing.assert_allclose(np.hypot(points[:, 0], points[:, 1]), 0.3)
    np.testing.assert_allclose(np.arctan2(points[0, 1], points[0, 0]), np.pi / 6)
    assert [rotor.direction for rotor in rotors] == ["ccw", "cw"] * 3


def test_inertia_of_six_numbers():
    """Products of inertia in the wrong place would tilt the principal axes."""
    np.testing.assert_array_equal(inertia_tensor((1, 2, 3, 4, 5, 6)), [[1, 4, 5], [4, 2, 6], [5, 6, 3]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": -1.0}, "mass = -1.0: must be above 0"),
        ({"mass": 1e-20}, "mass = 1e-20: must be at least 1e-06 kg"),
        ({"mass": float("nan")}, "mass = nan: must be a finite number"),
        ({"inertia": [0.01, 0.01, 0.05]}, "inertia = (0.01, 0.01, 0.05): violates the triangle inequality"),
        ({"inertia": [0.01, -0.01, 0.018]}, "principal moments must be above 0"),
        ({"inertia": [0.01, 0.01, 0.018, 0.02, 0, 0]}, "principal moments must be above 0"),
        ({"colour": "red"}, "colour: unknown field; allowed here: ardupilot, battery, body, center_of_mass"),
        (
            {"rotors": [{"prim": "r0", "direction": "ccw"}]},
            "rotors.0.prim = 'r0': names a prim, but the vehicle has no USD model; name the model",
        ),
        (
            {"usd": "m.usd", "rotors": [{"prim": "r0", "direction": "ccw"}] * 2},
            "rotors.1.prim = 'r0': is that of rotor 0 already",
        ),
        (
            {"usd": "m.usd", "rotors": [{"prim": "r0", "direction": "ccw", "axis": [0, 0, 0]}]},
            "rotors.0.axis = (0.0, 0.0, 0.0): must not be zero",
        ),
        (
            {"usd": "m.usd", "rotors": [{"prim": "r0", "spin": "ccw"}]},
            "rotors.0.spin: unknown field; allowed here: axis, direction, joint, pitch_joint, position, "
            "prim, propulsion",
        ),
        ({"rotors": []}, "rotors = []: must hold at least one rotor"),
        ({"rotors": {"count": 1, "radius": 0.3}}, "rotors.count = 1: must be at least 2"),
    ],
)
def test_wrong_vehicles_are_refused(change, message):
    """An invalid vehicle would be accepted, or its error take more than one line."""
    with pytest.raises(ConfigError) as caught:
        parse(MINIMAL | change, VehicleSpec)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_name_their_file(tmp_path):
    """The error would not name the file."""
    for content, message in (
        ("mass: [", "is not valid YAML"),
        ("- a list", "must hold a mapping"),
        ("name: x", "required field is missing"),
    ):
        path = tmp_path / "mine.yaml"
        path.write_text(content)
        with pytest.raises(ConfigError) as caught:
            read_file(path, VehicleSpec)
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_unknown_names_list_the_known_ones():
    """The error for a misspelt name would not list the valid names."""
    with pytest.raises(ConfigError, match=r"vehicle = 'irsi': no such vehicle; known are .*iris"):
        load_vehicle("irsi")
    with pytest.raises(ConfigError, match=r"world = 'nowhere': no such world; known are .*courtyard"):
        load_world("nowhere")
    with pytest.raises(ConfigError, match=r"vehicle = 'no/such/file.yaml': no such file"):
        load_vehicle("no/such/file.yaml")
