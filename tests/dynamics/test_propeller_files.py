"""Propeller data files of UIUC, and coefficients continued by momentum theory beyond them."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from pegasus import Multirotor
from pegasus.base.errors import ConfigError
from pegasus.config.files import load_vehicle
from pegasus.dynamics import PropellerThrust
from pegasus.dynamics.rotor_states import axial_inflow, disc_inflow

ROWS = """\
J       CT       CP       eta
0.142   0.0994   0.0451   0.313
0.216   0.0885   0.0436   0.438
0.289   0.0770   0.0414   0.537
0.361   0.0652   0.0392   0.600
0.438   0.0502   0.0352   0.625
0.510   0.0343   0.0308   0.568
0.577   0.0178   0.0258   0.398
0.647  -0.0011   0.0199  -0.036
0.719  -0.0218   0.0130  -1.206
"""
"""APC Slow Flyer 10x4.7 at 4014 rpm, every second row of `apcsf_10x4.7_kt0836_4014.txt`, UIUC database."""
STATIC = "RPM CT CP\n2377 0.1158 0.0480\n4000 0.1177 0.0476\n4100 0.1187 0.0478\n6528 0.1230 0.0485\n"
TURNS = 4014 / 60
RHO = 1.225


@pytest.fixture
def files(tmp_path):
    """Return the names of an advance-ratio file and a static file in a folder of their own."""
    names = [tmp_path / "apcsf_10x4.7_kt0836_4014.txt", tmp_path / "apcsf_10x4.7_static.txt"]
    for name, text in zip(names, (ROWS, STATIC), strict=True):
        name.write_text(text)
    return [str(name) for name in names]


def coefficients(curve, ratio):
    """Return C_T and C_P at an advance ratio, from thrust and torque."""
    speed = np.array([[TURNS * 2 * math.pi]])
    inflow = np.array([[ratio * TURNS * curve.diameter]])
    force, torque = curve.thrust(speed, inflow, np.array([[RHO]]))
    scale = RHO * TURNS**2 * curve.diameter**4
    return force[0, 0] / scale, torque[0, 0] * 2 * math.pi / (scale * curve.diameter)


def test_file_gives_its_own_points(files):
    """A column taken for another, or rpm for rad/s, would give other coefficients than the wind tunnel."""
    curve = PropellerThrust(diameter=0.254, file=files[0])
    for line in ROWS.splitlines()[1:]:
        ratio, thrust, power, _ = map(float, line.split())
        assert coefficients(curve, ratio) == pytest.approx((thrust, power), abs=1e-12)


def test_static_file_gives_the_coefficients_at_rest_at_the_speed_of_the_other(files):
    """Coefficients at rest of another rotational speed are 5 % off."""
    curve = PropellerThrust(diameter=0.254, file=files[0], static_file=files[1])
    assert coefficients(curve, 0.0) == pytest.approx((0.11784, 0.047628), rel=1e-9)


def test_without_static_file_the_first_rows_are_continued_to_rest(files):
    """Held at the first row the propeller would lift 16 % too little in hover."""
    curve = PropellerThrust(diameter=0.254, file=files[0])
    # The database's own static measurements of this propeller: 0.1185 and 0.0480 on average.
    assert coefficients(curve, 0.0) == pytest.approx((0.1185, 0.0480), rel=0.025)


def test_columns_may_stand_in_any_order(files, tmp_path):
    """A file with further columns, as other tools write it, would be misread."""
    other = tmp_path / "other.txt"
    lines = ["eta CP J CT"] + [
        " ".join((eta, power, ratio, thrust))
        for ratio, thrust, power, eta in (line.split() for line in ROWS.splitlines()[1:])
    ]
    other.write_text("\n".join(lines))
    first, second = (PropellerThrust(diameter=0.254, file=name) for name in (files[0], str(other)))
    assert first.parameters() == second.parameters()


@pytest.mark.parametrize(("x", "ratio"), [(0.0, 1.0), (-0.5, 1.393), (-1.0, 1.816), (-1.5, 2.083)])
def test_vortex_ring_state_is_that_of_the_textbook(x, ratio):
    """Leishman 2006, eq. 2.96, evaluated by hand: 1 - 1.125 x - 1.372 x^2 - 1.718 x^3 - 0.655 x^4."""
    assert axial_inflow(0.3 * x, 0.3) / 0.3 == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize("x", [0.5, 2.0, -2.5, -4.0])
def test_climb_and_windmill_brake_state_fulfil_momentum_theory(x):
    """A root of the other sign would give an induced velocity against the thrust."""
    induced = axial_inflow(0.3 * x, 0.3) / 0.3
    root = brentq(lambda v: abs(x + v) * v - 1.0, 0.0, 1.0 if x > 0 else -x / 2 - 1e-12)
    assert induced == pytest.approx(root, rel=1e-9)


@pytest.mark.parametrize("ratio", [-1.8, -0.9, -0.4, -0.1, 0.8, 1.0, 1.5])
def test_continued_power_is_thrust_times_disc_flow_and_profile_power(files, ratio):
    """Power without the induced part would let a windmill give more than the air has."""
    curve = PropellerThrust(diameter=0.254, file=files[0])
    ratio = round(ratio / 0.02) * 0.02 if ratio < 0 else 0.719 + round((ratio - 0.719) / 0.02) * 0.02
    thrust, power = coefficients(curve, ratio)
    edge = coefficients(curve, 0.0 if ratio < 0 else 0.719)
    profile = edge[1] - edge[0] * disc_inflow(0.0 if ratio < 0 else 0.719, edge[0])
    assert profile > 0.01
    assert power - thrust * disc_inflow(ratio, thrust) == pytest.approx(profile, rel=1e-6)


def test_thrust_in_descent_stays_within_bounds(files):
    """Held at rest's value, or unbounded, a fast descent would brake too little or without limit."""
    curve = PropellerThrust(diameter=0.254, file=files[0])
    rest = coefficients(curve, 0.0)[0]
    course = np.array([coefficients(curve, -ratio)[0] for ratio in np.linspace(0.0, 2.0, 101)])
    # The vortex-ring state costs a little thrust at first.
    assert course.min() > 0.99 * rest
    assert course[15] > 1.05 * rest
    assert course.max() <= 1.3 * rest + 1e-9
    # A rotor that turns more slowly in the same stream keeps its drag: C_T / J^2.
    assert coefficients(curve, -6.0)[0] / 36 == pytest.approx(course[-1] / 4, rel=1e-9)


