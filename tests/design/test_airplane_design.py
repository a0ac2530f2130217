"""Tests of airplanes made from mass, span, area, tail volumes, propeller, motor and battery."""

import numpy as np
import pytest
from typer.testing import CliRunner

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.cli.main import app
from pegasus.design.airplane_design import AirplaneDesign, airplane_file
from pegasus.design.propulsion import Battery, Motor, Propeller

SIZES = [
    {
        "mass": 0.7,
        "span": 1.1,
        "area": 0.2,
        "propeller": Propeller.parse("9x5"),
        "motor": Motor(kv=1100, mass=0.05),
    },
    {
        "mass": 3.0,
        "span": 1.8,
        "area": 0.45,
        "propeller": Propeller.parse("12x6"),
        "motor": Motor(kv=900, mass=0.12),
    },
    {
        "mass": 9.0,
        "span": 3.4,
        "area": 0.8,
        "propeller": Propeller.parse("18x10"),
        "motor": Motor(kv=400, mass=0.4),
    },
]


def design(**fields):
    values = {"name": "my_plane", "battery": Battery(cell_count=4, capacity=3.0)} | SIZES[1] | fields
    return AirplaneDesign(**values)


@pytest.fixture(params=SIZES, ids=["0.7 kg", "3 kg", "9 kg"])
def flown(request, tmp_path):
    """Return a design, and its accelerations by velocity and rotation, without thrust."""
    made = design(**request.param)
    path = tmp_path / "my_plane.yaml"
    path.write_text(airplane_file(made))
    with Simulation("flat") as simulation:
        plane = simulation.add(Multirotor(path, position=(0, 0, 100), sensors={}))

        def accelerations(alpha=0.0, beta=0.0, rotation=(0.0, 0.0, 0.0)):
            air = made.cruise_speed * np.array(
                [np.cos(alpha) * np.cos(beta), -np.sin(beta), -np.sin(alpha) * np.cos(beta)]
            )
            plane.place((0, 0, 100), velocity=air, angular_velocity=rotation)
            simulation.step()
            return plane.state.acceleration[0].copy(), plane.state.angular_acceleration[0].copy()

        yield made, accelerations


def test_it_is_trimmed_at_its_cruise_speed(flown):
    """An airplane would climb, sink or turn over at the speed that its file states."""
    made, accelerations = flown
    linear, angular = accelerations()
    assert linear[2] == pytest.approx(0.0, abs=0.04 * 9.81)
    # The rest is balanced by less than a degree of the angle of attack.
    slope = (accelerations(alpha=0.02)[1][1] - angular[1]) / 0.02
    assert abs(angular[1] / slope) < np.radians(1.0)
    assert angular[[0, 2]] == pytest.approx([0.0, 0.0], abs=1e-9)
    # A stopped propeller brakes as well.
    assert made.drag / made.mass < -linear[0] < 3.0 * made.drag / made.mass


def test_it_is_stable_about_all_axes(flown):
    """A tail would be too small, on the wrong side of the centre of mass, or upside down."""
    _, accelerations = flown
    trim = accelerations()[1]
    # A positive pitch acceleration lowers the nose; wind from the right turns it right and rolls left.
    assert accelerations(alpha=0.05)[1][1] > trim[1] + 0.3
    roll, _, yaw = accelerations(beta=0.1)[1]
    assert roll < 0.0
    assert yaw < 0.0
    for axis in range(3):
        rotation = np.zeros(3)
        rotation[axis] = 0.5
        assert (accelerations(rotation=rotation)[1] - trim)[axis] < 0.0


def test_tails_have_their_volumes():
    """A tail volume would be without effect, or mean something else."""
    small, large = design(tail_volume=0.4, fin_volume=0.03), design(tail_volume=0.8, fin_volume=0.06)
    for made, tail, fin in ((small, 0.4, 0.03), (large, 0.8, 0.06)):
        assert made.tail_area * made.tail_arm / (made.area * made.chord) == pytest.approx(tail)
        assert made.fin_area * made.tail_arm / (made.area * made.span) == pytest.approx(fin)
    assert large.wing_place > small.wing_place


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"area": 3.0}, "area = 3.0: must give an aspect ratio from 2 to 30, not 1.08"),
        ({"mass": 0.5}, "mass = 0.5: must leave more for the fuselage"),
        ({"motor": Motor(kv=150, mass=0.12)}, "kv = 150: cannot hold"),
        ({"tail_volume": 0.01}, "tail_volume = 0.01: must be from 0.2 to 1.5"),
    ],
)
def test_what_cannot_fly_is_one_line(fields, problem):
    """An airplane that cannot fly would be written."""
    with pytest.raises(ConfigError) as caught:
        design(**fields)
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


def test_the_command_writes_an_airplane(tmp_path):
    """The command would ask for the diagonal of an airplane, or write a multirotor."""
    figures = "--mass 3 --span 1.8 --aspect-ratio 8 --propeller 12x6 --kv 900 --cells 4 --capacity 5"
    result = CliRunner().invoke(app, ["make", "vehicle", "mine", *figures.split(), "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    plane = Multirotor(tmp_path / "mine.yaml")
    assert [channel.name for channel in plane.channels] == [
        *("rotor_0", "brake", "left_aileron", "right_aileron", "elevator", "rudder")
    ]
    assert sum(
        surface["area"] for name, surface in plane.spec.surfaces.items() if "wing" in name
    ) == pytest.approx(1.8**2 / 8, rel=1e-3)
