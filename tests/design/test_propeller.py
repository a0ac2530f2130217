"""Tests of propellers by diameter and pitch against wind tunnel and test bench measurements."""

import math

import numpy as np
import pytest
import yaml

from pegasus.base.errors import ConfigError
from pegasus.base.system import resource
from pegasus.design import Propeller

# Static C_T and C_P of the UIUC propeller database, means over the upper half of the measured speeds.
MEASURED = [
    ("8x4", 0.0957, 0.0399),  # APC thin electric
    ("9x4.5", 0.0995, 0.0387),
    ("9x6", 0.1156, 0.0515),
    ("10x5", 0.0976, 0.0373),
    ("11x5.5", 0.0882, 0.0317),
    ("11x7", 0.1075, 0.0442),
    ("9x5", 0.1047, 0.0395),  # GWS direct drive
    ("5x3", 0.1117, 0.0463),
    ("10x6", 0.1134, 0.0403),  # Aeronaut CAM carbon
    ("15x6", 0.0670, 0.0187),
    ("16x8", 0.0935, 0.0308),
    ("8x3.8SF", 0.1085, 0.0462),  # APC slow flyer
    ("9x4.7SF", 0.1189, 0.0483),
    ("10x7SF", 0.1566, 0.0766),
    ("11x4.7SF", 0.1199, 0.0464),
    ("9x6.75x3", 0.2036, 0.1132),  # DA4022, broad blades
    ("9x5.68x4", 0.1395, 0.0702),  # NR640, narrow blades
]


@pytest.mark.parametrize(
    ("slow_flyer", "thrust_band", "power_band"),
    [(False, (0.80, 1.22), (0.76, 1.43)), (True, (0.87, 1.14), (0.82, 1.19))],
    ids=["usual", "slow flyer"],
)
def test_nine_of_ten_are_within_the_stated_bands(slow_flyer, thrust_band, power_band):
    """A vehicle would lift, or take, what no propeller of its size does."""
    compared = [
        (thrust / propeller.thrust_coefficient, power / propeller.power_coefficient)
        for propeller, thrust, power in ((Propeller.parse(n), t, p) for n, t, p in MEASURED)
        if propeller.slow_flyer == slow_flyer and propeller.blade_count == 2
    ]
    for k, (low, high) in enumerate((thrust_band, power_band)):
        assert sum(low < ratios[k] < high for ratios in compared) >= 0.9 * len(compared)


@pytest.mark.parametrize(("name", "thrust", "power"), [row for row in MEASURED if row[0].count("x") == 2])
def test_more_blades(name, thrust, power):
    """Three blades would lift as two: one of these propellers is broader than usual, one narrower."""
    propeller = Propeller.parse(name)
    assert 1 / 1.5 < thrust / propeller.thrust_coefficient < 1.5
    assert 1 / 1.5 < power / propeller.power_coefficient < 1.5


def test_the_fits_are_in_the_middle_of_what_was_measured():
    """Estimates that all lie on one side would make every vehicle too strong, or too weak."""
    two = [(Propeller.parse(name), t, p) for name, t, p in MEASURED if name.count("x") == 1]
    for mean in (
        sum(math.log(t / a.thrust_coefficient) for a, t, _ in two) / len(two),
        sum(math.log(p / a.power_coefficient) for a, _, p in two) / len(two),
    ):
        assert abs(mean) < 0.12


def test_apc_slow_flyer_10x4_7():
    """UIUC, means over all static points of this propeller: C_T 0.1185, C_P 0.0480."""
    propeller = Propeller.parse("10x4.7SF")
    assert propeller.thrust_coefficient == pytest.approx(0.1185, rel=0.02)
    assert propeller.power_coefficient == pytest.approx(0.0480, rel=0.02)