def test_air_takes_energy_out_at_every_advance_ratio(files):
    """C_P below J C_T anywhere would be a flight that gains energy from still air."""
    curve = PropellerThrust(diameter=0.254, file=files[0])
    for ratio in np.linspace(-6.0, 6.0, 2401):
        thrust, power = coefficients(curve, ratio)
        assert power - ratio * thrust > 0.005, ratio


def test_windmill_turns_its_rotor(files):
    """A torque that opposes the rotation in the windmill brake state would stop an autorotating rotor."""
    curve = PropellerThrust(diameter=0.254, file=files[0])
    for ratio in (-1.0, 1.0):
        thrust, power = coefficients(curve, ratio)
        assert power < 0
        assert thrust * ratio < 0


def test_vehicle_file_names_its_propeller_relative_to_itself(files, tmp_path, monkeypatch):
    """A path relative to the working folder would be found from one folder only."""
    vehicle = tmp_path / "mine.yaml"
    folder = Path(files[0]).parent
    curve = {"model": "propeller", "diameter": 0.254, "file": Path(files[0]).name}
    curve |= dict.fromkeys(("advance_ratio", "thrust_coefficient", "power_coefficient"))
    vehicle.write_text(f"extends: iris\nname: mine\nthrust_curve: {json.dumps(curve)}\n")
    monkeypatch.chdir("/")
    assert load_vehicle(vehicle)[0].thrust_curve["file"] == str(folder / "apcsf_10x4.7_kt0836_4014.txt")
    made = Multirotor(vehicle).thrust_curve
    assert coefficients(made, 0.142)[0] == pytest.approx(0.0994)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("J       CT", "J       CX"), "has no column CT"),
        (("0.0392", "0.03x2"), "line 5: '0.03x2' is not a finite number"),
        (("0.0392", "nan"), "line 5: 'nan' is not a finite number"),
        (("   0.0392", ""), "line 5 has 3 of 4 numbers"),
        (("0.361", "0.261"), r"line 5: J falls from 0.289 to 0.261"),
        (("0.719", "1.719"), "no rows between the advance ratios 0.647 and 1.719"),
        (("0.0770   0.0414", "0.0770   0.0214"), "efficiency above 1 at J = 0.289"),
        ((ROWS[ROWS.index("0.289") :], ""), "has 2 rows"),
        ((ROWS, ""), "has no column J"),
        ((ROWS, STATIC), "has no column J"),
    ],
)
def test_bad_file_is_one_line_with_its_place(files, change, problem):
    """A table with a gap or out of order would fly with coefficients that nobody measured."""
    assert change[0] in ROWS
    Path(files[0]).write_text(ROWS.replace(*change))
    with pytest.raises(ConfigError, match=problem) as caught:
        PropellerThrust(diameter=0.254, file=files[0])
    assert str(caught.value).startswith(f"file = '{files[0]}': ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("file", {"file": "none.txt"}),
        ("file", {"file": "FILE", "thrust_coefficient": 0.1}),
        ("static_file", {"static_file": "FILE", "thrust_coefficient": 0.1, "power_coefficient": 0.04}),
        ("static_file", {"file": "FILE", "static_file": "FILE"}),
        ("thrust_coefficient", {}),
        ("power_coefficient", {"thrust_coefficient": 0.1}),
        ("beyond", {"thrust_coefficient": 0.1, "power_coefficient": 0.04, "beyond": "momentum"}),
        ("beyond", {"file": "FILE", "beyond": "theory"}),
        (
            "advance_ratio",
            {
                "advance_ratio": (0.1, 0.5),
                "thrust_coefficient": (0.1, 0.02),
                "power_coefficient": (0.04, 0.03),
                "beyond": "momentum",
            },
        ),
        (
            "power_coefficient",
            {
                "advance_ratio": (0.0, 0.5),
                "thrust_coefficient": (0.1, 0.08),
                "power_coefficient": (0.04, 0.03),
                "beyond": "momentum",
            },
        ),
    ],
)
def test_contradicting_parameters_are_refused(files, field, given):
    """Two sources of one coefficient would leave open which of them flies."""
    given = {name: files[0] if value == "FILE" else value for name, value in given.items()}
    with pytest.raises(ConfigError, match=f"^{field}(:| =)"):
        PropellerThrust(diameter=0.254, **given)