def test_epp1045():
    """The constants that Hector measured on a test bench: thrust 1.538e-5, torque by thrust 0.0153 m."""
    propeller = Propeller.parse("10x4.5SF")
    assert propeller.thrust_constant == pytest.approx(1.538e-5, rel=0.05)
    assert propeller.moment_ratio == pytest.approx(0.015337, rel=0.07)


def test_five_inch_three_blades():
    """A bench's HQ 5x4x3 at 24082 rpm: 7.68 N."""
    propeller = Propeller.parse("5x4x3")
    thrust = propeller.thrust_constant * (24082 * math.pi / 30) ** 2
    assert thrust == pytest.approx(7.68, rel=0.1)


def test_thrust_and_torque_are_those_of_the_coefficients():
    """A factor of 2 pi gone wrong would be a vehicle of forty times the thrust."""
    propeller = Propeller(
        diameter=0.3,
        pitch=0.15,
        measured_thrust_coefficient=0.1,
        measured_power_coefficient=0.05,
    )
    turns, speed = 80.0, 80.0 * 2 * math.pi
    assert propeller.thrust_constant * speed**2 == pytest.approx(0.1 * 1.225 * turns**2 * 0.3**4)
    power = propeller.torque_constant * speed**3
    assert power == pytest.approx(0.05 * 1.225 * turns**3 * 0.3**5)


@pytest.mark.parametrize(("name", "mass"), [("5x4.5", 0.0035), ("10x4.5", 0.012), ("15x5", 0.0265)])
def test_mass_is_that_of_its_size(name, mass):
    """Rotors would be slow to answer, or the vehicle hard to turn."""
    assert Propeller.parse(name).mass == pytest.approx(mass, rel=0.15)


@pytest.mark.parametrize("text", ["10x4.5", "5x4.3x3", "10x4.7SF", "8.5x6x4sf"])
def test_designations_come_back(text):
    """What was read would be another propeller than that which was written."""
    assert str(Propeller.parse(text)).lower() == text.lower()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ten", "propeller = 'ten': must be diameter x pitch in inches; such as 10x4.5"),
        ("10", "propeller = '10': must be diameter x pitch"),
        ("10x47", "propeller = '10x47': pitch must be from 0.2 to 1 times the diameter"),
        ("400x200", "propeller = '400x200': diameter must be from 0.02 to 3 m"),
        ("10x5x9", "propeller = '10x5x9': blades must be from 2 to 8"),
    ],
)
def test_wrong_designations_are_refused(text, message):
    """A misspelt designation would be accepted."""
    with pytest.raises(ConfigError) as caught:
        Propeller.parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "vehicle"),
    [("10x4.7SF", "iris"), ("11x4.7SF", "x500"), ("9x5", "octorotor"), ("5x4x3", "racer")],
)
def test_fall_with_the_advance_ratio_is_measured(name, vehicle):
    """A designed vehicle would climb without losing thrust, or lose what no propeller of its size does.

    The tables in the files of these vehicles are UIUC's measurements of such propellers.
    """
    curve = yaml.safe_load(resource("config", "vehicles", f"{vehicle}.yaml").read_text())["thrust_curve"]
    propeller = Propeller.parse(name)
    made = (propeller.thrust_coefficients, propeller.power_coefficients)
    for known, ours in zip((curve["thrust_coefficient"], curve["power_coefficient"]), made, strict=True):
        for ratio, value in zip(curve["advance_ratio"], known, strict=True):
            if ratio > 0.75 * propeller.advance_ratios[-1]:
                continue
            estimate = np.interp(ratio, propeller.advance_ratios, ours)
            assert abs(estimate / ours[0] - value / known[0]) < 0.22, ratio


def test_power_that_would_make_energy_is_refused():
    """A propeller of an efficiency above 1 would be written, and its file be refused later."""
    with pytest.raises(ConfigError, match=r"power_coefficient = 0\.02: must be at least .* exceed 1"):
        Propeller(diameter=0.3, pitch=0.3, measured_thrust_coefficient=0.12, measured_power_coefficient=0.02)
